import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, now } from '../../platform/clock.ts';
import { type Db, OutcomeUnknown, StoreUnavailable } from '../../platform/db/db.ts';
import { outcomeUnknown, RequestError } from '../../platform/errors.ts';
import { newSuffix } from '../../platform/ids.ts';
import {
  deleteRun,
  findRun,
  listRunsNotLost,
  purgeLostRuns,
  type Run,
  recordLoss,
  recordRun,
} from './issuances.store.ts';
import { findGrant, type Grant, type IssuableGrant, markUnanswered } from './store.ts';

/** How long a client may repeat a request whose answer may have been lost. */
export const retryWindowSeconds = 300;
/** How often a run records that it is running. What it issued since then may be unanswered if it crashes. */
const beatMs = 60_000;
/** No request takes longer, so what was issued so long before the last beat has been answered. */
const longestRequestSeconds = 30;
/** An issuance with an unknown outcome is sent again within the request after these waits: 3 s in all. */
const retriesMs = [50, 150, 400, 900, 1_500];
/** The limit of the wait for a store that does not answer at all. */
const patienceMs = 4_000;
/** Kept in memory until they are written. More than can be in progress at once. */
const maxDoubts = 20_000;
const doubtsPerBatch = 100;
const firstPassMs = 500;
const longestPassMs = 30_000;
/** A running process has written its doubts within this time after the store accepts changes again: 3 s in all. */
const looksMs = [250, 250, 500, 1_000, 1_000];
const runsPerBeat = 100;

/** `key` finds the grant: its id, or the hash of its code. */
type Issuance = { key: string; issuance_id: string };

/**
 * Every rotation and redemption has an id. So it can be sent again if its confirmation was lost, and a client that repeats
 * it because it got no answer is distinguished from a replay: same client, direct parent, successor unused. Without this a
 * broken connection to the database would sign users out, since a replay revokes the grant (decisions §7).
 */
export type Issuances = {
  /**
   * Issues once, however often the statement has to be sent.
   * @param change the conditional statement; with the same id it finds its own work done.
   * @param answer signs the tokens. If it fails, the client has no answer and may repeat the request.
   * @returns undefined if the statement's conditions do not hold.
   * @throws {RequestError} 503 if it is unknown whether the change was committed.
   */
  issue<Answer>(
    of: { key: string; refresh_seq: number },
    change: (issuance_id: string) => Promise<IssuableGrant | undefined>,
    answer: (grant: IssuableGrant) => Promise<Answer>,
  ): Promise<Answer | undefined>;
  /** Whether the answer to the grant's latest issuance may have been lost. */
  isUnanswered(grant: Pick<Grant, 'grant_id' | 'refresh_seq' | 'refreshed_at'> & IssuanceColumns): Promise<boolean>;
  /** Makes this run known, so that a crash is noticed. */
  start(): Promise<void>;
  /** Records that a run that was started has answered all requests; without doubts that remain, its record goes. */
  close(): Promise<void>;
};

type IssuanceColumns = { issuance_id: string | null; unanswered_until: number | null };

export function openIssuances(deps: { db: Db; clock: Clock; log: Logger }): Issuances {
  const { db, log } = deps;
  /** By issuance id. */
  const doubts = new Map<string, Issuance & { until: number }>();
  let pass: NodeJS.Timeout | undefined;
  let beats: NodeJS.Timeout | undefined;

  function doubt(issuance: Issuance): void {
    const oldest = doubts.size >= maxDoubts ? doubts.keys().next().value : undefined;
    if (oldest !== undefined) doubts.delete(oldest);
    doubts.set(issuance.issuance_id, { ...issuance, until: now(deps) + retryWindowSeconds });
    pass ??= setTimeout(writeDoubts, firstPassMs, firstPassMs).unref();
  }

  /**
   * Writes doubts to the rows, for other nodes and after a restart. One that finds no row is kept while the retry window
   * is open: a statement that was sent over a broken connection may still arrive.
   */
  async function writeDoubts(waited: number): Promise<void> {
    const at = now(deps);
    for (const [id, { until }] of doubts) if (until <= at) doubts.delete(id);
    const waiting = [...doubts.values()];
    let next = Math.min(waited * 2, longestPassMs);
    try {
      for (let first = 0; first < waiting.length; first += doubtsPerBatch) {
        const slice = waiting.slice(first, first + doubtsPerBatch);
        const run = Object.fromEntries(slice.map((one) => [one.issuance_id, markUnanswered(one)]));
        const { results } = await db.change({ run });
        for (const [id, { changes }] of Object.entries(results)) if (changes > 0) doubts.delete(id);
      }
    } catch (error) {
      next = firstPassMs; // other nodes judge repetitions as soon as the store accepts changes again
      if (!(error instanceof StoreUnavailable))
        log.error({ err: error }, 'unconfirmed token issuances were not recorded');
    }
    pass = doubts.size > 0 ? setTimeout(writeDoubts, next, next).unref() : undefined;
  }

  async function issue<Answer>(
    of: { key: string; refresh_seq: number },
    change: (issuance_id: string) => Promise<IssuableGrant | undefined>,
    answer: (grant: IssuableGrant) => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const issuance = { key: of.key, issuance_id: `${db.run_id}.${of.refresh_seq}.${newSuffix()}` };
    const grant = await change(issuance.issuance_id).catch((error: unknown) => {
      if (error instanceof OutcomeUnknown) return settle(issuance, change, error);
      throw error;
    });
    if (!grant) return undefined;
    try {
      return await answer(grant);
    } catch (error) {
      if (error instanceof RequestError && error.status < 500) throw error;
      doubt(issuance);
      // A bug is logged as one; it says nothing about what was committed.
      throw error instanceof RequestError || error instanceof StoreUnavailable ? outcomeUnknown(error) : error;
    }
  }

  /** @throws {RequestError} when patience ends; a later attempt under the same id may still be committed. */
  async function settle(
    issuance: Issuance,
    change: (issuance_id: string) => Promise<IssuableGrant | undefined>,
    cause: OutcomeUnknown,
  ): Promise<IssuableGrant> {
    doubt(issuance); // at once: the client may give up before this does
    const patience = new AbortController();
    const outOfPatience = sleep(patienceMs, undefined, { signal: patience.signal });
    const settled = sendAgain(issuance, change);
    settled.catch(() => undefined); // it may end after the wait for it
    try {
      const grant = await Promise.race([settled, outOfPatience]);
      if (!grant) throw outcomeUnknown(cause);
      doubts.delete(issuance.issuance_id);
      return grant;
    } finally {
      patience.abort();
      outOfPatience.catch(() => undefined);
    }
  }

  /**
   * @returns undefined if the outcome is still unknown, or if another request was quicker meanwhile, which is no reason to
   * refuse this one.
   */
  async function sendAgain(
    { issuance_id }: Issuance,
    change: (issuance_id: string) => Promise<IssuableGrant | undefined>,
  ): Promise<IssuableGrant | undefined> {
    for (const wait of retriesMs) {
      await sleep(wait);
      try {
        return await change(issuance_id);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
      }
    }
    return undefined;
  }

  /** What a run issued after it was last seen may be unanswered if the run crashed. */
  async function hasCrashedSince(run: Run, issued_at: number): Promise<boolean> {
    if (issued_at < run.seen_at - longestRequestSeconds) return false;
    const at = now(deps);
    if (run.lost_at !== null) return Math.abs(at - run.lost_at) <= retryWindowSeconds;
    if (await db.isRunning(run.run_id)) return false;
    await recordLoss(db, run.run_id, at);
    return true;
  }

  /**
   * Another process may have doubts that it could not write while the store accepted no changes. A client that repeats its
   * request as soon as changes are possible may be quicker than these, and a revocation is final.
   */
  async function isMarkedLate({ grant_id, issuance_id }: Pick<Grant, 'grant_id' | 'issuance_id'>): Promise<boolean> {
    for (const wait of looksMs) {
      await sleep(wait);
      const grant = await findGrant(db, grant_id);
      if (grant?.issuance_id !== issuance_id || grant.revoked_at !== null) return false;
      if (isAhead(grant.unanswered_until)) return true;
    }
    return false;
  }

  /** A time further ahead than any node would write, even if clocks differ, comes from a clock that was wrong. */
  function isAhead(until: number | null): boolean {
    const left = (until ?? 0) - now(deps);
    return left > 0 && left <= retryWindowSeconds * 2;
  }

  async function beat(): Promise<void> {
    const at = now(deps);
    await recordRun(db, db.run_id, at);
    for (const { run_id } of await listRunsNotLost(db, runsPerBeat)) {
      if (run_id !== db.run_id && !(await db.isRunning(run_id))) await recordLoss(db, run_id, at);
    }
    await purgeLostRuns(db, at - retryWindowSeconds * 2);
  }

  return {
    issue,
    async isUnanswered({ grant_id, issuance_id, refresh_seq, refreshed_at, unanswered_until }) {
      const [run_id, sequence] = issuance_id?.split('.') ?? [];
      if (issuance_id === null || run_id === undefined || Number(sequence) !== refresh_seq) return false;
      if (doubts.has(issuance_id) || isAhead(unanswered_until)) return true;
      const run = run_id === db.run_id ? undefined : await findRun(db, run_id);
      if (!run) return false;
      const issued_at = refreshed_at ?? 0;
      if (await hasCrashedSince(run, issued_at)) return true;
      return Math.abs(now(deps) - issued_at) < retryWindowSeconds && (await isMarkedLate({ grant_id, issuance_id }));
    },
    async start() {
      await beat();
      beats = setInterval(() => {
        beat().catch((error: unknown) => {
          if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'this server run was not recorded');
        });
      }, beatMs).unref();
    },
    async close() {
      if (beats === undefined) return;
      clearInterval(beats);
      beats = undefined;
      clearTimeout(pass);
      if (doubts.size > 0) await writeDoubts(firstPassMs);
      clearTimeout(pass);
      // While doubts remain that were not written, the end of this run counts as a crash.
      if (doubts.size === 0) await deleteRun(db, db.run_id).catch(() => undefined);
    },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, now } from '../../platform/clock.ts';
import { type Db, OutcomeUnknown, type Prepare, StoreUnavailable } from '../../platform/db/db.ts';
import { outcomeUnknown, RequestError } from '../../platform/errors.ts';
import { newSuffix } from '../../platform/ids.ts';
import { refuseRetiredKey, type Vault } from '../../platform/vault.ts';
import { findGrant, type Grant, type IssuableGrant } from './grant.store.ts';
import {
  deleteRun,
  findRun,
  listRunsNotLost,
  purgeLostRuns,
  type Run,
  recordLoss,
  recordRun,
} from './issuances.store.ts';
import { markUnanswered } from './store.ts';

/** How long a client may repeat a request whose answer may have been lost. */
const retryWindowSeconds = 300;
/** How often a run records that it is running. What it issued since then may be unanswered if it crashes. */
const heartbeatMs = 60_000;
/** No request takes longer, so what was issued so long before the last heartbeat has been answered. */
const longestRequestSeconds = 30;
/** An issuance with an unknown outcome is sent again within the request after these waits: 3 s in all. */
const retryDelaysMs = [50, 150, 400, 900, 1_500];
/**
 * Of all attempts together. As long as the deadline that the store has for one: a commit that waits for its standby takes all of it,
 * and the next would only wait behind it.
 */
const answeredWithinMs = 4_500;
/** Kept in memory until they are written. More than can be in progress at once. */
const maxUnconfirmed = 20_000;
const unconfirmedPerBatch = 100;
const firstPassMs = 500;
const longestPassMs = 30_000;
/** A running process has written what is unconfirmed within this time after the store accepts changes again: 3 s in all. */
const markDelaysMs = [250, 250, 500, 1_000, 1_000];
const runsPerHeartbeat = 100;

/** `key` finds the grant: its id, or the hash of its code. */
type Issuance = { key: string; issuance_id: string };
/** The conditional statement; with the same id it finds its own work done. */
type Change = (issuance_id: string, prepare?: Prepare<IssuableGrant>) => Promise<IssuableGrant | undefined>;

/** The processes that issue tokens from this store. */
export async function findRunning(db: Db): Promise<Run[]> {
  const running: Run[] = [];
  for (const run of await listRunsNotLost(db, runsPerHeartbeat)) if (await db.isRunning(run.run_id)) running.push(run);
  return running;
}

export type Issuances = ReturnType<typeof openIssuances>;

/**
 * Every rotation and redemption has an id. So it can be sent again if its confirmation was lost, and a client that repeats
 * it because it got no answer is distinguished from a replay: same client, direct parent, successor unused. Without this a
 * broken connection to the database would sign users out, since a replay revokes the grant (decisions §7).
 */
export function openIssuances(deps: { db: Db; clock: Clock; monotonic: Clock; log: Logger; vault: Vault }) {
  const { db, log, monotonic } = deps;
  /** By issuance id. */
  const unconfirmed = new Map<string, Issuance & { until: number }>();
  let pass: NodeJS.Timeout | undefined;
  let heartbeats: NodeJS.Timeout | undefined;

  function addUnconfirmed(issuance: Issuance): void {
    const oldest = unconfirmed.size >= maxUnconfirmed ? unconfirmed.keys().next().value : undefined;
    if (oldest !== undefined) unconfirmed.delete(oldest);
    unconfirmed.set(issuance.issuance_id, { ...issuance, until: now(deps) + retryWindowSeconds });
    pass ??= setTimeout(writeUnconfirmed, firstPassMs, firstPassMs).unref();
  }

  /**
   * Marks the rows, for other nodes and after a restart. An issuance that finds no row is kept while the retry window is
   * open: a statement that was sent over a broken connection may still arrive.
   */
  async function writeUnconfirmed(waited: number): Promise<void> {
    const at = now(deps);
    for (const [id, { until }] of unconfirmed) if (until <= at) unconfirmed.delete(id);
    const waiting = [...unconfirmed.values()];
    let next = Math.min(waited * 2, longestPassMs);
    try {
      for (let first = 0; first < waiting.length; first += unconfirmedPerBatch) {
        const slice = waiting.slice(first, first + unconfirmedPerBatch);
        const run = Object.fromEntries(slice.map((one) => [one.issuance_id, markUnanswered(one)]));
        const { results } = await db.change({ run });
        for (const [id, { changes }] of Object.entries(results)) if (changes > 0) unconfirmed.delete(id);
      }
    } catch (error) {
      next = firstPassMs; // other nodes judge repetitions as soon as the store accepts changes again
      logUnlessUnavailable(error, 'unconfirmed token issuances were not recorded');
    }
    pass = unconfirmed.size > 0 ? setTimeout(writeUnconfirmed, next, next).unref() : undefined;
  }

  function logUnlessUnavailable(error: unknown, message: string): void {
    if (!(error instanceof StoreUnavailable)) log.error({ err: error }, message);
  }

  /**
   * @param startedAt of the first attempt.
   * @throws {RequestError} when the time is over; a later attempt under the same id may still be committed.
   */
  async function settle(
    issuance: Issuance,
    change: Change,
    { startedAt, cause }: { startedAt: number; cause: OutcomeUnknown },
  ): Promise<IssuableGrant> {
    addUnconfirmed(issuance); // at once: the client may give up before this does
    const leftMs = startedAt + answeredWithinMs - monotonic();
    if (leftMs <= 0) throw outcomeUnknown(cause);
    const settled = sendAgain(issuance, change);
    settled.catch(() => undefined); // it may end after the wait for it
    const grant = await Promise.race([settled, sleep(leftMs, undefined, { ref: false })]);
    if (!grant) throw outcomeUnknown(cause);
    unconfirmed.delete(issuance.issuance_id);
    return grant;
  }

  /**
   * @returns undefined if the outcome is still unknown, or if another request was quicker meanwhile, which is no reason to
   * refuse this one.
   */
  async function sendAgain({ issuance_id }: Issuance, change: Change): Promise<IssuableGrant | undefined> {
    for (const delay of retryDelaysMs) {
      await sleep(delay);
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
   * Another process may have unconfirmed issuances that it could not write while the store accepted no changes. A client
   * that repeats its request as soon as changes are possible may be quicker than these, and a revocation is final.
   */
  async function isMarkedLate({ grant_id, issuance_id }: Pick<Grant, 'grant_id' | 'issuance_id'>): Promise<boolean> {
    for (const delay of markDelaysMs) {
      await sleep(delay);
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

  async function heartbeat(): Promise<void> {
    const at = now(deps);
    await recordRun(db, db.run_id, at, deps.vault.id);
    for (const { run_id } of await listRunsNotLost(db, runsPerHeartbeat)) {
      if (run_id !== db.run_id && !(await db.isRunning(run_id))) await recordLoss(db, run_id, at);
    }
    await purgeLostRuns(db, at - retryWindowSeconds * 2);
  }

  return {
    /**
     * Issues once, however often the statement has to be sent.
     * @param answer signs the tokens, also while the change is being flushed. If it fails, the client has no answer and may
     * repeat the request.
     * @returns undefined if the statement's conditions do not hold.
     * @throws {RequestError} 503 if it is unknown whether the change was committed.
     */
    async issue<Answer>(
      { key, refresh_seq }: { key: string; refresh_seq: number },
      change: Change,
      answer: (grant: IssuableGrant) => Promise<Answer>,
    ): Promise<Answer | undefined> {
      const issuance = { key, issuance_id: `${db.run_id}.${refresh_seq}.${newSuffix()}` };
      const startedAt = monotonic();
      let prepared: Promise<Answer> | undefined;
      const prepare = ([grant]: IssuableGrant[]) => {
        prepared = grant && answer(grant);
        prepared?.catch(() => undefined); // reported below, once the change is confirmed
      };
      const grant = await change(issuance.issuance_id, prepare).catch((error: unknown) => {
        prepared = undefined; // signed for a change that may not have been kept
        if (error instanceof OutcomeUnknown) return settle(issuance, change, { startedAt, cause: error });
        throw error;
      });
      if (!grant) return undefined;
      try {
        return await (prepared ?? answer(grant));
      } catch (error) {
        if (error instanceof RequestError && error.status < 500) throw error;
        addUnconfirmed(issuance);
        // A bug is logged as one; it says nothing about what was committed.
        throw error instanceof RequestError || error instanceof StoreUnavailable ? outcomeUnknown(error) : error;
      }
    },
    /** Whether the answer to the grant's latest issuance may have been lost. */
    async isUnanswered(
      grant: Pick<Grant, 'grant_id' | 'refresh_seq' | 'refreshed_at' | 'issuance_id' | 'unanswered_until'>,
    ): Promise<boolean> {
      const { issuance_id } = grant;
      const [run_id, sequence] = issuance_id?.split('.') ?? [];
      if (issuance_id === null || run_id === undefined || Number(sequence) !== grant.refresh_seq) return false;
      if (unconfirmed.has(issuance_id) || isAhead(grant.unanswered_until)) return true;
      const run = run_id === db.run_id ? undefined : await findRun(db, run_id);
      if (!run) return false;
      const issued_at = grant.refreshed_at ?? 0;
      if (await hasCrashedSince(run, issued_at)) return true;
      return Math.abs(now(deps) - issued_at) < retryWindowSeconds && (await isMarkedLate(grant));
    },
    /**
     * Makes this run known, so that a crash is noticed, and `signet rekey` sees under which key it seals.
     * @throws {ConfigError} if that key was retired before this run was known.
     */
    async start(): Promise<void> {
      const repeat = () =>
        heartbeat().catch((error) => logUnlessUnavailable(error, 'this server run was not recorded'));
      heartbeats = setInterval(repeat, heartbeatMs).unref();
      await heartbeat();
      await refuseRetiredKey(deps);
    },
    /** Records that a run that was started has answered all requests; while something is unconfirmed, its end counts as a crash. */
    async close(): Promise<void> {
      if (heartbeats === undefined) return;
      clearInterval(heartbeats);
      heartbeats = undefined;
      clearTimeout(pass);
      if (unconfirmed.size > 0) await writeUnconfirmed(firstPassMs);
      clearTimeout(pass);
      if (unconfirmed.size === 0) await deleteRun(db, db.run_id).catch(() => undefined);
    },
  };
}

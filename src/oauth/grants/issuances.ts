import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Clock, now } from '../../platform/clock.ts';
import { type Db, OutcomeUnknown, type Part, type Prepare, StoreUnavailable } from '../../platform/db/db.ts';
import { outcomeUnknown, RequestError } from '../../platform/errors.ts';
import { newSuffix } from '../../platform/ids.ts';
import type { Processes } from '../../platform/processes.ts';
import { findGrant, type Grant, type IssuableGrant } from './grant.store.ts';
import { type Issuance, openUnconfirmed } from './unconfirmed.ts';

/** How long a client may repeat a request whose answer may have been lost. */
export const retryWindowSeconds = 300;
/** An issuance with an unknown outcome is sent again within the request after these waits: 3 s in all. */
const retryDelaysMs = [50, 150, 400, 900, 1_500];
/**
 * All attempts together take no longer. It is the deadline that the store has for one: a commit that waits for its standby takes all
 * of it, and the next would only wait behind it.
 */
const answeredWithinMs = 4_500;
/** A running process has written what is unconfirmed within this time after the store accepts changes again: 3 s in all. */
const markDelaysMs = [250, 250, 500, 1_000, 1_000];

/** The conditional statement; with the same id it finds its own work done. */
type Change = (issuance_id: string, prepare?: Prepare<IssuableGrant>) => Promise<IssuableGrant | undefined>;

type IssuanceDeps = { db: Db; clock: Clock; monotonic: Clock; log: Logger; processes: Processes };

export type Issuances = ReturnType<typeof openIssuances>;

/**
 * Every rotation and redemption has an id. So it can be sent again if its confirmation was lost, and a client that repeats
 * it because it got no answer is distinguished from a replay: same client, direct parent, successor unused. Without this a
 * broken connection to the database would sign users out, since a replay revokes the grant (decisions §7).
 */
export function openIssuances(deps: IssuanceDeps) {
  const { db, monotonic, processes } = deps;
  const unconfirmed = openUnconfirmed(deps, retryWindowSeconds);

  /**
   * @param startedAt of the first attempt.
   * @throws {RequestError} when the time is over; a later attempt under the same id may still be committed.
   */
  async function settle(
    issuance: Issuance,
    change: Change,
    { startedAt, cause }: { startedAt: number; cause: OutcomeUnknown },
  ): Promise<IssuableGrant> {
    unconfirmed.add(issuance); // at once: the client may give up before this does
    const leftMs = startedAt + answeredWithinMs - monotonic();
    if (leftMs <= 0) throw outcomeUnknown(cause);
    const settled = sendAgain(issuance, change);
    settled.catch(() => undefined); // it may end after the wait for it
    const grant = await Promise.race([settled, sleep(leftMs, undefined, { ref: false })]);
    if (!grant) throw outcomeUnknown(cause);
    unconfirmed.confirm(issuance.issuance_id);
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

  return {
    /**
     * Issues once, however often the statement has to be sent.
     * @param answer signs the tokens, also while the change is being flushed. If it fails, the client has no answer and may
     * repeat the request.
     * @returns undefined if the statement's conditions do not hold.
     * @throws {RequestError} 503 if it is unknown whether the change was committed.
     */
    async issue<Answer>(
      { part, key, refresh_seq }: { part: Part; key: string; refresh_seq: number },
      change: Change,
      answer: (grant: IssuableGrant) => Promise<Answer>,
    ): Promise<Answer | undefined> {
      const issuance = { part, key, issuance_id: `${db.run_id}.${refresh_seq}.${newSuffix()}` };
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
        unconfirmed.add(issuance);
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
      const run = run_id === db.run_id ? undefined : await processes.find(run_id);
      if (!run) return false;
      const issued_at = grant.refreshed_at ?? 0;
      if (await processes.hasCrashedSince(run, issued_at, retryWindowSeconds)) return true;
      return Math.abs(now(deps) - issued_at) < retryWindowSeconds && (await isMarkedLate(grant));
    },
    /**
     * Writes what is unconfirmed. While something is, the end of this process counts as a loss, since others are to excuse the
     * repetition of what it has issued last.
     */
    async close(): Promise<void> {
      if (await unconfirmed.close()) await processes.leave();
    },
  };
}

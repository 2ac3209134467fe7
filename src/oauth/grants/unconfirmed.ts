import type { Logger } from 'pino';
import { type Clock, now } from '../../platform/clock.ts';
import { type Part, StoreUnavailable } from '../../platform/db/db.ts';
import { markUnanswered } from './store.ts';

/** Kept in memory until they are written. More than can be in progress at once. */
const maxUnconfirmed = 20_000;
const unconfirmedPerBatch = 100;
const firstPassMs = 500;
const longestPassMs = 30_000;

/** `key` finds the grant in its part: its id, or the hash of its code. */
export type Issuance = { part: Part; key: string; issuance_id: string };

/**
 * The issuances of this process whose answers may have been lost, in memory until they are marked on their rows.
 * @param keptSeconds how long a client may repeat one.
 */
export function openUnconfirmed(deps: { clock: Clock; log: Logger }, keptSeconds: number) {
  const { log } = deps;
  /** The keys are ids of issuances. */
  const unconfirmed = new Map<string, Issuance & { until: number }>();
  let pass: NodeJS.Timeout | undefined;

  function add(issuance: Issuance): void {
    const oldest = unconfirmed.size >= maxUnconfirmed ? unconfirmed.keys().next().value : undefined;
    if (oldest !== undefined) unconfirmed.delete(oldest);
    unconfirmed.set(issuance.issuance_id, { ...issuance, until: now(deps) + keptSeconds });
    pass ??= setTimeout(write, firstPassMs, firstPassMs).unref();
  }

  /**
   * Marks the rows, for other nodes and after a restart. An issuance that finds no row is kept while the retry window is
   * open: a statement that was sent over a broken connection may still arrive.
   */
  async function write(waited: number): Promise<void> {
    const at = now(deps);
    for (const [id, { until }] of unconfirmed) if (until <= at) unconfirmed.delete(id);
    const byPart = Map.groupBy(unconfirmed.values(), ({ part }) => part);
    const areWritten = await Promise.all([...byPart].map(([part, waiting]) => writeIn(part, waiting)));
    // Other nodes judge repetitions as soon as the store accepts changes again.
    const next = areWritten.every(Boolean) ? Math.min(waited * 2, longestPassMs) : firstPassMs;
    pass = unconfirmed.size > 0 ? setTimeout(write, next, next).unref() : undefined;
  }

  /** @returns false if the part did not take all of them. */
  async function writeIn(part: Part, waiting: readonly (Issuance & { until: number })[]): Promise<boolean> {
    try {
      for (let first = 0; first < waiting.length; first += unconfirmedPerBatch) {
        const slice = waiting.slice(first, first + unconfirmedPerBatch);
        const run = Object.fromEntries(slice.map((one) => [one.issuance_id, markUnanswered(one)]));
        const { results } = await part.change({ run });
        for (const [id, { changes }] of Object.entries(results)) if (changes > 0) unconfirmed.delete(id);
      }
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        log.error({ err: error }, 'unconfirmed token issuances were not recorded');
      return false;
    }
  }

  return {
    add,
    confirm: (issuance_id: string) => void unconfirmed.delete(issuance_id),
    has: (issuance_id: string): boolean => unconfirmed.has(issuance_id),
    /** @returns whether all of it is on the rows. */
    async close(): Promise<boolean> {
      clearTimeout(pass);
      if (unconfirmed.size > 0) await write(firstPassMs);
      clearTimeout(pass);
      return unconfirmed.size === 0;
    },
  };
}

import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { DeliveryQueue } from './queue.ts';

/** Seconds until the next attempt, by attempts made: three days in all, then the delivery is dead until it is replayed. */
export const retryAfterSeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400, 86_400];

const longestPause = Math.max(...retryAfterSeconds);

/**
 * Makes due what a clock that was ahead has planned for a time when that clock would be right. Not while the clock is unsettled: to a
 * clock that is behind every attempt is planned too late, and all of them would be used up at once.
 * @returns false if the signal ended it before all was done.
 */
export async function bringAttemptsForward(
  deps: Pick<Deps, 'db' | 'clock' | 'timekeeper'>,
  queues: readonly Pick<DeliveryQueue, 'bringForward'>[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const { bringForward } of queues) {
    const isDone = await inSlices(async (rows) => {
      if (!deps.timekeeper.isSettled()) return 0;
      return (await bringForward(deps.db, { now: now(deps), longestPause }, rows)).changes;
    }, signal);
    if (!isDone) return false;
  }
  return true;
}

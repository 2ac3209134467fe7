import { type Clock, now, type Timekeeper } from '../clock.ts';
import type { Part } from './db.ts';
import { inSlices } from './slices.ts';
import { asBigint, type Sql, sql } from './sql.ts';

/** What is tried again after pauses, each until a date, in Unix seconds, that the attempt before it has planned. */
export type Retried = {
  /** In seconds, between two attempts. */
  longestPause: number;
  /** Makes due at most so many rows of those that {@link isBeyondPauses}. */
  bringForward(part: Part, at: { now: number; longestPause: number }, rows: number): Promise<{ changes: number }>;
};

/**
 * A condition: no pause is so long, so the date was planned by a clock that was ahead, and is as good as now. Else what was to
 * be tried again in a minute would wait until that date comes.
 */
export const isBeyondPauses = (planned: Sql, { now, longestPause }: { now: number; longestPause: number }): Sql =>
  sql`${planned} > ${asBigint(now + longestPause)}`;

/**
 * Makes due what a clock that was ahead has planned for a time when that clock would be right. Not while the clock is unsettled: to a
 * clock that is behind every attempt is planned too late, and all of them would be used up at once.
 * @returns false if the signal ended it before all was done.
 */
export async function bringAttemptsForward(
  deps: { db: Part; clock: Clock; timekeeper: Timekeeper },
  retried: readonly Retried[],
  signal?: AbortSignal,
): Promise<boolean> {
  for (const { longestPause, bringForward } of retried) {
    const isDone = await inSlices(async (rows) => {
      if (!deps.timekeeper.isSettled()) return 0;
      return (await bringForward(deps.db, { now: now(deps), longestPause }, rows)).changes;
    }, signal);
    if (!isDone) return false;
  }
  return true;
}

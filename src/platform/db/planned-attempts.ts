import { inOneSlice } from './slices.ts';
import { raw, type Sql, sql } from './sql.ts';

/** By the schedule of a queue. No attempt is planned for later than its longest pause from now by a clock that is right. */
export type Schedule = { now: number; longestPauseSeconds: number };

/**
 * Makes attempts due that a clock that was ahead has planned: they would wait until it is right.
 * @param key the primary key.
 * @param of a condition with which an index begins that has `next_attempt_at` next.
 */
export const bringForward = (
  table: string,
  key: string,
  of: Sql,
  { now, longestPauseSeconds }: Schedule,
  rows: number,
): Sql =>
  sql`update ${raw(table)} set next_attempt_at = ${now}
       where ${inOneSlice(table, key, sql`${of} and next_attempt_at > ${now + longestPauseSeconds}`, rows)}`;

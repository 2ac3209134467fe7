import { setTimeout as pause } from 'node:timers/promises';
import { type Param, raw, type Sql, sql } from './sql.ts';

/**
 * Rows that one statement of a mass change may touch. On SQLite that is some ten milliseconds in which nobody else is
 * served; on PostgreSQL it stays far below the deadline of a statement, behind which nothing would be kept.
 */
export const sliceRows = 500;

/** A condition: the rows of a table that have this value in a column are no more than one slice. Reads no more than that. */
export const fitsOneSlice = (table: string, column: string, value: Param): Sql =>
  sql`(select count(*) from (select 1 as one from ${raw(table)} where ${raw(column)} = ${value}
         limit ${raw(`${sliceRows + 1}`)}) as few) <= ${raw(`${sliceRows}`)}`;

/**
 * A condition: at most so many of the rows that fulfil another. `condition` may end with an `order by`.
 * @param key the columns of the primary key, separated by commas.
 */
export const inOneSlice = (table: string, key: string, condition: Sql, rows: number): Sql =>
  sql`(${raw(key)}) in (select ${raw(key)} from ${raw(table)} where ${condition} limit ${rows})`;

/** Between two slices, so that requests come in between and mass changes never take the whole machine. */
const pauseMs = 5;

/**
 * Changes any number of rows, a slice at a time. Each slice is kept for itself: after a crash, or on another node at the
 * same time, the rest is done by whoever does it next.
 * @param slice changes at most `rows` rows and says how many it did; fewer mean that none are left.
 * @param signal ends it after the slice under way.
 * @returns false if the signal ended it before all was done.
 */
export async function inSlices(slice: (rows: number) => Promise<number>, signal?: AbortSignal): Promise<boolean> {
  while (!signal?.aborted) {
    if ((await slice(sliceRows)) < sliceRows) return true;
    await pause(pauseMs);
  }
  return false;
}

import { invalidFields } from '../errors.ts';
import { pace, type RunSlice } from '../pace.ts';
import { type Param, raw, type Sql, sql } from './sql.ts';

// Many rows, part by part: slices of a mass change, and pages of a list.

/**
 * Rows that one statement may delete within a request. On SQLite that is some ten milliseconds, up to 50 in a large store, in
 * which no request is answered; on PostgreSQL it stays far below the deadline of a statement, behind which nothing would be kept.
 */
export const sliceRows = 500;

/** Longer queues are all alike, so that counting takes the same time in any store. */
export const maxCounted = 1000;

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

/**
 * Changes any number of rows, a slice at a time, at the pace of the process. Each slice commits by itself: after a crash, or on
 * another node at the same time, the next run does the rest.
 * @param slice changes at most `rows` rows and says how many it did; fewer mean that none are left.
 * @param signal ends it after the slice under way. Where a turn is over before this begins (a `TimeoutError`), it does one slice all the
 * same: a job that first walks over many places with nothing to do would else never come further than in the turn before.
 * @param most rows of a slice, where each is a change by itself.
 * @returns false if the signal ended it before all was done.
 */
export async function inSlices(
  slice: (rows: number) => Promise<number>,
  signal?: AbortSignal,
  most?: number,
): Promise<boolean> {
  return inSlicesBy(pace.slices(most), slice, signal);
}

/** The same at another pace. @param runSlice for this work alone. */
export async function inSlicesBy(
  runSlice: RunSlice,
  slice: (rows: number) => Promise<number>,
  signal?: AbortSignal,
): Promise<boolean> {
  if (signal?.aborted && signal.reason?.name !== 'TimeoutError') return false;
  do {
    if (await runSlice(async (rows) => (await slice(rows)) < rows)) return true;
  } while (!signal?.aborted);
  return false;
}

/** Reads any number of rows for an export, a page at a time, at the pace of the process. @param after undefined at the start. */
export async function* inPages<Place, Page>(
  read: (after: Place | undefined, rows: number) => Promise<{ page: Page; next: Place | undefined }>,
): AsyncGenerator<Page> {
  const runSlice = pace.slices();
  let after: Place | undefined;
  do {
    const { page, next } = await runSlice((rows) => read(after, rows));
    yield page;
    after = next;
  } while (after !== undefined);
}

/**
 * The sort key of the last row of a page. The next page begins after it, even when that row has been deleted meanwhile.
 * Clients treat it as opaque.
 */
export type Cursor = { readonly at: number; readonly id: string };

/** For API descriptions. */
export const cursorPattern = '^[0-9]{1,12}-[A-Za-z0-9_.|:-]{1,600}$';
const cursorText = new RegExp(cursorPattern);

/** @param cursor.id letters, digits, `_`, `.`, `-`, `|` and `:`. */
export const encodeCursor = ({ at, id }: Cursor): string => `${at}-${id}`;

/**
 * @param field the parameter that it came in, for the refusal.
 * @returns undefined for none: the list begins at its start.
 * @throws {RequestError} `invalid_request` for text that is no cursor.
 */
export function decodeCursor(field: string, text: string | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const hyphen = text.indexOf('-');
  if (cursorText.test(text)) return { at: Number(text.slice(0, hyphen)), id: text.slice(hyphen + 1) };
  throw unknownCursor(field);
}

export const unknownCursor = (field: string) =>
  invalidFields([{ path: field, message: 'Must be the value of next from the previous page.' }]);

/**
 * @param found one row more than a page has, if there is one.
 * @returns the rows of the page, and `next`, the cursor for the page after it; undefined on the last one.
 */
export function cutPage<Row>(
  found: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => Cursor,
): { rows: Row[]; next: string | undefined } {
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  return { rows, next: found.length > limit && last !== undefined ? encodeCursor(cursorOf(last)) : undefined };
}

import { invalidFields } from '../errors.ts';

/**
 * The sort key of the last row of a page. The next page begins after it, even when that row has been deleted meanwhile.
 * Clients treat it as opaque.
 */
export type Cursor = { readonly at: number; readonly id: string };

/** @param cursor.id letters, digits, `_`, `.` and `-`. */
const encodeCursor = ({ at, id }: Cursor): string => `${at}-${id}`;

/**
 * @param field the parameter that it came in, for the refusal.
 * @returns undefined for none: the list begins at its start.
 * @throws {RequestError} `invalid_request` for text that is no cursor.
 */
export function decodeCursor(field: string, text: string | undefined): Cursor | undefined {
  if (text === undefined || text === '') return undefined;
  const [, at, id] = /^(\d{1,12})-([\w.-]{1,600})$/.exec(text) ?? [];
  if (id !== undefined) return { at: Number(at), id };
  throw invalidFields([{ path: field, message: 'Must be the value of next from the previous page.' }]);
}

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

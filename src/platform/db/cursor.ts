import { invalidFields } from '../errors.ts';

/**
 * Where a page of a list ended: the sort key of its last row itself, so that the next page begins there also when that
 * row has been deleted meanwhile. Opaque to whoever sends it back.
 */
export type Cursor = { readonly at: number; readonly id: string };

/** @param place.id letters, digits, `_`, `.` and `-`. */
export const encodeCursor = ({ at, id }: Cursor): string => `${at}-${id}`;

/**
 * @param field the parameter that it came in, for the refusal.
 * @returns undefined for none: the list begins at its start.
 * @throws {RequestError} `invalid_request` for what no page has given.
 */
export function decodeCursor(field: string, name: string | undefined): Cursor | undefined {
  if (name === undefined || name === '') return undefined;
  const [, at, id] = /^(\d{1,12})-([\w.-]{1,600})$/.exec(name) ?? [];
  if (id !== undefined) return { at: Number(at), id };
  throw invalidFields([{ path: field, message: 'Must be the value of next from the previous page.' }]);
}

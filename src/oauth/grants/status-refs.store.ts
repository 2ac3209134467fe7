import { asBigint, raw, type Sql, sql } from '../../platform/db/sql.ts';

/**
 * Seconds. The row of a grant remembers where the tokens of this window and of the one before have their status. A token lives for
 * half a window, so what is forgotten has expired, also if an answer was repeated after its window.
 */
const windowSeconds = 7200;

export const statusWindow = (at: number): number => Math.floor(at / windowSeconds);

/** Of one grant and window. Tokens beyond share the last one, so that a client that refreshes all the time fills no row. */
const maxRefs = 32;
/** Characters of `list.index`, at most, and the space between two. */
const refLength = 25;

/**
 * Assignments of an update on `grants` that issues a token.
 * @param ref left out if no token of the client has a status: then the statement is the one that it was.
 */
export function noteStatusRef(ref: string | undefined, at: number): Sql {
  if (ref === undefined) return sql``;
  const window = statusWindow(at);
  return sql`, status_refs_before = case when status_window = ${window} then status_refs_before
                                      when status_window = ${window - 1} then status_refs end,
               status_refs = case when status_window = ${window} and length(status_refs) > ${raw(String((maxRefs - 1) * refLength))} then status_refs
                                  when status_window = ${window} then status_refs || ' ' || ${ref} else ${ref} end,
               status_window = ${asBigint(window)}`;
}

/** A condition on `grants`: of its tokens that have a status, some may not have expired. */
export const mayHaveStatus = (at: number): Sql =>
  sql`(status_refs is not null and status_window >= ${statusWindow(at) - 1})`;

/** Of a row of `grants`. */
export const everyStatusRef = sql`status_refs || coalesce(' ' || status_refs_before, '')`;

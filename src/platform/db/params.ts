import type { Param } from './sql.ts';

/**
 * The value as both engines can keep it. PostgreSQL has no NUL in text and answers one with an error, SQLite keeps it
 * but its own functions stop there. What a stranger puts in a form must not decide between "no such row" and a failed
 * statement, so NUL becomes U+FFFD, as half a surrogate pair already does when either driver writes UTF-8.
 */
export const storable = (param: Param): Param =>
  typeof param === 'string' && param.includes('\0') ? param.replaceAll('\0', '\ufffd') : param;

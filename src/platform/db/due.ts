import { asBigint, type Sql, sql } from './sql.ts';

// What waits until a date, in Unix seconds, that an earlier attempt has planned.

export const isDue = (planned: Sql, now: number): Sql => sql`${planned} <= ${now}`;

/**
 * A condition: no pause is so long, so the date was planned by a clock that was ahead, and is as good as now. Else what was to
 * be tried again in a minute would wait until that date comes. A branch of its own beside {@link isDue}: both are ranges of one index, an
 * `or` of them is none.
 * @param longestPause in seconds, between two attempts.
 */
export const isBeyondPauses = (planned: Sql, now: number, longestPause: number): Sql =>
  sql`${planned} > ${asBigint(now + longestPause)}`;

import { mustChange } from './db/change.ts';
import type { Part } from './db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from './db/rows.ts';
import { type Sql, sql } from './db/sql.ts';
import type { UserId } from './ids.ts';

const ClaimRow = row('claims', { claim_key: text, user_id: id<UserId>(), since: nullable(integer) });
export type ClaimRow = RowOf<typeof ClaimRow>;

export const findClaimRow = (part: Part, key: string) =>
  part.get(ClaimRow, sql`select ${ClaimRow.columns} from claims where claim_key = ${key}`);

/** Refuses its change if another user has it. */
export const insertClaim = (claim_key: string, user_id: UserId, since: number) =>
  mustChange(
    sql`insert into claims ${ClaimRow.values({ claim_key, user_id, since })}
        on conflict (claim_key) do update set since = excluded.since where claims.user_id = excluded.user_id`,
  );

export const unsettle = (key: string, user_id: UserId, since: number): Sql =>
  sql`update claims set since = ${since} where claim_key = ${key} and user_id = ${user_id}`;

/** @param since as it was read: a claim that was taken again meanwhile is not settled by what was known before. */
export const settleClaim = ({ claim_key, user_id, since }: ClaimRow, isHeld: boolean): Sql => {
  const same = sql`claim_key = ${claim_key} and user_id = ${user_id} and coalesce(since, 0) = ${since ?? 0}`;
  return isHeld ? sql`update claims set since = null where ${same}` : sql`delete from claims where ${same}`;
};

export const unsettledClaims = (part: Part, before: number, limit: number) =>
  part.all(
    ClaimRow,
    sql`select ${ClaimRow.columns} from claims where since < ${before} order by since, claim_key limit ${limit}`,
  );

/** Two statements that leave nothing, of which the first conflicts with a claim of another user. */
export const noClaim = (key: string): readonly [Sql, Sql] => [
  sql`insert into claims (claim_key, user_id) values (${key}, '')`,
  sql`delete from claims where claim_key = ${key} and user_id = ''`,
];

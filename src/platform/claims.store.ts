import { mustChange } from './db/change.ts';
import type { Part } from './db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from './db/rows.ts';
import { type Sql, sql } from './db/sql.ts';
import type { UserId } from './ids.ts';

const ClaimRow = row('claims', {
  claim_key: text,
  user_id: id<UserId>(),
  since: nullable(integer),
  act: nullable(text),
});
export type ClaimRow = RowOf<typeof ClaimRow>;
/** Of an act that is under way. */
export type ClaimOfAct = ClaimRow & { since: number; act: string };

export const findClaimRow = (part: Part, key: string) =>
  part.get(ClaimRow, sql`select ${ClaimRow.columns} from claims where claim_key = ${key}`);

/** To be the lock of its change, with {@link isClaimed} as a requirement: it leaves a claim of another user as it is. */
export const insertClaim = (claim: ClaimOfAct): Sql =>
  sql`insert into claims ${ClaimRow.values(claim)}
      on conflict (claim_key) do update set since = excluded.since, act = excluded.act
       where claims.user_id = excluded.user_id`;

export const isClaimed = ({ claim_key, user_id, act }: ClaimOfAct): Sql =>
  sql`exists (select 1 from claims where claim_key = ${claim_key} and user_id = ${user_id} and act = ${act})`;

export const unsettle = ({ claim_key, user_id, since, act }: ClaimOfAct): Sql =>
  sql`update claims set since = ${since}, act = ${act} where claim_key = ${claim_key} and user_id = ${user_id}`;

/** Refuses its change if the claim is not as it was read: taken again meanwhile, it is not settled by what was known before. */
export const settleClaim = ({ claim_key, user_id, act }: ClaimRow, isKept: boolean) => {
  const same = sql`claim_key = ${claim_key} and user_id = ${user_id} and act is not distinct from ${act}`;
  return mustChange(
    isKept ? sql`update claims set since = null, act = null where ${same}` : sql`delete from claims where ${same}`,
  );
};

/** Of an act that has got what it claimed. */
export const keepClaim = ({ claim_key, act }: ClaimOfAct): Sql =>
  sql`update claims set since = null, act = null where claim_key = ${claim_key} and act = ${act}`;

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

const ticketPrefix = 'ticket:';
const ticketKey = ({ claim_key, user_id }: ClaimRow): string => `${ticketPrefix}${user_id}:${claim_key}`;
export const isTicket = ({ claim_key }: ClaimRow): boolean => claim_key.startsWith(ticketPrefix);

/** In the part of the user. One of an earlier act for the same claim is none any more. */
export const insertTicket = (claim: ClaimOfAct): Sql =>
  sql`insert into claims ${ClaimRow.values({ ...claim, claim_key: ticketKey(claim) })}
      on conflict (claim_key) do update set since = excluded.since, act = excluded.act`;

/** For the change of the user, which is refused unless the ticket is there. */
export const useTicket = (claim: ClaimOfAct) => mustChange(takeTicketBack(claim));

/** Waits for a change that uses it. From then on none does. */
export const takeTicketBack = (claim: ClaimRow): Sql =>
  sql`delete from claims where claim_key = ${ticketKey(claim)} and act = ${claim.act}`;

/** One that was left. */
export const deleteTicket = ({ claim_key, act }: ClaimRow): Sql =>
  sql`delete from claims where claim_key = ${claim_key} and act = ${act}`;

import { hasClientTerms } from '../../clients/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import { compareText, mergeAll } from '../../platform/db/parts.ts';
import { flag, id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { asText, join, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, GrantId, SessionId, UserId } from '../../platform/ids.ts';
import type { TermRange } from '../../platform/search-terms.ts';
import { effectiveRevocation, isRevokedInBulk } from './bulk-revocations.store.ts';
import { isOfTest } from './test-grants.store.ts';
import { uses } from './uses.store.ts';

/** Redeemed, and neither revoked nor expired. */
export const isActive = (now: number): Sql =>
  sql`redeemed_at is not null and revoked_at is null and idle_expires_at > ${now} and expires_at > ${now}
      and not ${isRevokedInBulk}`;

const ActiveAccess = row('grants', {
  client_id: id<ClientId>(),
  scope: text,
  /** Asked for by name: words, each behind a space. */
  claims: text,
  since: integer,
  /** When tokens were last issued. */
  last_used_at: integer,
});

/** In one text, so that a client that asks for other claims each time makes no more rows. The column is a JSON list of names. */
const everyRequestedClaim = (names: readonly string[]): Sql =>
  join(
    names.map(
      (claim) =>
        sql`case when max(case when claims like ${asText(`%"${claim}"%`)} then 1 else 0 end) = 1
               then ${asText(` ${claim}`)} else '' end`,
    ),
    ' || ',
  );

/** What clients may access by active grants: one row for each client and scope. @param claims names of all that there are. */
export const activeAccessOf = (db: Db, user_id: UserId, now: number, claims: readonly string[]) =>
  db.of(user_id).all(
    ActiveAccess,
    sql`select client_id, scope, ${everyRequestedClaim(claims)} as claims, min(created_at) as since,
               max(coalesce(refreshed_at, created_at)) as last_used_at
          from grants where user_id = ${user_id} and ${isActive(now)}
         group by client_id, scope`,
  );

/** A condition: there are active grants or a remembered consent to revoke. */
export const isConnected = (user_id: UserId, client_id: ClientId, now: number): Sql =>
  sql`(exists (select 1 from grants where user_id = ${user_id} and client_id = ${client_id} and ${isActive(now)})
       or exists (select 1 from consents where user_id = ${user_id} and client_id = ${client_id}))`;

/** A condition: the user has an active grant that came from another session. */
export const hasGrantElsewhere = (user_id: UserId, session_id: SessionId): Sql =>
  sql`exists (select 1 from grants where user_id = ${user_id} and session_id <> ${session_id} and revoked_at is null
                 and redeemed_at is not null and not ${isRevokedInBulk})`;

/** A condition: the user has an active grant, or a code that can still be redeemed. */
export const hasGrantToRevoke = (user_id: UserId, now: number): Sql =>
  sql`exists (select 1 from grants
               where user_id = ${user_id} and revoked_at is null and expires_at > ${now} and idle_expires_at > ${now}
                 and (redeemed_at is not null or code_expires_at > ${now}) and not ${isRevokedInBulk})`;

const ListedGrant = row('grants join clients', {
  grant_id: id<GrantId>(),
  client_id: id<ClientId>(),
  client_name: text,
  session_id: id<SessionId>(),
  scope: text,
  created_at: integer,
  refreshed_at: nullable(integer),
  expires_at: integer,
  used_by: uses.used_by,
  used_before_by: uses.used_before_by,
});
/** An active grant, as administrators see it. Times are Unix seconds. */
export type ListedGrant = RowOf<typeof ListedGrant>;

/** What a list is narrowed to: an id of the grant, its client or its session, or words of the client's name. */
type GrantSearch = { id: string; ranges: readonly TermRange[] };

/** Without words it is the id alone. */
const isFound = ({ id, ranges }: GrantSearch): Sql =>
  sql`and (grants.client_id = ${id} or grant_id = ${id} or session_id = ${id}
           or (${ranges.length > 0 ? sql`1 = 1` : sql`1 = 0`} and ${hasClientTerms(sql`grants.client_id`, ranges)}))`;

/**
 * Newest first, without codes that are not redeemed yet. A search reads the grants of this user, and no others.
 * @param page.after where the page before ended.
 */
export const activeGrantsOf = (
  db: Db,
  user_id: UserId,
  now: number,
  {
    search,
    after,
    limit,
  }: { search?: GrantSearch; after?: Pick<ListedGrant, 'created_at' | 'grant_id'>; limit: number },
) =>
  db.of(user_id).all(
    ListedGrant,
    sql`select grant_id, grants.client_id, c.name as client_name, session_id, scope, grants.created_at, refreshed_at,
               expires_at, used_by, used_before_by
          from grants join clients c on c.client_id = grants.client_id
         where user_id = ${user_id} and ${isActive(now)} and c.status <> 'deleted' ${search ? isFound(search) : sql``}
           ${
             after
               ? sql`and (grants.created_at < ${after.created_at}
                          or (grants.created_at = ${after.created_at} and grant_id > ${after.grant_id}))`
               : sql``
           }
         order by grants.created_at desc, grant_id limit ${limit}`,
  );

const SignIn = row('grants', {
  grant_id: id<GrantId>(),
  user_id: id<UserId>(),
  scope: text,
  created_at: integer,
  redeemed_at: nullable(integer),
  refreshed_at: nullable(integer),
  idle_expires_at: integer,
  expires_at: integer,
  revoked_at: nullable(integer),
  revoked_reason: nullable(text),
});
/** A sign-in with a client: a grant whose code was redeemed. Times are Unix seconds. */
export type SignIn = RowOf<typeof SignIn>;

/** The newest grants of a client among which its sign-ins are looked for: any number may be codes that are not redeemed. */
export const maxNewestGrants = 200;

/** Newest first. `isWhole`: there are no older grants. */
export async function signInsOfClient(
  db: Db,
  client_id: ClientId,
  limit: number,
): Promise<{ signIns: SignIn[]; isWhole: boolean }> {
  const newest = await mergeAll(
    db,
    (part) =>
      part.all(
        SignIn,
        sql`select grant_id, user_id, scope, created_at, redeemed_at, refreshed_at, idle_expires_at, expires_at,
                   ${effectiveRevocation}
              from grants where client_id = ${client_id} order by created_at desc, grant_id limit ${maxNewestGrants + 1}`,
      ),
    (one, other) => other.created_at - one.created_at || compareText(one.grant_id, other.grant_id),
    maxNewestGrants + 1,
  );
  const looked = newest.slice(0, maxNewestGrants);
  const signIns = looked.filter(({ redeemed_at }) => redeemed_at !== null).slice(0, limit);
  return { signIns, isWhole: looked.length === newest.length };
}

const RecentCode = row('grants', {
  user_id: id<UserId>(),
  session_id: id<SessionId>(),
  scope: text,
  redirect_uri: text,
  has_nonce: flag,
  created_at: integer,
  code_expires_at: integer,
  redeemed_at: nullable(integer),
  refresh_seq: integer,
  revoked_at: nullable(integer),
  revoked_reason: nullable(text),
});
/** A code, and what its client did with it. Times are Unix seconds. */
export type RecentCode = RowOf<typeof RecentCode>;

/** Newest first, without those of the console's test. */
export const recentCodesOfClient = (db: Db, client_id: ClientId, since: number, limit: number) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        RecentCode,
        sql`select user_id, session_id, scope, redirect_uri, case when nonce is null then 0 else 1 end as has_nonce,
                   created_at, code_expires_at, redeemed_at, refresh_seq, ${effectiveRevocation}
              from grants where client_id = ${client_id} and created_at >= ${since} and not ${isOfTest}
             order by created_at desc, grant_id limit ${limit}`,
      ),
    (one, other) => other.created_at - one.created_at,
    limit,
  );

import type { Db } from '../../platform/db/db.ts';
import { id, integer, type RowOf, row } from '../../platform/db/rows.ts';
import { raw, type Sql, sql } from '../../platform/db/sql.ts';
import { type ClientId, type GrantId, type SessionId, timeOfId, type UserId } from '../../platform/ids.ts';
import { isRevokedInBulk } from './bulk-revocations.store.ts';
import { isOfTest } from './test-grants.store.ts';

// A user who signs in over and over makes no more than so many rows: codes, active and expired grants for each client, and revoked grants.
// What is more is ended or deleted, the oldest first.

/** Active grants of one user to one client. Above that, the oldest are revoked. */
const maxGrants = 100;

/** A user with more, from before there was a maximum, loses so many with each new grant. */
const revokedAtOnce = 10;

/** Codes of one user for one client that were not redeemed. */
const maxCodes = 100;

/** Expired grants of one user to one client, kept to answer questions about what happened, not counting those kept for notification. */
const maxExpired = 50;

/** Codes and grants together, from which on they are counted apart. */
const crowd = Math.min(maxGrants, maxCodes);

/** Revoked grants of one user. */
const maxRevoked = 1000;

/** Ended or deleted when there are too many, so that the next ones cost nothing. */
const atOnce = 50;

/** Rows among which the oldest are looked for: all, unless more were made before there was a maximum. */
const maxRead = 400;

/** Of a grant that was just made. */
export type GrantKeys = { grant_id: GrantId; user_id: UserId; client_id: ClientId };

const unrevokedOf = (user_id: Sql | UserId, client_id: Sql | ClientId): Sql =>
  sql`user_id = ${user_id} and client_id = ${client_id} and revoked_at is null`;
const unexpiredOf = (user_id: UserId, client_id: ClientId, now: number): Sql =>
  sql`${unrevokedOf(user_id, client_id)} and expires_at > ${now}`;

/** A condition: its refresh tokens, and not its session, say how long it lasts. */
export const isLasting = sql`' ' || scope || ' ' like '% offline_access %'`;

/** When the session that a grant came from expires; null once it has ended or is gone. */
export const sessionEnd = sql`(select case when s.idle_expires_at < s.expires_at then s.idle_expires_at else s.expires_at end
                          from sessions s where s.session_id = grants.session_id and s.ended_at is null)`;

/**
 * Of a user and a client: they have so many grants, codes and expired ones among them, that some may be too many.
 * Reads the index `grants_of_user`, which does not say which are codes, and no more of it than that.
 */
export const isCrowded = (user_id: Sql, client_id: Sql): Sql =>
  sql`exists (select 1 from grants where ${unrevokedOf(user_id, client_id)} limit 1 offset ${raw(String(crowd - 1))})`;

/** In the order of the index, since PostgreSQL would take another one. */
const foundOf = (user_id: UserId, client_id: ClientId, now: number): Sql =>
  sql`select grant_id, session_id, created_at, redeemed_at, idle_expires_at from grants
       where ${unexpiredOf(user_id, client_id, now)} order by revoked_at, expires_at limit ${maxRead}`;

const Crowd = row('grants', { codes: integer, active: integer, expired: integer });
type Crowd = RowOf<typeof Crowd>;

/** How many codes and active grants a user and a client have, and expired ones that are too many. */
export const countCrowd = (db: Db, user_id: UserId, client_id: ClientId, now: number) =>
  db.of(user_id).get(
    Crowd,
    sql`select count(*) - count(redeemed_at) as codes, count(redeemed_at) as active,
               (select count(*) from (${surplusExpired(user_id, client_id, now)}) as old) as expired
          from (${foundOf(user_id, client_id, now)}) as found`,
  );
export const hasMaxCodes = ({ codes }: Crowd): boolean => codes >= maxCodes;
export const hasMaxGrants = ({ active }: Crowd): boolean => active >= maxGrants;
export const hasMaxExpired = ({ expired }: Crowd): boolean => expired >= atOnce;

const Made = row('grants', { grant_id: id<GrantId>(), session_id: id<SessionId>(), created_at: integer });

/** By the second of the row, and within it by the millisecond of the id: many may be made within a second. */
const newestFirst = (made: RowOf<typeof Made>[]) =>
  made.toSorted((one, other) => other.created_at - one.created_at || timeOfId(other.grant_id) - timeOfId(one.grant_id));

/** The ids of all codes of a user for a client but the newest, of which this is one. */
export async function findSurplusCodes(db: Db, { grant_id, user_id, client_id }: GrantKeys, now: number) {
  const codes = await db.of(user_id).all(
    Made,
    sql`select ${Made.columns} from (${foundOf(user_id, client_id, now)}) as found
         where redeemed_at is null and grant_id <> ${grant_id}`,
  );
  return newestFirst(codes)
    .slice(maxCodes - atOnce)
    .map((code) => code.grant_id);
}

/** The ids of the oldest grants of a user to a client that were not used for too long, though they have not expired otherwise. */
export const idleGrants = (user_id: UserId, client_id: ClientId, now: number): Sql =>
  sql`select grant_id from grants
       where grant_id in (select grant_id from (${foundOf(user_id, client_id, now)}) as found
                           where redeemed_at is not null and idle_expires_at <= ${now})
         and not ${isRevokedInBulk}
       order by expires_at limit ${atOnce}`;

/**
 * The ids of a user's expired grants to a client, except the newest 50 and, with back-channel logout, the newest of each session. The
 * client is notified of the end of the session through that one: grants that agree in every column of the partition end at the same
 * time, unless one is revoked by itself, which notifies, too. Grants that a bulk revocation covers are left to the job, which notifies;
 * and of those whose client has no URI at present all stay that were made when it had one, since it may be added again.
 */
export const surplusExpired = (user_id: UserId, client_id: ClientId, now: number): Sql => {
  const hasReceiver = sql`(select c.backchannel_logout_uri from clients c where c.client_id = ${client_id}) is not null`;
  const notifies = sql`redeemed_at is not null and not ${isOfTest} and (expiry_check_at is not null or ${hasReceiver})`;
  return sql`select grant_id
        from (select grant_id, notifies, is_covered, row_number() over (order by expires_at desc, grant_id) as place,
                     row_number() over (partition by session_id, notifies, is_lasting, is_checked, is_covered
                                        order by expires_at desc, grant_id) as place_in_session
                from (select grant_id, session_id, expires_at, case when ${notifies} then 1 else 0 end as notifies,
                             case when ${isLasting} then 1 else 0 end as is_lasting,
                             case when expiry_check_at is null then 0 else 1 end as is_checked,
                             case when ${isRevokedInBulk} then 1 else 0 end as is_covered
                        from grants where ${unrevokedOf(user_id, client_id)} and expires_at <= ${now}
                       order by revoked_at desc, expires_at desc limit ${maxRead}) as expired) as placed
       where place > ${raw(String(maxExpired))} and is_covered = 0
         and (notifies = 0 or place_in_session > 1 and ${hasReceiver})`;
};

/** The ids of grants that were revoked long before others of a user. */
export const surplusRevoked = (user_id: UserId): Sql =>
  sql`select grant_id from grants where user_id = ${user_id} and revoked_at is not null
       order by revoked_at desc limit ${atOnce} offset ${maxRevoked}`;

/** The oldest active grants that are too many, once a new one is redeemed. */
export async function findSurplusGrants(db: Db, user_id: UserId, client_id: ClientId, now: number) {
  const active = await db.of(user_id).all(
    Made,
    sql`select ${Made.columns} from (${foundOf(user_id, client_id, now)}) as found
         where redeemed_at is not null and idle_expires_at > ${now}`,
  );
  return newestFirst(active).slice(maxGrants - 1, maxGrants - 1 + revokedAtOnce);
}

import type { Db } from '../../platform/db/db.ts';
import { id, row } from '../../platform/db/rows.ts';
import { raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, GrantId, SessionId, UserId } from '../../platform/ids.ts';

/** Active grants of one user to one client. Above that, the oldest are revoked. */
const maxGrants = 100;

/** A user with more, from before there was a maximum, loses so many with each new grant. */
const revokedAtOnce = 10;

/** As the index `grants_of_user` has it, so that codes which were not redeemed are not read. */
const isRedeemed = sql`case when o.redeemed_at is null then 1 else 0 end = 0`;

const activeGrants = (user_id: Sql, client_id: Sql, now: number): Sql =>
  sql`select grant_id, session_id from grants o
       where o.user_id = ${user_id} and o.client_id = ${client_id} and ${isRedeemed} and o.revoked_at is null
         and o.expires_at > ${now} and o.idle_expires_at > ${now}`;

/** Of a grant that is inserted: as many of its user and client are active as may be, or more. Reads no more than that. */
export const hasMaxGrants = (now: number): Sql =>
  sql`(select count(*) from (${activeGrants(raw('grants.user_id'), raw('grants.client_id'), now)} limit ${maxGrants}) as others)
      >= ${maxGrants}`;

const SurplusGrant = row('grants', { grant_id: id<GrantId>(), session_id: id<SessionId>() });

/** The oldest active grants that are too many, once a new one is redeemed. */
export const findSurplusGrants = (db: Db, user_id: UserId, client_id: ClientId, now: number) =>
  db.all(
    SurplusGrant,
    sql`${activeGrants(sql`${user_id}`, sql`${client_id}`, now)}
         order by o.created_at desc, o.grant_id limit ${revokedAtOnce} offset ${maxGrants - 1}`,
  );

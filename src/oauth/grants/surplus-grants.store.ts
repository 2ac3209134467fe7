import type { Db } from '../../platform/db/db.ts';
import { id, row } from '../../platform/db/rows.ts';
import { raw, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, GrantId, SessionId, UserId } from '../../platform/ids.ts';
import { isRevokedInBulk } from './bulk-revocations.store.ts';
import { isRedeemed, isUnredeemed } from './redeemed.store.ts';

// A user who signs in over and over makes no more than so many rows: codes and active grants for each client, and revoked grants.
// What is more is ended or deleted, the oldest first.

/** Active grants of one user to one client. Above that, the oldest are revoked. */
const maxGrants = 100;

/** A user with more, from before there was a maximum, loses so many with each new grant. */
const revokedAtOnce = 10;

/** Codes of one user for one client that were not redeemed. */
const maxCodes = 100;

/** Revoked grants of one user. */
const maxRevoked = 1000;

/** Ended or deleted when there are too many, so that the next ones cost nothing. */
const atOnce = 50;

/** Rows in which the oldest is looked for: all, unless more were made before there was a maximum. */
const maxRead = 200;

const codesOf = (user_id: Sql | UserId, client_id: Sql | ClientId): Sql =>
  sql`user_id = ${user_id} and client_id = ${client_id} and revoked_at is null and ${isUnredeemed}`;

const unexpiredOf = (user_id: Sql | UserId, client_id: Sql | ClientId, now: number): Sql =>
  sql`user_id = ${user_id} and client_id = ${client_id} and revoked_at is null and ${isRedeemed} and expires_at > ${now}`;

const hasAtLeast = (rows: number, condition: Sql): Sql =>
  sql`(select count(*) from (select 1 as one from grants o where ${condition} limit ${rows}) as others) >= ${rows}`;

const ofInserted = [raw('grants.user_id'), raw('grants.client_id')] as const;

/**
 * Of a grant that is inserted: as many of its user and client are active as may be, or more. Reads an index and no more of it
 * than that, so it takes those that were not used for too long for active, too; {@link idleGrants} finds them.
 */
export const hasMaxGrants = (now: number): Sql => hasAtLeast(maxGrants, unexpiredOf(...ofInserted, now));

/** The same of codes. */
export const hasMaxCodes: Sql = hasAtLeast(maxCodes, codesOf(...ofInserted));

/** The ids of the oldest codes of a user for a client. */
export const surplusCodes = (user_id: UserId, client_id: ClientId): Sql =>
  sql`select grant_id from (select grant_id, code_expires_at from grants where ${codesOf(user_id, client_id)} limit ${maxRead}) as codes
       order by code_expires_at limit ${atOnce}`;

/** The ids of the oldest grants of a user to a client that were not used for too long, though they have not expired otherwise. */
export const idleGrants = (user_id: UserId, client_id: ClientId, now: number): Sql =>
  sql`select grant_id from grants where ${unexpiredOf(user_id, client_id, now)} and idle_expires_at <= ${now}
         and not ${isRevokedInBulk}
       order by expires_at limit ${atOnce}`;

/** The ids of grants that were revoked long before others of a user. */
export const surplusRevoked = (user_id: UserId): Sql =>
  sql`select grant_id from grants where user_id = ${user_id} and revoked_at is not null
       order by revoked_at desc limit ${atOnce} offset ${maxRevoked}`;

const SurplusGrant = row('grants', { grant_id: id<GrantId>(), session_id: id<SessionId>() });

/** The oldest active grants that are too many, once a new one is redeemed. */
export const findSurplusGrants = (db: Db, user_id: UserId, client_id: ClientId, now: number) =>
  db.all(
    SurplusGrant,
    sql`select grant_id, session_id
          from (select grant_id, session_id, created_at, idle_expires_at from grants
                 where ${unexpiredOf(user_id, client_id, now)} order by expires_at limit ${maxRead}) as unexpired
         where idle_expires_at > ${now}
         order by created_at desc, grant_id limit ${revokedAtOnce} offset ${maxGrants - 1}`,
  );

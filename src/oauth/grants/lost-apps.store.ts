import type { RevocationReason } from '../../authentication/deps.ts';
import type { Db } from '../../platform/db/db.ts';
import { choice, id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { allOf, asBigint, asText, type Sql, sql } from '../../platform/db/sql.ts';
import type { ClientId, GrantId, UserId } from '../../platform/ids.ts';
import { isOfTest } from './test-grants.store.ts';

const LostApp = row('lost_apps', {
  user_id: id<UserId>(),
  client_id: id<ClientId>(),
  lost_at: integer,
  action: choice('client.suspended', 'client.deleted'),
  /** Null of an app that had given it by itself. */
  name: nullable(text),
  /** One of the grants that have ended. */
  grant_id: id<GrantId>(),
});
/** An app whose access to an account ended with that of all its users, in Unix seconds. Kept for 90 days. */
export type LostApp = RowOf<typeof LostApp>;

/** The app had access: no code that was not redeemed, no sign-in that was over, and no test by its owner. */
const hadAccess = (at: Sql): Sql =>
  allOf([
    sql`grants.redeemed_at is not null`,
    sql`grants.idle_expires_at > ${at}`,
    sql`grants.expires_at > ${at}`,
    sql`not ${isOfTest}`,
  ]);

const insertLost = (lost_at: Sql, action: Sql, condition: Sql): Sql =>
  sql`insert into lost_apps (user_id, client_id, lost_at, action, name, grant_id)
      select grants.user_id, grants.client_id, min(${lost_at}), min(${action}), min(case when c.origin is null then c.name end), min(grant_id)
        from grants join clients c on c.client_id = grants.client_id
       where ${condition} and ${hadAccess(lost_at)}
       group by grants.user_id, grants.client_id
      on conflict do nothing`;

/**
 * For the people whose grants a change has just ended with all others of their client, and marked with this batch. A slice that follows
 * has the same second, so that each has one row.
 */
export const noteLostOf = (batch: string, reason: RevocationReason): Sql =>
  insertLost(
    sql`grants.revoked_at`,
    sql`case when c.status = 'deleted' then 'client.deleted' else 'client.suspended' end`,
    sql`logout_batch = ${batch} and revoked_reason = ${reason}`,
  );

/** Of grants that are about to be deleted with their client at this moment. @param slice a condition. */
export const noteLostWith = (slice: Sql, now: number): Sql =>
  insertLost(asBigint(now), asText('client.deleted'), sql`grants.revoked_at is null and ${slice}`);

/** The same of a client whose rows a job deletes: it was deleted before. */
export const noteLostWithDeleted = (slice: Sql): Sql =>
  insertLost(sql`c.updated_at`, asText('client.deleted'), sql`grants.revoked_at is null and ${slice}`);

/** Newest first. @param before where the page before ended. */
export const lostAppsOf = (
  db: Db,
  user_id: UserId,
  { before, limit }: { before?: Pick<LostApp, 'lost_at' | 'grant_id'> | undefined; limit: number },
) =>
  db.of(user_id).all(
    LostApp,
    sql`select ${LostApp.columns} from lost_apps where user_id = ${user_id}
           ${before ? sql`and (lost_at, grant_id) < (${asBigint(before.lost_at)}, ${before.grant_id})` : sql``}
         order by lost_at desc, grant_id desc limit ${limit}`,
  );

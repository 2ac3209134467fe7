import type { Db } from '../../platform/db/db.ts';
import { asBigint, type Sql, sql } from '../../platform/db/sql.ts';
import { everyStatusRef, mayHaveStatus } from './status-refs.store.ts';

/** Remembered until the token would have expired. @param status_ref where a list has its status; null: it has none. */
export const revokeAccessToken = (db: Db, jti: string, expires_at: number, status_ref: string | null) =>
  db
    .of(jti)
    .run(
      sql`insert into revoked_access_tokens (jti, expires_at, status_refs) values (${jti}, ${expires_at}, ${status_ref}) on conflict do nothing`,
    );

/** Seconds after a grant was made in which its row is deleted only together with its user or client. */
export const keptSeconds = 3600;

/**
 * Remembers of the grants that are about to be deleted with their user or client those made just now, and those whose tokens a list has
 * to call revoked. They are kept like revoked access tokens, under the id of the grant, and purged with them.
 */
export const rememberDeleted = (condition: Sql, now: number): Sql =>
  sql`insert into revoked_access_tokens (jti, expires_at, status_refs)
      select grant_id, case when ${mayHaveStatus(now)} then ${asBigint(now + keptSeconds)} else created_at + ${keptSeconds} end, ${everyStatusRef}
        from grants where ${condition} and (created_at > ${now - keptSeconds} or ${mayHaveStatus(now)})
      on conflict do nothing`;

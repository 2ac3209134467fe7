import type { Db } from '../../platform/db/db.ts';
import { asBigint, type Sql, sql } from '../../platform/db/sql.ts';
import { newSuffix } from '../../platform/ids.ts';
import { everyStatusRef, mayHaveStatus } from './status-refs.store.ts';

/** Remembered until the token would have expired. @param status_ref where a list has its status; null: it has none. */
export const revokeAccessToken = (
  db: Db,
  { jti, expires_at, status_ref }: { jti: string; expires_at: number; status_ref: string | null },
  now: number,
) =>
  db
    .of(jti)
    .run(
      sql`insert into revoked_access_tokens (jti, expires_at, noted_at, status_refs) values (${jti}, ${expires_at}, ${now}, ${status_ref}) on conflict do nothing`,
    );

/** Seconds after a grant was made in which its row is deleted only together with its user or client. */
export const keptSeconds = 3600;

/**
 * Remembers the grants that are about to be deleted with their user or client: those made just now each under its id, and of all whose
 * tokens a list has to call revoked the places, in one row under an id that leads to the same part. They are purged with revoked access tokens.
 */
export const rememberDeleted = (condition: Sql, now: number): Sql[] => [
  sql`insert into revoked_access_tokens (jti, expires_at, noted_at)
      select grant_id, created_at + ${keptSeconds}, ${asBigint(now)} from grants where ${condition} and created_at > ${now - keptSeconds}
      on conflict do nothing`,
  sql`insert into revoked_access_tokens (jti, expires_at, noted_at, status_refs)
      select one || ${`.${newSuffix()}`}, ${asBigint(now + keptSeconds)}, ${asBigint(now)}, refs
        from (select min(grant_id) as one, string_agg(${everyStatusRef}, ' ') as refs from grants where ${condition} and ${mayHaveStatus(now)}) as lost
       where refs is not null`,
];

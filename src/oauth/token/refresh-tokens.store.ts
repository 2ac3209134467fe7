import type { Db } from '../../platform/db/db.ts';
import { jsonTexts, row } from '../../platform/db/rows.ts';
import { combinable, onFoundRow, sql } from '../../platform/db/sql.ts';
import { type Grant, isUsable, Refreshable } from '../grants/grant.store.ts';

const ActiveRefreshToken = row('grants join clients', {
  ...Refreshable.fields,
  /** What the client may have now. */
  allowed_scopes: jsonTexts(),
});

/** The grant of a refresh token that could be used now. */
export function findActiveRefreshToken(
  db: Db,
  { grant_id, refresh_seq }: Pick<Grant, 'grant_id' | 'refresh_seq'>,
  now: number,
) {
  const isActive = sql`refresh_seq = ${refresh_seq} and redeemed_at is not null and revoked_at is null
           and idle_expires_at > ${now} and expires_at > ${now} and ${isUsable}`;
  const token = sql`select ${Refreshable.columnsOf('grants')}, its.allowed_scopes
          from grants left join clients its on its.client_id = grants.client_id
         where grant_id = ${grant_id} and ${onFoundRow(isActive)}`;
  return db.of(grant_id).get(ActiveRefreshToken, combinable(token));
}

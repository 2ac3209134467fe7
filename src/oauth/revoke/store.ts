import type { Db } from '../../platform/db/db.ts';

/** Remembered until the token would have expired anyway. */
export const revokeAccessToken = (db: Db, jti: string, expires_at: number) =>
  db.run('insert into revoked_access_tokens (jti, expires_at) values ($1, $2) on conflict do nothing', [
    jti,
    expires_at,
  ]);

export const purgeRevokedAccessTokens = (db: Db, expiredBefore: number, rows: number) =>
  db.run(
    'delete from revoked_access_tokens where jti in (select jti from revoked_access_tokens where expires_at < $1 order by expires_at limit $2)',
    [expiredBefore, rows],
  );

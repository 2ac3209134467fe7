import type { Db } from '../../platform/db/db.ts';
import { isRevokedInBulk } from '../grants/bulk-revocations.store.ts';

/** The person behind an access token that counts. */
export type TokenSubject = {
  user_id: string;
  client_id: string;
  email: string;
  email_verified_at: number | null;
  name: string | null;
  picture: string | null;
  role: string;
  /** The client's, as of now and as its row has them: a JSON list. */
  allowed_scopes: string;
};

const tokenSubjectSql = `select u.user_id, grants.client_id, u.email, u.email_verified_at, u.name, u.picture, u.role, c.allowed_scopes
       from grants join users u on u.user_id = grants.user_id join clients c on c.client_id = grants.client_id
      where grants.grant_id = $1 and grants.redeemed_at is not null and grants.revoked_at is null
        and u.disabled_at is null and c.status = 'approved' and not ${isRevokedInBulk}
        and not exists (select 1 from revoked_access_tokens r where r.jti = $2)`;

/** One read answers whether an access token counts right now: its grant, its person, its client, and itself. */
export const findTokenSubject = (db: Db, grant_id: string, jti: string) =>
  db.get<TokenSubject>(tokenSubjectSql, [grant_id, jti]);

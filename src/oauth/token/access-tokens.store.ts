import { standardClaimNames, User } from '../../accounts/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import { json, jsonTexts, nullable, type RowOf, row, words } from '../../platform/db/rows.ts';
import { combinable, onFoundRow, sql } from '../../platform/db/sql.ts';
import type { ApiId, GrantId, GroupId } from '../../platform/ids.ts';
import { RequestedClaims } from '../claims/claims-parameter.ts';
import { isRevokedInBulk } from '../grants/bulk-revocations.store.ts';
import { mayUse } from '../grants/grant.store.ts';

const Subject = User.pick(
  'user_id',
  'email',
  'email_verified_at',
  'name',
  'picture',
  'locale',
  'role',
  'updated_at',
  'attributes',
  ...standardClaimNames,
);
const TokenSubject = row('grants join users join clients', {
  ...Subject.fields,
  /** Of the grant. */
  claims: nullable(json(RequestedClaims)),
  /** Of the grant: what its tokens may be for. */
  apis: nullable(words<ApiId>()),
  /** What the client may have now. */
  allowed_scopes: jsonTexts(),
  /** The groups that the client may see; null: all. */
  visible_groups: nullable(words<GroupId>()),
});
/** The user of an active access token. */
export type TokenSubject = RowOf<typeof TokenSubject>;

/** One read says whether an access token is active: its grant, its user, its client, and the token itself. */
export function findTokenSubject(db: Db, grant_id: GrantId, jti: string) {
  const isActive = sql`grants.redeemed_at is not null and grants.revoked_at is null
           and u.disabled_at is null and c.status = 'approved' and ${mayUse} and not ${isRevokedInBulk}
           and (select r.jti from revoked_access_tokens r where r.jti = ${jti}) is null`;
  // Users and clients are joined to a grant that is there: no plan may begin with them.
  const subject = sql`select ${Subject.columnsOf('u')}, grants.claims, grants.apis, c.allowed_scopes, c.visible_groups
          from grants left join users u on u.user_id = grants.user_id left join clients c on c.client_id = grants.client_id
         where grants.grant_id = ${grant_id} and ${onFoundRow(isActive)}`;
  return db.of(grant_id).get(TokenSubject, combinable(subject));
}

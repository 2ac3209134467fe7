import type { Part } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { sql } from '../../platform/db/sql.ts';
import type { GrantId } from '../../platform/ids.ts';

// Reads of what `oauth/grants` writes.

const RevokedGrant = row('grants', {
  grant_id: id<GrantId>(),
  revoked_at: integer,
  status_refs: text,
  status_refs_before: nullable(text),
});
export type RevokedPlace = Pick<RowOf<typeof RevokedGrant>, 'grant_id' | 'revoked_at'>;

/** Grants whose tokens have a status, by when they were revoked. */
export const revokedGrantsAfter = (part: Part, { revoked_at, grant_id }: RevokedPlace, limit: number) =>
  part.all(
    RevokedGrant,
    sql`select ${RevokedGrant.columns} from grants
         where revoked_at is not null and status_refs is not null and (revoked_at, grant_id) > (${revoked_at}, ${grant_id})
         order by revoked_at, grant_id limit ${limit}`,
  );

const RevokedToken = row('revoked_access_tokens', { jti: text, status_refs: text });

/** Tokens that were revoked alone, and those of grants that were deleted. */
export const revokedTokensAfter = (part: Part, jti: string, limit: number) =>
  part.all(
    RevokedToken,
    sql`select ${RevokedToken.columns} from revoked_access_tokens
         where status_refs is not null and jti > ${jti} order by jti limit ${limit}`,
  );

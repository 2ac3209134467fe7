import type { Part } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { asBigint, sql } from '../../platform/db/sql.ts';
import type { GrantId } from '../../platform/ids.ts';
import { type BulkRevocation, coveredBy } from '../grants/bulk-revocations.store.ts';
import { mayHaveStatus } from '../grants/status-refs.store.ts';

// Reads of what `oauth/grants` writes.

const refs = { status_refs: nullable(text), status_refs_before: nullable(text) };

/** Null where all of the tokens have expired, so that nothing is read of lists that are over. */
const livingRefs = (now: number) =>
  sql`case when ${mayHaveStatus(now)} then status_refs end as status_refs,
               case when ${mayHaveStatus(now)} then status_refs_before end as status_refs_before`;

const RevokedGrant = row('grants', { grant_id: id<GrantId>(), revoked_at: integer, ...refs });
export type RevokedPlace = Pick<RowOf<typeof RevokedGrant>, 'grant_id' | 'revoked_at'>;

/** Grants that were revoked one by one, by when. Those without a status are among them, so that a slice is bounded. */
export const revokedGrantsAfter = (part: Part, { revoked_at, grant_id }: RevokedPlace, now: number, limit: number) =>
  part.all(
    RevokedGrant,
    sql`select grant_id, revoked_at, ${livingRefs(now)} from grants
         where revoked_at is not null and revoked_in_bulk is null and (revoked_at, grant_id) > (${revoked_at}, ${grant_id})
         order by revoked_at, grant_id limit ${limit}`,
  );

const CoveredGrant = row('grants', { grant_id: id<GrantId>(), created_at: integer, ...refs });
export type CoveredPlace = Pick<RowOf<typeof CoveredGrant>, 'grant_id' | 'created_at'>;

/** Seconds by which the clocks of two processes may be apart: a grant may seem to be made after its revocation. */
export const tolerance = 300;

/** Grants that a bulk revocation covers, on their rows or not yet, by when they were made; as above. */
export const coveredGrantsAfter = (
  part: Part,
  revocation: BulkRevocation,
  { created_at, grant_id }: CoveredPlace,
  now: number,
  limit: number,
) =>
  part.all(
    CoveredGrant,
    sql`select grant_id, created_at, ${livingRefs(now)} from grants
         where ${coveredBy(revocation)} and created_at <= ${asBigint(revocation.ended_at + tolerance)}
           and (created_at, grant_id) > (${asBigint(created_at)}, ${grant_id})
         order by created_at, grant_id limit ${limit}`,
  );

const RevokedToken = row('revoked_access_tokens', { jti: text, noted_at: integer, status_refs: text });
export type TokenPlace = Pick<RowOf<typeof RevokedToken>, 'jti' | 'noted_at'>;

/** Tokens that were revoked alone, and those of grants that were deleted, by when. */
export const revokedTokensAfter = (part: Part, { noted_at, jti }: TokenPlace, limit: number) =>
  part.all(
    RevokedToken,
    sql`select ${RevokedToken.columns} from revoked_access_tokens
         where status_refs is not null and (noted_at, jti) > (${noted_at}, ${jti}) order by noted_at, jti limit ${limit}`,
  );

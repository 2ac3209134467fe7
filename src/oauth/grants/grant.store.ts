import { isAmong } from '../../groups/statements.ts';
import type { Db, Part } from '../../platform/db/db.ts';
import { id, integer, json, nullable, type RowOf, row, text, words } from '../../platform/db/rows.ts';
import { asBigint, onFoundRow, sql } from '../../platform/db/sql.ts';
import type { ApiId, ClientId, GrantId, SessionId, UserId } from '../../platform/ids.ts';
import { RequestedClaims } from '../claims/claims-parameter.ts';
import { effectiveRevocation, isRevokedInBulk } from './bulk-revocations.store.ts';
import { uses } from './uses.store.ts';

export const IssuableGrant = row('grants', {
  grant_id: id<GrantId>(),
  client_id: id<ClientId>(),
  user_id: id<UserId>(),
  session_id: id<SessionId>(),
  scope: text,
  /** Asked for by name, beside those of the scope. */
  claims: nullable(json(RequestedClaims)),
  nonce: nullable(text),
  /** What its tokens may be for; null: no API. */
  apis: nullable(words<ApiId>()),
  /** The thumbprint of the key that its code, and then its refresh token, needs (RFC 9449 §5, §10); null: none. */
  dpop_jkt: nullable(text),
  /** The sequence number of the current refresh token; 0 before the code is redeemed. */
  refresh_seq: integer,
  auth_time: integer,
  amr: text,
  acr: text,
  /** Where tokens of {@link statusWindow} have their status, the newest last; null: nowhere. */
  status_refs: nullable(text),
  status_window: nullable(integer),
});
/** What tokens are made from. */
export type IssuableGrant = RowOf<typeof IssuableGrant>;

export const Refreshable = row('grants', {
  ...IssuableGrant.fields,
  refreshed_at: nullable(integer),
  idle_expires_at: integer,
  expires_at: integer,
});

const Issued = row('grants', {
  ...Refreshable.fields,
  redirect_uri: text,
  code_challenge: text,
  code_expires_at: integer,
  redeemed_at: nullable(integer),
  created_at: integer,
  /** The issuance that made the present `refresh_seq`; null if an earlier version made it. */
  issuance_id: nullable(text),
  /** Until when that issuance may be repeated, if its answer may have been lost. */
  unanswered_until: nullable(integer),
  ...uses,
});
const Grant = row('grants', { ...Issued.fields, revoked_at: nullable(integer), revoked_reason: nullable(text) });
/** One authorization, from its code to its last refresh token. Times are Unix seconds. */
export type Grant = RowOf<typeof Grant>;

/** As a code. */
export type NewGrant = Omit<
  Grant,
  | 'redeemed_at'
  | 'refresh_seq'
  | 'refreshed_at'
  | 'revoked_at'
  | 'revoked_reason'
  | 'user_id'
  | 'issuance_id'
  | 'unanswered_until'
  | 'status_refs'
  | 'status_window'
  | keyof typeof uses
> & { code_hash: string; session_token_hash: string };

/** Makes a statement repeatable whose outcome is unknown: the same id finds its own work done. */
export type Issuance = { issuance_id: string };

export type CodeRedemption = {
  code_hash: string;
  client_id: ClientId;
  redirect_uri: string;
  code_challenge: string;
  /** The client's. A code is not redeemed if the client may have none of its scope any more. */
  allowed_scopes: readonly string[];
  /** The thumbprint of the key that the client has proven to have. */
  jkt: string | null;
  /** Whether the refresh token needs the same key. */
  isBound: boolean;
  /** Where the access token may have its status. */
  status_ref: string | undefined;
  /** Who gets the tokens: `partyText`. */
  used_by: string;
};

/** Of a refresh token. */
export type Rotation = Issuance & {
  grant_id: GrantId;
  client_id: ClientId;
  refresh_seq: number;
  /** The same for a refresh token that stays. */
  next_seq: number;
  idle_expires_at: number;
  /** The thumbprint of the key that the client has proven to have. */
  jkt: string | null;
  /** Whether the refresh token needs the same key from now on. */
  isBound: boolean;
  /** Where the access token may have its status. */
  status_ref: string | undefined;
  /** Who gets the tokens: `partyText`. */
  used_by: string;
};

/** On a grant and its client `c`. */
export const mayUse = isAmong(sql`c.allowed_groups`, sql`grants.user_id`);

/**
 * What a token depends on besides its grant: an enabled user, an approved client that this user may use, no bulk revocation. It is part of every
 * statement that issues, so no check can go stale between a read and a write.
 */
export const isUsable = sql`(select u.disabled_at is null from users u where u.user_id = grants.user_id)
   and (select c.status = 'approved' and ${mayUse} from clients c where c.client_id = grants.client_id)
   and not ${isRevokedInBulk}`;

/** @param part where the code leads. */
export const findGrantByCode = (part: Part, code_hash: string) =>
  part.get(Grant, sql`select ${Grant.columns} from grants where code_hash = ${code_hash}`);

/** The grant, if its latest tokens may be issued once more: active, usable, and still at this place of its sequence. */
export const findReissuable = (db: Db, at: Pick<Grant, 'grant_id' | 'refresh_seq'>, now: number) =>
  db.of(at.grant_id).get(
    IssuableGrant,
    sql`select ${IssuableGrant.columns} from grants
         where grant_id = ${at.grant_id} and refresh_seq = ${at.refresh_seq} and redeemed_at is not null
           and ${onFoundRow(sql`revoked_at is null and expires_at > ${now} and ${isUsable}`)}`,
  );

/** A grant without a row: its user or client was deleted, or the database was restored from a backup since it was made. */
export const isGoneForGood = (db: Db, grant_id: GrantId, made_at: number) =>
  db.of(grant_id).holds(
    sql`exists (select 1 from restores where restored_at >= ${asBigint(made_at)})
        or exists (select 1 from revoked_access_tokens where jti = ${grant_id})`,
  );

/** With its effective revocation: a bulk revocation counts before the job has written it to the row. */
export const findGrant = (db: Db, grant_id: GrantId) =>
  db
    .of(grant_id)
    .get(Grant, sql`select ${Issued.columns}, ${effectiveRevocation} from grants where grant_id = ${grant_id}`);

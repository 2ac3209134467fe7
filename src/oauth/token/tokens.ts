import { findUser } from '../../accounts/users.ts';
import type { Client } from '../../clients/client.ts';
import { hasScope, isWithinAllowed, withinAllowed } from '../../clients/scopes.ts';
import { listEntitlements } from '../../entitlements/read-history.ts';
import { now } from '../../platform/clock.ts';
import { invalidToken, RequestError } from '../../platform/errors.ts';
import { Time } from '../../platform/http/operation.ts';
import { type GrantId, newSuffix } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import type { Vault } from '../../platform/vault.ts';
import { claimsWithin, scopeOfClaim, type UserClaims, userClaims } from '../claims/claims.ts';
import type { Deps } from '../deps.ts';
import { refuseIfBehind } from '../grants/behind.ts';
import { findGrant, type IssuableGrant } from '../grants/grant.store.ts';
import { findTokenSubject, type TokenSubject } from './access-tokens.store.ts';
import type { TokenResponse } from './token-request.ts';

/** Specification 2.3. */
export const accessTokenSeconds = 3600;

/** RFC 9068 §2.2 and decisions §5. */
export const AccessTokenClaims = Type.Object({
  scope: Type.String(),
  client_id: Type.String(),
  exp: Time,
  iat: Time,
  sub: Type.String({ description: 'The user ID.' }),
  aud: Type.String(),
  iss: Type.String(),
  jti: Type.String(),
  sid: Type.String({ description: 'The session from which it was issued.' }),
  auth_time: Time,
  acr: Type.String(),
  amr: Type.Array(Type.String()),
});
type AccessTokenClaims = Static<typeof AccessTokenClaims>;

/**
 * Signs the tokens of a grant that has just been redeemed or rotated.
 * @param asked the scope of this access token: the grant's or less. What the client has lost since the grant was made is
 * left out; the caller has made sure that something remains.
 * @param nonce only at redemption; a refreshed id token has none (OIDC Core §12.2).
 */
export async function issueTokens(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'keys'>,
  client: Client,
  grant: IssuableGrant,
  { asked, nonce }: { asked: string; nonce?: string | null },
): Promise<TokenResponse> {
  const scope = withinAllowed(asked, client.allowed_scopes);
  const algorithm = client.id_token_signed_response_alg;
  const iat = now(deps);
  const shared = {
    iss: deps.config.baseUrl,
    sub: grant.user_id,
    aud: grant.client_id,
    iat,
    exp: iat + accessTokenSeconds,
    auth_time: grant.auth_time,
    sid: grant.session_id,
    acr: grant.acr,
    amr: grant.amr.split(' '),
  };
  const claims = {
    ...shared,
    client_id: grant.client_id,
    scope,
    // Leads back to the grant, so that one read says whether the token is active.
    jti: `${grant.grant_id}.${newSuffix()}`,
  };
  const idClaims = hasScope(scope, 'openid')
    ? {
        ...(await claimsInIdToken(deps, client, grant, scope)),
        ...shared,
        azp: grant.client_id,
        ...(nonce ? { nonce } : {}),
      }
    : undefined;
  const { access_token, id_token } = await deps.keys.signTokens(algorithm, claims, idClaims);
  const response: TokenResponse = { access_token, token_type: 'Bearer', expires_in: accessTokenSeconds, scope };
  if (hasScope(withinAllowed(grant.scope, client.allowed_scopes), 'offline_access')) {
    response.refresh_token = issueRefreshToken(deps.vault, grant);
  }
  if (id_token !== undefined) response.id_token = id_token;
  return response;
}

/**
 * Claims about the user are userinfo's (decisions §5), unless the client has them in id tokens, or its request asked for
 * some of them there.
 * @param scope of the access token beside it.
 */
async function claimsInIdToken(
  { db }: Pick<Deps, 'db'>,
  { claims_in_id_token, allowed_scopes }: Client,
  { user_id, claims }: IssuableGrant,
  scope: string,
): Promise<UserClaims> {
  const requested = (claims?.id_token ?? []).filter((claim) => allowed_scopes.includes(scopeOfClaim(claim)));
  const wanted = [...(claims_in_id_token ? claimsWithin(scope) : []), ...requested];
  const user = wanted.length > 0 ? await findUser(db, user_id) : undefined;
  return user ? userClaims(user, wanted, () => listEntitlements(db, user_id)) : {};
}

export const grantIdOfAccessToken = (jti: string): GrantId => jti.slice(0, jti.indexOf('.'));

/** Our own and unexpired to the second; whether it was revoked is not asked. @throws {RequestError} `invalid_token`. */
async function readClaims(deps: Pick<Deps, 'clock' | 'keys'>, token: string): Promise<AccessTokenClaims> {
  const claims = (await deps.keys.verify('at+jwt', token)) as AccessTokenClaims;
  if (claims.exp <= now(deps)) throw invalidToken('expired');
  return claims;
}

/** @returns undefined for anything but an unexpired access token of ours. */
export const readAccessToken = (deps: Pick<Deps, 'clock' | 'keys'>, token: string) =>
  undefinedIfInvalid(readClaims(deps, token));

/**
 * An access token that is active now: neither the token nor its grant was revoked, its user is not disabled, its client is
 * approved, on whichever node that was decided. `scope` is what the client may have now: tokens issued before lose a
 * scope that was taken from the client.
 * @throws {RequestError} `invalid_token`; `temporarily_unavailable` if the store is older than the token.
 */
export async function verifyAccessToken(
  deps: Pick<Deps, 'db' | 'clock' | 'keys'>,
  token: string,
): Promise<{ claims: AccessTokenClaims; subject: TokenSubject }> {
  const claims = await readClaims(deps, token);
  const subject = await findTokenSubject(deps.db, grantIdOfAccessToken(claims.jti), claims.jti);
  if (!subject) {
    const token = { grant_id: grantIdOfAccessToken(claims.jti), refresh_seq: 1 };
    await refuseIfBehind(deps, token, await findGrant(deps.db, token.grant_id));
    throw invalidToken('revoked');
  }
  // A scope is seldom taken away, and the claims of a token that was seen before are shared: a copy for each request would
  // cost more than the read did.
  if (isWithinAllowed(claims.scope, subject.allowed_scopes)) return { claims, subject };
  const allowed = claims.scope.split(' ').filter((name) => isWithinAllowed(name, subject.allowed_scopes));
  if (allowed.length === 0) throw invalidToken('no scope left');
  return { claims: { ...claims, scope: allowed.join(' ') }, subject };
}

/** @returns undefined instead of `invalid_token`. */
export async function undefinedIfInvalid<Value>(verified: Promise<Value>): Promise<Value | undefined> {
  try {
    return await verified;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'invalid_token') return undefined;
    throw error;
  }
}

/**
 * A refresh token is `rt_` and base64url of grant id (16 bytes) ‖ sequence number (4) ‖ HMAC-SHA-256 (32) under a key
 * derived from the master key. The MAC proves that we issued it, so an older genuine token is recognised as a replay
 * without a history of tokens, a forged one changes nothing, and the database holds no usable token.
 */
export type RefreshToken = Pick<IssuableGrant, 'grant_id' | 'refresh_seq'>;

const refreshTokenPrefix = 'rt_';
const grantIdPrefix = 'gr_';
const idLength = 16;
const bodyLength = idLength + 4;
const tokenLength = bodyLength + 32;

function issueRefreshToken(vault: Vault, { grant_id, refresh_seq }: RefreshToken): string {
  const body = Buffer.alloc(bodyLength);
  body.write(grant_id.slice(grantIdPrefix.length), 'base64url');
  body.writeUInt32BE(refresh_seq, idLength);
  return refreshTokenPrefix + Buffer.concat([body, vault.mac('refresh-token', body)]).toString('base64url');
}

export const looksLikeRefreshToken = (text: string): boolean => text.startsWith(refreshTokenPrefix);

/** @returns undefined for anything that this deployment has not issued, character for character. */
export function readRefreshToken(vault: Vault, text: string): RefreshToken | undefined {
  if (!looksLikeRefreshToken(text) || text.length > 100) return undefined;
  const encoded = text.slice(refreshTokenPrefix.length);
  const bytes = Buffer.from(encoded, 'base64url');
  // Several strings decode to the same bytes; only the one that we issued is accepted.
  if (bytes.length !== tokenLength || bytes.toString('base64url') !== encoded) return undefined;
  const body = bytes.subarray(0, bodyLength);
  if (!vault.isMac('refresh-token', body, bytes.subarray(bodyLength))) return undefined;
  return {
    grant_id: grantIdPrefix + body.subarray(0, idLength).toString('base64url'),
    refresh_seq: body.readUInt32BE(idLength),
  };
}

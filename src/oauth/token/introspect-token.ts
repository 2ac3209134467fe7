import type { Api } from '../../apis/api.ts';
import { hasScope, isOwnScope, parseScope, usableScopes, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import type { SecretDeps } from '../../platform/deps.ts';
import type { ApiId, ClientId } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { refuseIfBehind } from '../grants/behind.ts';
import { findGrant } from '../grants/grant.store.ts';
import { undefinedIfInvalid } from '../signing-keys/key-ring.ts';
import { type ActiveAccessToken, claimsOfGrant, tokenTypeOf, verifyAccessToken } from './access-token.ts';
import { looksLikeRefreshToken, readRefreshToken } from './refresh-token.ts';
import { findActiveRefreshToken } from './refresh-tokens.store.ts';

/** Whose tokens a caller may introspect: one client's, those for one API, or all. */
export type Visibility = { sees: 'all' | ClientId | { api_id: ApiId } };

const inactive = { active: false } as const;

/**
 * What a token is worth right now to the client that asks (RFC 7662 §2.2). Unknown, expired, revoked, malformed and other
 * clients' tokens all give the same `{"active":false}`.
 */
export const introspectToken = (
  deps: Pick<Deps, 'db' | 'apis' | 'attributes' | 'clock' | 'config' | 'vault' | 'keys'>,
  visibility: Visibility,
  token: string,
) =>
  looksLikeRefreshToken(token)
    ? introspectRefreshToken(deps, visibility, token)
    : introspectAccessToken(deps, visibility, token);

async function introspectAccessToken(
  deps: Pick<Deps, 'db' | 'apis' | 'attributes' | 'clock' | 'keys'>,
  { sees }: Visibility,
  token: string,
) {
  const verified = await undefinedIfInvalid(verifyAccessToken(deps, token));
  if (!verified) return inactive;
  const shown = { ...verified.claims, active: true, token_type: tokenTypeOf(verified.claims) };
  if (typeof sees === 'string') return sees === 'all' || sees === verified.claims.client_id ? shown : inactive;
  const api = (await deps.apis.read()).find(sees.api_id);
  return api && isFor(verified, api) ? { ...shown, ...partOf(verified, api) } : inactive;
}

const isFor = ({ claims: { aud } }: ActiveAccessToken, { identifier }: Api): boolean =>
  typeof aud !== 'string' && aud.includes(identifier);

/** What one API needs to know of a token that is for others as well (RFC 7662 §2.2: the answer may depend on who asks). */
const partOf = ({ claims: { client_id, scope } }: ActiveAccessToken, { identifier, scopes }: Api) => ({
  aud: [client_id, identifier],
  scope: parseScope(scope)
    .filter((word) => isOwnScope(word) || scopes.some(({ name }) => name === word))
    .join(' '),
});

/** It is shown to the client alone, and to the caller who sees all. */
async function introspectRefreshToken(
  deps: SecretDeps & Pick<Deps, 'apis' | 'attributes'>,
  { sees }: Visibility,
  text: string,
) {
  const token = readRefreshToken(deps.vault, text);
  const grant = token && (await findActiveRefreshToken(deps.db, token, now(deps)));
  if (token && !grant) await refuseIfBehind(deps, token, await findGrant(deps.db, token.grant_id));
  if (!grant || (sees !== 'all' && sees !== grant.client_id)) return inactive;
  const scope = withinAllowed(grant.scope, await usableScopes(deps, grant.allowed_scopes));
  if (!hasScope(scope, 'offline_access')) return inactive; // without it a refresh is refused
  return {
    ...claimsOfGrant(deps.config.baseUrl, grant),
    active: true,
    scope,
    client_id: grant.client_id,
    ...(grant.dpop_jkt !== null && { cnf: { jkt: grant.dpop_jkt } }),
    token_type: 'refresh_token',
    exp: Math.min(grant.idle_expires_at, grant.expires_at),
    iat: grant.refreshed_at,
    jti: `${grant.grant_id}.${grant.refresh_seq}`,
  };
}

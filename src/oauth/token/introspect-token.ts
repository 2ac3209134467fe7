import { hasScope, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import type { SecretDeps } from '../../platform/deps.ts';
import type { ClientId } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { refuseIfBehind } from '../grants/behind.ts';
import { findGrant } from '../grants/grant.store.ts';
import { undefinedIfInvalid } from '../signing-keys/key-ring.ts';
import { accessTokenType, claimsOfGrant, verifyAccessToken } from './access-token.ts';
import { looksLikeRefreshToken, readRefreshToken } from './refresh-token.ts';
import { findActiveRefreshToken } from './refresh-tokens.store.ts';

/** Whose tokens a caller may introspect: one client's, or all. */
export type Visibility = { sees: 'all' | ClientId };

const maySee = ({ sees }: Visibility, client_id: ClientId) => sees === 'all' || sees === client_id;

const inactive = { active: false } as const;

/**
 * What a token is worth right now to the client that asks (RFC 7662 §2.2). Unknown, expired, revoked, malformed and other
 * clients' tokens all give the same `{"active":false}`.
 */
export const introspectToken = (
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'keys'>,
  visibility: Visibility,
  token: string,
) =>
  looksLikeRefreshToken(token)
    ? introspectRefreshToken(deps, visibility, token)
    : introspectAccessToken(deps, visibility, token);

async function introspectAccessToken(deps: Pick<Deps, 'db' | 'clock' | 'keys'>, visibility: Visibility, token: string) {
  const verified = await undefinedIfInvalid(verifyAccessToken(deps, token));
  return verified && maySee(visibility, verified.claims.client_id)
    ? { ...verified.claims, active: true, token_type: accessTokenType }
    : inactive;
}

async function introspectRefreshToken(deps: SecretDeps, visibility: Visibility, text: string) {
  const token = readRefreshToken(deps.vault, text);
  const grant = token && (await findActiveRefreshToken(deps.db, token, now(deps)));
  if (token && !grant) await refuseIfBehind(deps, token, await findGrant(deps.db, token.grant_id));
  if (!grant || !maySee(visibility, grant.client_id)) return inactive;
  const scope = withinAllowed(grant.scope, grant.allowed_scopes);
  if (!hasScope(scope, 'offline_access')) return inactive; // without it a refresh is refused
  return {
    ...claimsOfGrant(deps.config.baseUrl, grant),
    active: true,
    scope,
    client_id: grant.client_id,
    token_type: 'refresh_token',
    exp: Math.min(grant.idle_expires_at, grant.expires_at),
    iat: grant.refreshed_at,
    jti: `${grant.grant_id}.${grant.refresh_seq}`,
  };
}

import { hasScope, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import type { SecretDeps } from '../../platform/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { findUsableGrant } from '../grants/store.ts';
import { type AccessTokenClaims, verifyAccessToken } from '../token/access-token.ts';
import { readRefreshToken } from '../token/refresh-token.ts';

/** Whose tokens somebody may ask about: one client's, or everybody's. */
export type Caller = { sees: 'all' | (string & {}) };

const maySee = ({ sees }: Caller, client_id: string) => sees === 'all' || sees === client_id;

const inactive = { active: false } as const;

/**
 * What a token is worth right now to the client that asks (RFC 7662 §2.2). Unknown, expired, revoked, malformed and
 * somebody else's all give the same `{"active":false}`.
 */
export async function introspectToken(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'vault' | 'keys'>,
  caller: Caller,
  token: string,
) {
  return token.startsWith('rt_')
    ? introspectRefreshToken(deps, caller, token)
    : introspectAccessToken(deps, caller, token);
}

async function introspectAccessToken(deps: Pick<Deps, 'db' | 'clock' | 'keys'>, caller: Caller, token: string) {
  let claims: AccessTokenClaims;
  try {
    ({ claims } = await verifyAccessToken(deps, token));
  } catch (error) {
    if (error instanceof RequestError && error.code === 'invalid_token') return inactive;
    throw error;
  }
  return maySee(caller, claims.client_id) ? { active: true, ...claims, token_type: 'Bearer' } : inactive;
}

async function introspectRefreshToken(deps: SecretDeps, caller: Caller, text: string) {
  const token = readRefreshToken(deps.vault, text);
  const grant = token && (await findUsableGrant(deps.db, token.grant_id));
  const at = now(deps);
  const scope = withinAllowed(grant?.scope ?? '', grant?.allowed_scopes ?? []);
  const counts =
    grant !== undefined &&
    hasScope(scope, 'offline_access') && // without it no refresh is answered
    maySee(caller, grant.client_id) &&
    grant.refresh_seq === token?.refresh_seq &&
    grant.revoked_at === null &&
    grant.idle_expires_at > at &&
    grant.expires_at > at;
  if (!counts) return inactive;
  return {
    active: true,
    scope,
    client_id: grant.client_id,
    token_type: 'refresh_token',
    exp: Math.min(grant.idle_expires_at, grant.expires_at),
    iat: grant.refreshed_at,
    sub: grant.user_id,
    aud: grant.client_id,
    iss: deps.config.baseUrl,
    jti: `${grant.grant_id}.${grant.refresh_seq}`,
    sid: grant.session_id,
    auth_time: grant.auth_time,
    acr: grant.acr,
    amr: grant.amr.split(' '),
  };
}

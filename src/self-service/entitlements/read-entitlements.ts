import { hasScope } from '../../clients/scopes.ts';
import type { Entitlement } from '../../entitlements/entitlement.ts';
import { listEntitlements } from '../../entitlements/read-history.ts';
import type { Deps } from '../../oauth/deps.ts';
import { verifyAccessToken } from '../../oauth/token/tokens.ts';
import { insufficientScope } from '../../platform/errors.ts';
import { bearerToken } from '../../platform/http/access.ts';

/**
 * What the person of an access token is entitled to, as it is now (decisions §12).
 * @throws {RequestError} `invalid_token`; `insufficient_scope` without `entitlements:read`.
 */
export async function entitlementsOfToken(
  deps: Pick<Deps, 'db' | 'clock' | 'keys'>,
  authorization: string,
): Promise<Entitlement[]> {
  const { claims, subject } = await verifyAccessToken(deps, bearerToken(authorization));
  if (!hasScope(claims.scope, 'entitlements:read')) throw insufficientScope('entitlements:read');
  return listEntitlements(deps.db, subject.user_id);
}

import { hasScope } from '../clients/scopes.ts';
import { useAccessToken } from '../oauth/access-token.ts';
import type { Deps } from '../oauth/deps.ts';
import { insufficientScope } from '../platform/errors.ts';
import { bearerToken } from '../platform/http/bearer.ts';
import type { Entitlement } from './entitlement.ts';
import { listEntitlements } from './store.ts';

/**
 * What the person of an access token is entitled to, as it is now (decisions §12).
 * @throws {RequestError} `invalid_token`; `insufficient_scope` without `entitlements:read`.
 */
export async function entitlementsOfToken(
  deps: Pick<Deps, 'db' | 'clock' | 'keys'>,
  authorization: string,
): Promise<Entitlement[]> {
  const { claims, subject } = await useAccessToken(deps, bearerToken(authorization));
  if (!hasScope(claims.scope, 'entitlements:read')) throw insufficientScope('entitlements:read');
  return listEntitlements(deps.db, subject.user_id);
}

import Type, { type Static } from 'typebox';
import { Entitlement } from '../../entitlements/entitlement.ts';
import { listEntitlements } from '../../entitlements/read-history.ts';
import { insufficientScope } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { verifyAccessToken } from '../token/tokens.ts';

/** Specification 2.4 and decisions §5: `sub` always, the rest by scope. */
export const Userinfo = Type.Object({
  sub: Type.String(),
  email: Type.Optional(Type.String({ description: 'Scope `email`.' })),
  email_verified: Type.Optional(Type.Boolean({ description: 'Scope `email`.' })),
  name: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
  picture: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
  role: Type.Optional(Type.String({ description: 'Scope `profile`.' })),
  entitlements: Type.Optional(Type.Array(Entitlement, { description: 'Scope `entitlements:read`.' })),
});
type Userinfo = Static<typeof Userinfo>;

/**
 * The claims that the scope of an access token allows, as they are now.
 * @throws {RequestError} `invalid_token`; `insufficient_scope` without `openid`.
 */
export async function userinfo(deps: Pick<Deps, 'db' | 'clock' | 'keys'>, accessToken: string): Promise<Userinfo> {
  const { claims, subject } = await verifyAccessToken(deps, accessToken);
  const granted = claims.scope.split(' ');
  if (!granted.includes('openid')) throw insufficientScope('openid');
  const answer: Userinfo = { sub: subject.user_id };
  if (granted.includes('email')) {
    answer.email = subject.email;
    answer.email_verified = subject.email_verified_at !== null;
  }
  if (granted.includes('profile')) {
    if (subject.name !== null) answer.name = subject.name;
    if (subject.picture !== null) answer.picture = subject.picture;
    answer.role = subject.role;
  }
  if (granted.includes('entitlements:read')) answer.entitlements = await listEntitlements(deps.db, subject.user_id);
  return answer;
}

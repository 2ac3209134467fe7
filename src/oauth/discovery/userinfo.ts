import { hasScope } from '../../clients/scopes.ts';
import { insufficientScope } from '../../platform/errors.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { claimLists } from '../claims/claim-lists.ts';
import { claimsWithin, scopeOfClaim, UserClaims, userClaims } from '../claims/claims.ts';
import type { Deps } from '../deps.ts';
import type { ActiveAccessToken } from '../token/access-token.ts';

export const Userinfo = Type.Object(
  { sub: Type.String(), ...UserClaims.properties },
  {
    additionalProperties: Type.Unknown({
      description:
        'Attributes that the operator has defined, by their names: text, number, boolean or a list of texts.',
    }),
  },
);
type Userinfo = Static<typeof Userinfo>;

/**
 * The claims that the scope of an access token allows (specification 2.4 and decisions §5), and those that the
 * authorization request asked for by name, as they are now.
 * @throws {RequestError} `insufficient_scope` without `openid`.
 */
export async function userinfo(
  deps: Pick<Deps, 'db' | 'attributes'>,
  { claims, subject }: ActiveAccessToken,
): Promise<Userinfo> {
  if (!hasScope(claims.scope, 'openid')) throw insufficientScope('openid');
  const { user_id } = subject;
  const attributes = await deps.attributes.read();
  const requested = (subject.claims?.userinfo ?? []).filter((claim) =>
    subject.allowed_scopes.includes(scopeOfClaim(attributes, claim) ?? ''),
  );
  const wanted = [...claimsWithin(attributes, claims.scope), ...requested];
  const lists = claimLists(deps.db, user_id, subject);
  return { sub: user_id, ...(await userClaims(subject, wanted, { lists, attributes })) };
}

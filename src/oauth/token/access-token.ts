import { usableScopes, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import { invalidToken } from '../../platform/errors.ts';
import { Time } from '../../platform/http/operation.ts';
import { type GrantId, newSuffix } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import type { Deps } from '../deps.ts';
import { refuseIfBehind } from '../grants/behind.ts';
import { findGrant, type IssuableGrant } from '../grants/grant.store.ts';
import { undefinedIfInvalid } from '../signing-keys/key-ring.ts';
import { findTokenSubject, type TokenSubject } from './access-tokens.store.ts';
import { activeAudience, type Target } from './resources.ts';

/** To have an access token is enough to use it (RFC 6750), unless it is bound to a key (RFC 9449). */
export const tokenTypes = ['Bearer', 'DPoP'] as const;
export const tokenTypeOf = ({ cnf }: Pick<AccessTokenClaims, 'cnf'>): (typeof tokenTypes)[number] =>
  cnf === undefined ? 'Bearer' : 'DPoP';

/** RFC 9068 §2.2 and decisions §5. */
export const AccessTokenClaims = Type.Object({
  scope: Type.String(),
  client_id: Type.String(),
  exp: Time,
  iat: Time,
  sub: Type.String({ description: 'The user ID.' }),
  aud: Type.Union([Type.String(), Type.Array(Type.String())], {
    description: 'The client ID; in a token for APIs a list of it and their identifiers (RFC 8707).',
  }),
  iss: Type.String(),
  jti: Type.String(),
  cnf: Type.Optional(
    Type.Object(
      { jkt: Type.String({ description: 'The thumbprint of the key (RFC 7638).' }) },
      { description: 'Of a token that is bound to a key (RFC 9449 section 6).' },
    ),
  ),
  sid: Type.String({ description: 'The session from which it was issued.' }),
  auth_time: Time,
  acr: Type.String(),
  amr: Type.Array(Type.String()),
  status: Type.Optional(
    Type.Object(
      {
        status_list: Type.Object(
          {
            idx: Type.Integer({ description: 'The place of its bit: 1 is revoked.' }),
            uri: Type.String({ description: 'The address of the list.' }),
          },
          { description: 'Its list, and its place in it.' },
        ),
      },
      {
        description:
          'Where a list says whether it is revoked, for an API that wants that (draft-ietf-oauth-status-list).',
      },
    ),
  ),
});
export type AccessTokenClaims = Static<typeof AccessTokenClaims>;

/** An access token that is active, with its user. */
export type ActiveAccessToken = { claims: AccessTokenClaims; subject: TokenSubject };

/** What every token of a grant says of it: who issued it to whom, for a client that is its only audience, and how the user had signed in. */
export const claimsOfGrant = (issuer: string, grant: Omit<IssuableGrant, 'claims' | 'nonce'>) => ({
  iss: issuer,
  sub: grant.user_id,
  aud: grant.client_id,
  sid: grant.session_id,
  auth_time: grant.auth_time,
  acr: grant.acr,
  amr: grant.amr.split(' '),
});

export const accessTokenClaims = (
  deps: Pick<Deps, 'clock' | 'config'>,
  grant: IssuableGrant,
  { scope, audience }: Target,
  { jkt, status }: Pick<AccessTokenClaims, 'status'> & { jkt: string | undefined },
): AccessTokenClaims => {
  const iat = now(deps);
  return {
    ...claimsOfGrant(deps.config.baseUrl, grant),
    ...(audience !== null && { aud: [grant.client_id, ...audience] }),
    iat,
    exp: iat + accessTokenSeconds,
    client_id: grant.client_id,
    ...(jkt !== undefined && { cnf: { jkt } }),
    scope,
    // Leads back to the grant, so that one read says whether the token is active.
    jti: `${grant.grant_id}.${newSuffix()}`,
    ...(status && { status }),
  };
};

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
 * approved, on whichever node that was decided. `scope` and `aud` are what they may be now: tokens issued before lose a
 * scope that was taken from the client, and whatever was retired.
 * @throws {RequestError} `invalid_token`; `temporarily_unavailable` if the store is older than the token.
 */
export async function verifyAccessToken(
  deps: Pick<Deps, 'db' | 'clock' | 'keys' | 'apis' | 'attributes'>,
  token: string,
): Promise<ActiveAccessToken> {
  const claims = await readClaims(deps, token);
  const subject = await findTokenSubject(deps.db, grantIdOfAccessToken(claims.jti), claims.jti);
  if (!subject) {
    const token = { grant_id: grantIdOfAccessToken(claims.jti), refresh_seq: 1 };
    await refuseIfBehind(deps, token, await findGrant(deps.db, token.grant_id));
    throw invalidToken('revoked');
  }
  const allowed = await usableScopes(deps, subject.allowed_scopes);
  const scope = withinAllowed(claims.scope, allowed);
  if (scope === '') throw invalidToken('no scope left');
  if (typeof claims.aud !== 'string') {
    const apis = await activeAudience(deps, claims.aud, { apis: subject.apis, allowed });
    if (apis.length === 0) throw invalidToken('none of its APIs is left');
    return { claims: { ...claims, scope, aud: [claims.client_id, ...apis] }, subject };
  }
  if (scope === claims.scope) return { claims, subject };
  return { claims: { ...claims, scope }, subject }; // a copy: the claims of a token that was seen before are shared
}

import { isWithinAllowed, withinAllowed } from '../../clients/scopes.ts';
import { now } from '../../platform/clock.ts';
import { invalidToken } from '../../platform/errors.ts';
import { newSuffix } from '../../platform/ids.ts';
import type { Deps } from '../deps.ts';
import { findTokenSubject, type TokenSubject } from './token-subject.store.ts';

/** An access token's id leads back to its grant, so that one read tells whether the token still counts. */
export const newAccessTokenId = (grant_id: string): string => `${grant_id}.${newSuffix()}`;

export const grantIdOfAccessToken = (jti: string): string => jti.slice(0, jti.indexOf('.'));

/** RFC 9068 §2.2 and decisions §5. */
export type AccessTokenClaims = {
  iss: string;
  sub: string;
  aud: string;
  client_id: string;
  scope: string;
  iat: number;
  exp: number;
  jti: string;
  sid: string;
  auth_time: number;
  acr: string;
  amr: string[];
};

/**
 * An access token that counts at this moment: ours, unexpired to the second, and neither it nor its grant, person or
 * client has been stopped, on whichever node that happened. Its scope is what the client may have at this moment: one
 * that was taken from the client leaves the tokens that it holds.
 * @throws {RequestError} `invalid_token`.
 */
export async function verifyAccessToken(
  deps: Pick<Deps, 'db' | 'clock' | 'keys'>,
  token: string,
): Promise<{ claims: AccessTokenClaims; subject: TokenSubject }> {
  const claims = (await deps.keys.verify('at+jwt', token)) as AccessTokenClaims;
  if (claims.exp <= now(deps)) throw invalidToken('expired');
  const subject = await findTokenSubject(deps.db, grantIdOfAccessToken(claims.jti), claims.jti);
  if (!subject) throw invalidToken('revoked');
  // A scope is seldom taken away, and the claims of a token that was seen before are shared: a copy for each request would
  // cost more than the read did.
  if (isWithinAllowed(claims.scope, subject.allowed_scopes)) return { claims, subject };
  const scope = withinAllowed(claims.scope, JSON.parse(subject.allowed_scopes) as string[]);
  if (scope === '') throw invalidToken('no scope left');
  return { claims: { ...claims, scope }, subject };
}

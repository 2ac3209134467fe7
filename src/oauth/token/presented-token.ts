import { invalidRequest, RequestError } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { type ActiveAccessToken, accessTokenType, verifyAccessToken } from './access-token.ts';

/** Of the answer to a request without a token: a challenge without an error (RFC 6750 §3.1). */
export const tokenChallenge = accessTokenType;

/** Where a request may carry its token. */
type Presented = {
  authorization?: string | undefined;
  /** Of an endpoint whose form may carry it. */
  formToken?: string | undefined;
};

/**
 * The access token with which a request comes, verified: from the header, or from a form, never both and never from the URL
 * (OAuth 2.1 §5.1). Whether it has the form of a token is not checked: what has another form was not issued here either.
 * @returns undefined without one. @throws {RequestError} as {@link verifyAccessToken}, also for a token that is for an API and not for us
 * (decision 51); `invalid_request` for two.
 */
export async function findPresentedToken(
  deps: Pick<Deps, 'db' | 'apis' | 'clock' | 'keys'>,
  { authorization = '', formToken }: Presented,
): Promise<ActiveAccessToken | undefined> {
  // Another scheme, such as Basic for a proxy, which browsers then send everywhere, is treated as no header.
  if (!/^bearer(?: |$)/i.test(authorization)) {
    return formToken === undefined ? undefined : ownToken(await verifyAccessToken(deps, formToken));
  }
  if (formToken !== undefined) throw invalidRequest('The access token was sent twice. Use only one method.');
  return ownToken(await verifyAccessToken(deps, authorization.replace(/^bearer */i, '')));
}

/** An API that was shown a token must not become the client with it. */
function ownToken(token: ActiveAccessToken): ActiveAccessToken {
  if (typeof token.claims.aud === 'string') return token;
  throw new RequestError(
    'invalid_token',
    'This access token is for an API. Request one for Signet: with the issuer as resource, or without scopes of APIs.',
  );
}

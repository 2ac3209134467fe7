import { clientAlgorithms } from '../../clients/keys/public-key.ts';
import { invalidRequest, RequestError } from '../../platform/errors.ts';
import type { Deps } from '../deps.ts';
import { findProofKey } from '../dpop/proven-by.ts';
import { type ActiveAccessToken, verifyAccessToken } from './access-token.ts';

/** Of the answer to a request without a token: challenges without an error (RFC 6750 §3.1, RFC 9449 §7.1). */
export const tokenChallenge = `Bearer, DPoP algs="${clientAlgorithms.join(' ')}"`;

/** A request, as far as it carries a token. */
type Presented = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Of an endpoint whose form may carry it. */
  readonly formToken?: string | undefined;
};

/**
 * The access token with which a request comes, verified: from the header, or from a form, never both and never from the URL
 * (OAuth 2.1 §5.1). One that is bound to a key comes with a proof of it (RFC 9449 §7). Whether it has the form of a token is not
 * checked: what has another form was not issued here either.
 * @returns undefined without one. @throws {RequestError} as {@link verifyAccessToken}, also for a token that is for an API and not for us
 * (decision 51); `invalid_dpop_proof`, `use_dpop_nonce`; `invalid_request` for two.
 */
export async function findPresentedToken(
  deps: Pick<Deps, 'db' | 'apis' | 'attributes' | 'clock' | 'keys' | 'vault' | 'config'>,
  { method, url, headers, formToken }: Presented,
): Promise<ActiveAccessToken | undefined> {
  // Another scheme, such as Basic for a proxy, which browsers then send everywhere, is treated as no header.
  const authorization = headers.authorization?.toString() ?? '';
  const [before = '', scheme] = /^(bearer|dpop)(?: +|$)/i.exec(authorization) ?? [];
  const inHeader = authorization.slice(before.length);
  if (scheme === undefined) {
    return formToken === undefined ? undefined : unboundToken(ownToken(await verifyAccessToken(deps, formToken)));
  }
  if (formToken !== undefined) throw invalidRequest('The access token was sent twice. Use only one method.');
  const token = ownToken(await verifyAccessToken(deps, inHeader));
  if (scheme.toLowerCase() === 'bearer') return unboundToken(token);
  const jkt = await atResource(findProofKey(deps, { method, url, headers }, inHeader));
  if (jkt !== undefined && jkt === token.claims.cnf?.jkt) return token;
  throw refusedToken(
    token.claims.cnf
      ? 'The DPoP proof is missing, or by another key than that of the token.'
      : 'This access token is not bound to a key. Send it as Bearer.',
  );
}

/** To have one that is bound is not enough. */
function unboundToken(token: ActiveAccessToken): ActiveAccessToken {
  if (token.claims.cnf === undefined) return token;
  throw refusedToken('This access token is bound to a key. Send it with the scheme DPoP, and with a proof.');
}

/** RFC 9449 §7.1 and §9: where a token is used, what is wrong with a proof is 401. */
const atResource = (key: Promise<string | undefined>) =>
  key.catch((error: unknown) => {
    if (!(error instanceof RequestError) || error.status !== 400) throw error;
    throw new RequestError(error.code, error.message, { status: 401, headers: error.headers });
  });

/** An API that was shown a token must not become the client with it. */
export function ownToken(token: ActiveAccessToken): ActiveAccessToken {
  if (typeof token.claims.aud === 'string') return token;
  throw refusedToken(
    'This access token is for an API. Request one for Signet: with the issuer as resource, or without scopes of APIs.',
  );
}

const refusedToken = (description: string) => new RequestError('invalid_token', description);

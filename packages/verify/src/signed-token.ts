import { decodeProtectedHeader, errors, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { Algorithm } from './algorithms.ts';
import { isForAudience } from './audience.ts';
import type { Refuse } from './challenge.ts';
import type { AccessTokenClaims } from './claims.ts';
import { compactJws, maxJwsLength } from './compact-jws.ts';
import type { KeySource } from './key-set.ts';

/** Members by which a header would choose the key, encrypt, compress, nest, or ask for an extension (RFC 8725 §3). */
const refusedMembers = ['b64', 'crit', 'cty', 'enc', 'jku', 'jwk', 'x5c', 'x5u', 'zip'];

type Invalid = (description: string) => Error;

type SignedTokenDeps = {
  issuer: string;
  audience: readonly string[];
  algorithms: readonly Algorithm[];
  /** Seconds. */
  clockTolerance: number;
  keys: KeySource;
  unavailable: (cause: unknown) => Error;
  now: () => number;
};

/**
 * @returns a check of what an access token says by itself (RFC 9068 §4), which throws a `TokenError`. Whether it is bound to a key, and
 * whether that was proven, is not checked here.
 */
export function signedTokenChecker(
  deps: SignedTokenDeps,
): (token: string, refuse: Refuse) => Promise<AccessTokenClaims> {
  const { issuer, algorithms, clockTolerance, keys, unavailable, now } = deps;
  const audience = new Set(deps.audience);

  /** Before any key is looked up: most of what is not an access token ends here, and causes no request. */
  function readHeader(token: string, invalid: Invalid): { alg: Algorithm; kid: string } {
    let header: Record<string, unknown>;
    try {
      header = decodeProtectedHeader(token);
    } catch {
      throw invalid('The access token is not a signed JWT.');
    }
    // RFC 9068 §4. An id token has the same issuer, audience and key, and a logout token nearly so.
    const typ = typeof header.typ === 'string' ? header.typ.toLowerCase() : '';
    if (typ !== 'at+jwt' && typ !== 'application/at+jwt') throw invalid('The token is not an access token.');
    const alg = algorithms.find((name) => name === header.alg);
    if (!alg) throw invalid('The access token is signed with an algorithm that is not accepted.');
    if (refusedMembers.some((name) => Object.hasOwn(header, name))) {
      throw invalid('The header of the access token has members that are not accepted.');
    }
    if (typeof header.kid !== 'string' || header.kid === '') throw invalid('The access token does not name its key.');
    return { alg, kid: header.kid };
  }

  function checkClaims(payload: Record<string, unknown>, invalid: Invalid): AccessTokenClaims {
    if (!isForAudience(payload.aud, payload.client_id, audience)) {
      throw invalid('The access token is for another audience.');
    }
    for (const name of ['sub', 'client_id', 'jti', 'scope']) {
      if (typeof payload[name] !== 'string' || payload[name] === '') {
        throw invalid('The access token lacks a claim that it must have.');
      }
    }
    const { iat, exp } = payload as AccessTokenClaims;
    if (!Number.isFinite(exp) || iat > exp) throw invalid('The access token has a lifetime that makes no sense.');
    if (iat > now() / 1000 + clockTolerance) throw invalid('The access token is not valid yet.');
    return payload as AccessTokenClaims;
  }

  return async (token, refuse) => {
    const invalid: Invalid = (description) => refuse('invalid_token', description);
    if (typeof token !== 'string' || token.length > maxJwsLength || !compactJws.test(token)) {
      throw invalid('The access token is not a signed JWT.');
    }
    const { alg, kid } = readHeader(token, invalid);
    let key: Awaited<ReturnType<typeof keys.find>>;
    try {
      key = await keys.find(kid, alg);
    } catch (cause) {
      throw unavailable(cause);
    }
    if (!key) throw invalid('The access token is signed with a key that the issuer does not have.');
    const expected: JWTVerifyOptions = {
      algorithms: [alg],
      issuer,
      clockTolerance,
      currentDate: new Date(now()),
      requiredClaims: ['aud', 'exp', 'iat'],
    };
    let payload: Record<string, unknown>;
    try {
      ({ payload } = await jwtVerify(token, key, expected));
    } catch (error) {
      throw invalid(whyNot(error));
    }
    return checkClaims(payload, invalid);
  };
}

/** Whatever was not signed by the issuer learns nothing else: claims are compared after the signature. */
function whyNot(error: unknown): string {
  if (error instanceof errors.JWTExpired) return 'The access token has expired.';
  const claim = error instanceof errors.JWTClaimValidationFailed ? error.claim : undefined;
  switch (claim) {
    case 'aud':
      return 'The access token is for another audience.';
    case 'iss':
      return 'The access token is from another issuer.';
    case 'nbf':
      return 'The access token is not valid yet.';
    case undefined:
      return 'The signature of the access token is not valid.';
    default:
      return 'The access token lacks a claim that it must have.';
  }
}

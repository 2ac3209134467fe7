import type { AccessTokenClaims } from './claims.ts';
import { type Requirements, readRequirements } from './requirements.ts';
import type { Verifier, VerifyOptions } from './verifier.ts';

/** What is read off a request of a framework. */
type Presented = { authorization: Parameters<Verifier['authorization']>[0]; dpop: VerifyOptions['dpop'] };

/**
 * Verifies the token of a request once, however many middlewares ask. What was verified is remembered here and not read
 * from the request, where other code may put an `auth` of its own.
 */
export function requestGuard<Carrier extends object>(verify: Verifier, read: (carrier: Carrier) => Presented) {
  const verified = new WeakMap<Carrier, AccessTokenClaims>();
  return async (carrier: Carrier, required: Requirements): Promise<AccessTokenClaims> => {
    const known = verified.get(carrier);
    if (known) {
      verify.check(known, required);
      return known;
    }
    const { authorization, dpop } = read(carrier);
    const claims = await verify.authorization(authorization, { ...required, dpop });
    verified.set(carrier, claims);
    return claims;
  };
}

/** One kind of middleware for each requirement. @param requiring makes middleware that checks it. */
export function middlewares<Middleware>(requiring: (required: Requirements) => Middleware) {
  const checked = (required: Requirements) => {
    readRequirements(required); // a mistake is found when the route is made
    return requiring(required);
  };
  return {
    /** Answers a request without a valid token. */
    requireToken: requiring({}),
    /** Answers also 403 to a token that lacks one of these scopes. */
    requireScope: (...scope: string[]): Middleware => checked({ scope }),
    /** Answers also 401 when the user has not signed in in one of these ways, such as `urn:signet:acr:2fa` (RFC 9470). */
    requireAcr: (...acr: string[]): Middleware => checked({ acr }),
    /** Answers also 401 when the user signed in longer ago than that, in seconds (RFC 9470). */
    requireMaxAge: (maxAge: number): Middleware => checked({ maxAge }),
  };
}

import type { AccessTokenClaims } from './claims.ts';
import type { Scopes } from './scopes.ts';
import type { Verifier } from './verifier.ts';

type Header = Parameters<Verifier['authorization']>[0];

/**
 * Verifies the token of a request once, however many middlewares ask. What was verified is remembered here and not read
 * from the request, where other code may put an `auth` of its own.
 */
export function requestGuard<Carrier extends object>(verify: Verifier, headerOf: (carrier: Carrier) => Header) {
  const verified = new WeakMap<Carrier, AccessTokenClaims>();
  return async (carrier: Carrier, scope: Scopes): Promise<AccessTokenClaims> => {
    const known = verified.get(carrier);
    if (known) {
      verify.requireScope(known, scope);
      return known;
    }
    const claims = await verify.authorization(headerOf(carrier), { scope });
    verified.set(carrier, claims);
    return claims;
  };
}

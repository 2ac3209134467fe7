import type { Refuse } from './challenge.ts';
import { isQuotable } from './challenge.ts';
import type { AccessTokenClaims } from './claims.ts';
import { type Scopes, scopesOf } from './scopes.ts';

/** What a route needs of a token that is valid. */
export type Requirements = {
  /** Scopes that the token needs, in addition to the verifier's. */
  scope?: Scopes | undefined;
  /** How the user must have signed in: one of these, such as `urn:signet:acr:2fa` (RFC 9470 §3). */
  acr?: string | readonly string[] | undefined;
  /** Seconds since the user signed in, at most. */
  maxAge?: number | undefined;
};

type RequirementDeps = {
  refuse: Refuse;
  /** Scopes that every token needs. */
  scopeOfAll: readonly string[];
  /** Scopes that the API has, as far as it names them. */
  ownScopes: readonly string[];
  now: () => number;
  /** Seconds. */
  clockTolerance: number;
};

export type CheckedRequirements = { scope: readonly string[]; acr: readonly string[]; maxAge: number | undefined };

/** @throws {TypeError} for what no token could fulfil, or what would break the header that names it. */
export function readRequirements({ scope, acr = [], maxAge }: Requirements): CheckedRequirements {
  const accepted = [acr].flat();
  if (!accepted.every((value) => isQuotable(value) && !value.includes(' '))) {
    throw new TypeError('An acr has a character that is not allowed.');
  }
  if (maxAge !== undefined && !(maxAge >= 0 && maxAge < Number.POSITIVE_INFINITY)) {
    throw new TypeError('maxAge must be a number of seconds.');
  }
  return { scope: scopesOf(scope), acr: accepted, maxAge };
}

/** @returns a check that throws a `TokenError`: 403 for a scope that is missing, 401 if the user has to sign in again. */
export function requirementChecker({ refuse, scopeOfAll, ownScopes, now, clockTolerance }: RequirementDeps) {
  return (claims: AccessTokenClaims, { scope, acr, maxAge }: CheckedRequirements): void => {
    const scheme = claims.cnf === undefined ? 'Bearer' : 'DPoP';
    const needed = [...scopeOfAll, ...scope];
    const granted = new Set(claims.scope.split(' '));
    if (!needed.every((name) => granted.has(name))) {
      // A client asks anew for what stands here, and should not lose what it has of this API (RFC 6750 §3.1).
      const kept = ownScopes.filter((name) => granted.has(name));
      throw refuse('insufficient_scope', 'The access token lacks a scope that is needed here.', {
        scheme,
        scope: [...new Set([...kept, ...needed])],
      });
    }
    const authenticated = (description: string) =>
      refuse('insufficient_user_authentication', description, { scheme, acr, maxAge, scope: needed });
    if (acr.length > 0 && !acr.some((value) => value === claims.acr)) {
      throw authenticated('The user has to sign in in another way.');
    }
    const { auth_time } = claims;
    if (maxAge === undefined) return;
    if (typeof auth_time !== 'number' || now() / 1000 - auth_time > maxAge + clockTolerance) {
      throw authenticated('The user has to sign in again.');
    }
  };
}

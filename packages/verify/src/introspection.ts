import { isForAudience } from './audience.ts';
import type { AccessTokenClaims } from './claims.ts';
import { type FetchJson, isObject } from './fetch-json.ts';
import type { Metadata } from './issuer.ts';
import type { Kept } from './kept.ts';

export type IntrospectionOptions = {
  /** Of a service credential with the permission `tokens:introspect`, or of the client itself for its own tokens. */
  clientId: string;
  clientSecret: string;
  /** For how long an answer is used again: a revocation takes effect after this time. Default 5, at most 60; 0 asks each time. */
  cacheSeconds?: number;
  /** How many answers are kept; the oldest is dropped first. Default 10 000. */
  cacheSize?: number;
  /**
   * What happens to a token that is valid by itself when the issuer cannot be asked: `refuse` (default) answers 503,
   * `accept` accepts it, revoked or not.
   */
  whenUnavailable?: 'refuse' | 'accept';
};

/** `scope` is what the client may have now. */
export type Standing = { active: true; scope: string } | { active: false };

/** @param claims of a token whose signature was verified. @throws if the issuer gave no usable answer. */
export type Introspect = (token: string, claims: AccessTokenClaims) => Promise<Standing>;

type IntrospectionDeps = {
  metadata: Kept<Metadata>;
  fetchJson: FetchJson;
  now: () => number;
  /** What the verifier accepts. */
  audience: ReadonlySet<unknown>;
};

export function introspection(
  { clientId, clientSecret, cacheSeconds = 5, cacheSize = 10_000 }: IntrospectionOptions,
  { metadata, fetchJson, now, audience }: IntrospectionDeps,
): Introspect {
  if (!clientId || !clientSecret) throw new TypeError('introspection needs clientId and clientSecret.');
  if (!(cacheSeconds >= 0 && cacheSeconds <= 60)) throw new TypeError('introspection.cacheSeconds must be 0 to 60.');
  if (!(Number.isInteger(cacheSize) && cacheSize >= 0 && cacheSize <= 1_000_000)) {
    throw new TypeError('introspection.cacheSize must be a whole number up to 1000000.');
  }
  // RFC 6749 §2.3.1: form-encoded, then Basic.
  const authorization = `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`;
  // By `jti`, which only the issuer can have written: junk takes no place here, and no token lies in memory.
  const answers = new Map<string, { standing: Standing; at: number; expiresAt: number }>();
  const asking = new Map<string, Promise<Standing>>();

  async function ask(token: string, claims: AccessTokenClaims): Promise<Standing> {
    const { introspection_endpoint } = await metadata.get();
    if (!introspection_endpoint)
      throw new Error('The metadata has no introspection_endpoint on the origin of the issuer.');
    const { json } = await fetchJson(introspection_endpoint, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    });
    const standing = readStanding(json, claims, audience);
    const at = now();
    answers.delete(claims.jti);
    if (cacheSeconds > 0 && cacheSize > 0) {
      if (answers.size >= cacheSize) answers.delete(answers.keys().next().value as string);
      answers.set(claims.jti, { standing, at, expiresAt: Math.min(at + cacheSeconds * 1000, claims.exp * 1000) });
    }
    return standing;
  }

  return async (token, claims) => {
    const known = answers.get(claims.jti);
    const at = now();
    if (known && at >= known.at && at < known.expiresAt) return known.standing; // not if the clock was set back
    const shared = asking.get(claims.jti);
    if (shared) return shared;
    const asked = ask(token, claims).finally(() => asking.delete(claims.jti));
    asking.set(claims.jti, asked);
    return asked;
  };
}

/** An API that was retired since is no longer in `aud` of the answer. */
function readStanding(json: unknown, claims: AccessTokenClaims, audience: ReadonlySet<unknown>): Standing {
  if (!isObject(json) || typeof json.active !== 'boolean') throw new Error('The introspection answer is not one.');
  if (!json.active) return { active: false };
  const isAboutIt = (['iss', 'sub', 'client_id', 'jti'] as const).every(
    (name) => json[name] === undefined || json[name] === claims[name],
  );
  if (!isAboutIt) throw new Error('The introspection answer is about another token.');
  if (json.aud !== undefined && !isForAudience(json.aud, claims.client_id, audience)) return { active: false };
  if (typeof json.scope !== 'string') return { active: true, scope: claims.scope };
  const now = new Set(json.scope.split(' '));
  return {
    active: true,
    scope: claims.scope
      .split(' ')
      .filter((name) => now.has(name))
      .join(' '),
  };
}

import { importJWK, type JWK } from 'jose';
import type { Algorithm } from './algorithms.ts';
import { type FetchJson, isObject } from './fetch-json.ts';
import type { Metadata } from './issuer.ts';
import { type Kept, keep } from './kept.ts';

type VerificationKey = Awaited<ReturnType<typeof importJWK>>;
type Key = { kid: string; algorithms: readonly Algorithm[]; imported: () => Promise<VerificationKey> };
type KeySet = readonly Key[];

export type KeySource = {
  /** @returns undefined if the issuer has no such key. @throws if it could not be asked. */
  find(kid: string, algorithm: Algorithm): Promise<VerificationKey | undefined>;
};

type KeyDeps = {
  metadata: Kept<Metadata>;
  fetchJson: FetchJson;
  now: () => number;
  cooldownSeconds: number;
  maxStaleSeconds: number;
};

/**
 * Signet publishes a key 15 minutes before it signs with it. A verifier that reads the set more often than that knows each key
 * in time, even while an attacker uses up the renewals with unknown kids.
 */
const freshSeconds = { min: 30, default: 300, max: 600 };
const maxKeys = 100;

export function keySource({ metadata, fetchJson, now, cooldownSeconds, maxStaleSeconds }: KeyDeps): KeySource {
  const kept = keep<KeySet>({
    now,
    cooldownSeconds,
    maxStaleSeconds,
    load: async () => {
      const { jwks_uri } = await metadata.get();
      const { json, headers } = await fetchJson(jwks_uri);
      return { value: readKeySet(json), seconds: freshFor(headers) };
    },
  });
  return {
    async find(kid, algorithm) {
      const isIt = (key: Key) => key.kid === kid;
      const known = await kept.get();
      const key = known.find(isIt) ?? (await kept.renew(known)).find(isIt);
      return key?.algorithms.includes(algorithm) ? key.imported() : undefined;
    },
  };
}

/** RFC 9111 §4.2: `max-age` less the time that it has spent in caches. */
function freshFor(headers: Headers): number {
  const control = headers.get('cache-control') ?? '';
  if (/\bno-(?:store|cache)\b/i.test(control)) return freshSeconds.min;
  const [, maxAge] = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(control) ?? [];
  if (maxAge === undefined) return freshSeconds.default;
  const seconds = Number(maxAge) - (Number(headers.get('age')) || 0);
  return Math.min(Math.max(seconds, freshSeconds.min), freshSeconds.max);
}

function readKeySet(json: unknown): KeySet {
  const keys = isObject(json) ? json.keys : undefined;
  if (!Array.isArray(keys) || keys.length > maxKeys) throw new Error('The key set is not one.');
  return keys.flatMap((jwk: unknown) => readKey(jwk) ?? []);
}

/** @returns undefined for a key that signs nothing of ours; such keys are ignored (RFC 7517 §5). */
function readKey(jwk: unknown): Key | undefined {
  if (!isObject(jwk) || typeof jwk.kid !== 'string') return undefined;
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined;
  if (Array.isArray(jwk.key_ops) && !jwk.key_ops.includes('verify')) return undefined;
  const shape = publicShape(jwk);
  if (!shape || (jwk.alg !== undefined && !shape.algorithms.some((name) => name === jwk.alg))) return undefined;
  let importing: Promise<VerificationKey> | undefined;
  const imported = () => {
    importing ??= importJWK(shape.jwk, shape.algorithms[0]);
    return importing;
  };
  return { kid: jwk.kid, algorithms: shape.algorithms, imported };
}

/**
 * The algorithm follows from the key, never from the token alone (RFC 8725 §3.1). Only the public members are taken, so
 * that a key is a public one whatever else the set contains.
 */
function publicShape({
  kty,
  crv,
  x,
  n,
  e,
}: Record<string, unknown>): { jwk: JWK; algorithms: readonly [Algorithm, ...Algorithm[]] } | undefined {
  if (kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string') {
    return { jwk: { kty, crv, x }, algorithms: ['EdDSA', 'Ed25519'] };
  }
  if (kty === 'RSA' && typeof n === 'string' && typeof e === 'string') {
    return { jwk: { kty, n, e }, algorithms: ['RS256'] };
  }
  return undefined;
}

import { inCode } from '../../platform/http/operation.ts';
import type { MessageDescriptor } from '../../platform/i18n/translate.ts';
import { Type } from '../../platform/schema.ts';
import {
  clientAlgorithms,
  fitsAlgorithm,
  isObject,
  isPrivate,
  publicPartOf,
  readPublicKey,
  thumbprintOf,
} from './public-key.ts';

/** Of a key, nothing but what it is known and verified by (RFC 7517 §4). */
export type PublicJwk = {
  readonly kty: string;
  readonly kid?: string;
  readonly use?: 'sig';
  readonly alg?: string;
  readonly [member: string]: string | undefined;
};
/** RFC 7517 §5 */
export type KeySet = { readonly keys: readonly PublicJwk[] };

export const maxKeys = 10;
/** Characters of JSON. */
const longest = 16_384;

/** Its members are in the API description alone: `readKeySet` says more about them. */
export const keySetSchema = (description: string) =>
  Type.Unsafe<KeySet>(
    Type.Object(
      {},
      {
        description,
        additionalProperties: true,
        ...inCode({
          required: ['keys'],
          properties: { keys: { type: 'array', minItems: 1, maxItems: maxKeys, items: { type: 'object' } } },
        }),
      },
    ),
  );

/**
 * The keys that a client registers. All of them have to be of use: one that is not would go unnoticed.
 * @param sent of any shape; a text is what was to be JSON and is not.
 * @returns the set in one order of members and without any that are not known; or why it is refused, without a word of it.
 */
export function readKeySet(sent: unknown): { keySet: KeySet } | { problem: MessageDescriptor } {
  if (typeof sent === 'string') return { problem: { key: 'problem.jwks.json' } };
  const keys = isObject(sent) ? sent.keys : undefined;
  if (!Array.isArray(keys) || keys.length === 0) return { problem: { key: 'problem.jwks.shape' } };
  // Before all else: who has sent one has to hear it, whatever else is wrong.
  if (keys.some(isPrivate)) return { problem: { key: 'problem.jwks.private' } };
  if (keys.length > maxKeys) return { problem: { key: 'problem.jwks.many', values: { max: maxKeys } } };
  if (JSON.stringify(sent).length > longest) return { problem: { key: 'problem.jwks.long', values: { max: longest } } };
  for (const [place, jwk] of keys.entries()) {
    const problem = problemOf(jwk);
    if (problem !== undefined) return { problem: { key: problem, values: { number: place + 1 } } };
  }
  const kids = keys.flatMap(({ kid }) => kid ?? []);
  if (keys.length > 1 && new Set(kids).size < keys.length) return { problem: { key: 'problem.jwks.kid_unique' } };
  return { keySet: { keys: keys.map(knownPartOf) } };
}

function problemOf(jwk: unknown) {
  const key = readPublicKey(jwk);
  if (!key || !isObject(jwk)) return 'problem.jwks.key';
  if (jwk.kid !== undefined && !(typeof jwk.kid === 'string' && /^[\x20-\x7e]{1,256}$/.test(jwk.kid)))
    return 'problem.jwks.kid';
  if (jwk.use !== undefined && jwk.use !== 'sig') return 'problem.jwks.use';
  const fits = clientAlgorithms.some((name) => name === jwk.alg && fitsAlgorithm(key, name));
  return jwk.alg === undefined || fits ? undefined : 'problem.jwks.alg';
}

function knownPartOf(jwk: Readonly<Record<string, unknown>>): PublicJwk {
  const { kid, use, alg } = jwk;
  return {
    ...(kid !== undefined && { kid }),
    ...publicPartOf(jwk),
    ...(use !== undefined && { use }),
    ...(alg !== undefined && { alg }),
  } as PublicJwk;
}

/** A key as people compare it: a text of a few words. @param jwk one of a {@link KeySet}. */
export function describeKey(jwk: PublicJwk): string {
  const { kid, kty, crv, alg } = jwk;
  const kind = [kty, crv, alg].filter((part) => part !== undefined).join(' ');
  return `${kid === undefined ? '' : `kid ${kid}, `}${kind}, SHA-256 ${thumbprintOf(jwk)}`;
}

export const describeKeys = (keySet: KeySet | null): string[] => keySet?.keys.map(describeKey) ?? [];

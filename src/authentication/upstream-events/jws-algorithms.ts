import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';

type Algorithm = {
  readonly kty: string;
  readonly digest: string | null;
  /** Of the key, for ECDSA. */
  readonly curve?: string;
  readonly options?: object;
};

const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
const ecdsa = { dsaEncoding: 'ieee-p1363' };
const eddsa: Algorithm = { kty: 'OKP', digest: null };

/** What providers sign with (RFC 7518 §3.1, RFC 8037, RFC 9864): asymmetric alone, as for their ID tokens. */
const algorithms: ReadonlyMap<unknown, Algorithm> = new Map<unknown, Algorithm>([
  ['RS256', { kty: 'RSA', digest: 'sha256' }],
  ['RS384', { kty: 'RSA', digest: 'sha384' }],
  ['RS512', { kty: 'RSA', digest: 'sha512' }],
  ['PS256', { kty: 'RSA', digest: 'sha256', options: pss }],
  ['PS384', { kty: 'RSA', digest: 'sha384', options: pss }],
  ['PS512', { kty: 'RSA', digest: 'sha512', options: pss }],
  ['ES256', { kty: 'EC', digest: 'sha256', curve: 'P-256', options: ecdsa }],
  ['ES384', { kty: 'EC', digest: 'sha384', curve: 'P-384', options: ecdsa }],
  ['ES512', { kty: 'EC', digest: 'sha512', curve: 'P-521', options: ecdsa }],
  ['EdDSA', eddsa],
  ['Ed25519', eddsa],
]);

export const isSigningAlgorithm = (name: unknown): boolean => algorithms.has(name);

/** Bits. A longer key would make each token of anyone's expensive to refuse. */
const rsaBits = { min: 2048, max: 8192 };

/** A key that a provider publishes. */
export type PublishedKey = {
  readonly kid: string | undefined;
  readonly key: KeyObject;
  /** Whether it is for signatures by this algorithm. */
  isFor(algorithm: unknown): boolean;
};

/** @returns undefined for what is no key for signatures, or is none that we know: others may stand beside those (RFC 7517 §5). */
export function readPublishedKey(jwk: unknown): PublishedKey | undefined {
  const { kty, kid, use, alg, crv, n, e, x, y } = (jwk ?? {}) as Record<string, unknown>;
  if (use !== undefined && use !== 'sig') return undefined;
  const key = publicKeyOf({ kty, crv, n, e, x, y });
  if (key === undefined) return undefined;
  return {
    kid: typeof kid === 'string' ? kid : undefined,
    key,
    isFor(name) {
      const algorithm = algorithms.get(name);
      if (algorithm === undefined || (alg !== undefined && alg !== name)) return false;
      return algorithm.kty === kty && (algorithm.curve === undefined || algorithm.curve === crv);
    },
  };
}

function publicKeyOf(members: Readonly<Record<string, unknown>>): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: members as Record<string, string>, format: 'jwk' });
    const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
    if (key.asymmetricKeyType === 'rsa')
      return modulusLength >= rsaBits.min && modulusLength <= rsaBits.max ? key : undefined;
    return key.asymmetricKeyType === 'ec' || key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** @param algorithm one that the key is for. */
export function isSignedBy(
  { input, signature }: { input: Buffer; signature: Buffer },
  key: KeyObject,
  algorithm: unknown,
): Promise<boolean> {
  const known = algorithms.get(algorithm);
  if (known === undefined) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  verify(known.digest, input, { key, ...known.options }, signature, (error, isGenuine) => resolve(!error && isGenuine));
  return promise;
}

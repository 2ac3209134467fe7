import { constants, type KeyObject, verify } from 'node:crypto';
import {
  type ClientAlgorithm,
  clientAlgorithms,
  fitsAlgorithm,
  readPublicKey,
  thumbprintOf,
} from '../../clients/keys/public-key.ts';
import { type CompactJws, readCompactJws } from '../../platform/compact-jws.ts';

// What clients sign: assertions (RFC 7523), request objects (RFC 9101), proofs of possession (RFC 9449).

export { type ClientAlgorithm, clientAlgorithms, readPublicKey, thumbprintOf };

/** Parsed, not verified. */
export type Jws = CompactJws & { readonly algorithm: ClientAlgorithm };

const maxLength = 8192;

/** @returns undefined for what is no compact JWS with claims, by an algorithm that a client may use. */
export function parseJws(text: string): Jws | undefined {
  const jws = readCompactJws(text, maxLength);
  const algorithm = clientAlgorithms.find((name) => name === jws?.header.alg);
  return jws && algorithm && { ...jws, algorithm };
}

/** Whether the key made the signature, by an algorithm that is of its kind. */
export function isSignedBy({ algorithm, input, signature }: Jws, key: KeyObject): Promise<boolean> {
  if (!fitsAlgorithm(key, algorithm)) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const digest = algorithm === 'EdDSA' || algorithm === 'Ed25519' ? null : 'sha256';
  verify(digest, input, { key, ...parameters[key.asymmetricKeyType as 'ec' | 'rsa'] }, signature, (error, isGenuine) =>
    resolve(!error && isGenuine),
  );
  return promise;
}

/** RFC 7518 §3.4 and §3.5. */
const parameters = {
  ec: { dsaEncoding: 'ieee-p1363' },
  rsa: { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
} as const;

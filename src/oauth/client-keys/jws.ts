import { constants, type KeyObject, verify } from 'node:crypto';
import {
  type ClientAlgorithm,
  clientAlgorithms,
  fitsAlgorithm,
  isObject,
  readPublicKey,
  thumbprintOf,
} from '../../clients/keys/public-key.ts';

// What clients sign: assertions (RFC 7523), request objects (RFC 9101), proofs of possession (RFC 9449).

export { type ClientAlgorithm, clientAlgorithms, readPublicKey, thumbprintOf };

type Members = Readonly<Record<string, unknown>>;

/** Parsed, not verified. */
export type Jws = {
  readonly algorithm: ClientAlgorithm;
  readonly header: Members;
  readonly claims: Members;
  readonly input: Buffer;
  readonly signature: Buffer;
};

const maxLength = 8192;

/** @returns undefined for what is no compact JWS (RFC 7515 §7.1) with claims, by an algorithm that a client may use. */
export function parseJws(text: string): Jws | undefined {
  const parts = text.length <= maxLength ? text.split('.') : [];
  const [encodedHeader = '', encodedClaims = '', encodedSignature = ''] = parts;
  const header = decodeJson(encodedHeader);
  const claims = decodeJson(encodedClaims);
  const signature = decodeBase64url(encodedSignature);
  const algorithm = clientAlgorithms.find((name) => name === header?.alg);
  if (parts.length !== 3 || !header || !claims || !signature || !algorithm) return undefined;
  // What must be understood (RFC 7515 §4.1.11) is not.
  if ('crit' in header || 'b64' in header) return undefined;
  return { algorithm, header, claims, input: Buffer.from(`${encodedHeader}.${encodedClaims}`), signature };
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

/** Several strings decode to the same bytes; only the canonical one is taken. */
function decodeBase64url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url');
  return bytes.toString('base64url') === text ? bytes : undefined;
}

function decodeJson(text: string): Members | undefined {
  try {
    const decoded: unknown = JSON.parse(decodeBase64url(text)?.toString('utf8') ?? '');
    return isObject(decoded) ? decoded : undefined;
  } catch {
    return undefined;
  }
}

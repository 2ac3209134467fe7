import { constants, createPublicKey, hash, type KeyObject, verify } from 'node:crypto';

// What clients sign: assertions (RFC 7523), request objects (RFC 9101), proofs of possession (RFC 9449).

/** What a client may sign with (FAPI 2.0 Security Profile §5.4.1). EdDSA is Ed25519, also by its new name (RFC 9864). */
export const clientAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;
export type ClientAlgorithm = (typeof clientAlgorithms)[number];

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
  if (!fits(key, algorithm)) return Promise.resolve(false);
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

/** Its own members of each kind of public key, in the order of a thumbprint (RFC 7638 §3.2, RFC 8037 §2). */
const publicMembers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['crv', 'kty', 'x', 'y']],
  ['OKP', ['crv', 'kty', 'x']],
  ['RSA', ['e', 'kty', 'n']],
]);
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** @returns undefined for what is no public key that a client may sign with, also for one that shows its private half. */
export function readPublicKey(jwk: unknown): KeyObject | undefined {
  if (!isObject(jwk) || privateMembers.some((name) => name in jwk)) return undefined;
  const known = publicPartOf(jwk);
  if (!known) return undefined;
  try {
    const key = createPublicKey({ key: known, format: 'jwk' });
    return clientAlgorithms.some((algorithm) => fits(key, algorithm)) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 7638, by SHA-256. @param jwk one that {@link readPublicKey} has taken. */
export const thumbprintOf = (jwk: unknown): string => hash('sha256', JSON.stringify(publicPartOf(jwk)), 'base64url');

function publicPartOf(jwk: unknown): Record<string, string> | undefined {
  if (!isObject(jwk)) return undefined;
  const names = publicMembers.get(jwk.kty);
  const members = names?.map((name) => [name, jwk[name]] as const);
  if (!members?.every(([, value]) => typeof value === 'string')) return undefined;
  return Object.fromEntries(members) as Record<string, string>;
}

const minRsaBits = 2048;
const maxRsaBits = 4096;

function fits(key: KeyObject, algorithm: ClientAlgorithm): boolean {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (algorithm === 'ES256') return namedCurve === 'prime256v1';
  if (algorithm === 'PS256')
    return key.asymmetricKeyType === 'rsa' && modulusLength >= minRsaBits && modulusLength <= maxRsaBits;
  return key.asymmetricKeyType === 'ed25519';
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

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

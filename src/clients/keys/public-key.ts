import { createPublicKey, hash, type KeyObject } from 'node:crypto';

/** What a client may sign with (FAPI 2.0 Security Profile §5.4.1). EdDSA is Ed25519, also by its new name (RFC 9864). */
export const clientAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const;
export type ClientAlgorithm = (typeof clientAlgorithms)[number];

type Members = Readonly<Record<string, unknown>>;

/** Its own members of each kind of public key, in the order of a thumbprint (RFC 7638 §3.2, RFC 8037 §2). */
const publicMembers: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['EC', ['crv', 'kty', 'x', 'y']],
  ['OKP', ['crv', 'kty', 'x']],
  ['RSA', ['e', 'kty', 'n']],
]);
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** Whether a JWK shows its private half, or is a secret as a whole (RFC 7518 §6). */
export const isPrivate = (jwk: unknown): boolean => isObject(jwk) && privateMembers.some((name) => name in jwk);

/** @returns undefined for what is no public key that a client may sign with, also for one that shows its private half. */
export function readPublicKey(jwk: unknown): KeyObject | undefined {
  const known = isPrivate(jwk) ? undefined : publicPartOf(jwk);
  if (!known) return undefined;
  try {
    const key = createPublicKey({ key: known, format: 'jwk' });
    return clientAlgorithms.some((algorithm) => fitsAlgorithm(key, algorithm)) ? key : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 7638, by SHA-256. @param jwk one that {@link readPublicKey} has taken. */
export const thumbprintOf = (jwk: unknown): string => hash('sha256', JSON.stringify(publicPartOf(jwk)), 'base64url');

/** The members that make up a public key, without any other; undefined for what is none. */
export function publicPartOf(jwk: unknown): Record<string, string> | undefined {
  if (!isObject(jwk)) return undefined;
  const names = publicMembers.get(jwk.kty);
  const members = names?.map((name) => [name, jwk[name]] as const);
  if (!members?.every(([, value]) => typeof value === 'string')) return undefined;
  return Object.fromEntries(members) as Record<string, string>;
}

const minRsaBits = 2048;
const maxRsaBits = 4096;

/** Whether signatures by the algorithm are made with keys of this kind, and of this length. */
export function fitsAlgorithm(key: KeyObject, algorithm: ClientAlgorithm): boolean {
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {};
  if (algorithm === 'ES256') return namedCurve === 'prime256v1';
  if (algorithm === 'PS256')
    return key.asymmetricKeyType === 'rsa' && modulusLength >= minRsaBits && modulusLength <= maxRsaBits;
  return key.asymmetricKeyType === 'ed25519';
}

export const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

import { createHash, randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { Signet } from './signet.ts';

/** A key of an app, and its public half. */
export type ProofKey = { alg: string; privateKey: CryptoKey; jwk: JWK };

export async function newProofKey(alg = 'ES256'): Promise<ProofKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, privateKey, jwk: await exportJWK(publicKey) };
}

export type ProofChanges = { claims?: JWTPayload; header?: Record<string, unknown>; at?: number };

/** A proof for one request, made just now (RFC 9449 §4.2). @param token that the request carries. */
export function proofOf(
  { clock, url }: Pick<Signet, 'clock' | 'url'>,
  { alg, privateKey, jwk }: ProofKey,
  [method, path]: readonly [method: string, path: string],
  { token, claims = {}, header = {} }: ProofChanges & { token?: string } = {},
): Promise<string> {
  const payload = {
    jti: randomUUID(),
    htm: method,
    htu: url + path,
    iat: Math.floor(clock() / 1000),
    ...(token !== undefined && { ath: createHash('sha256').update(token).digest('base64url') }),
    ...claims,
  };
  return new SignJWT(payload).setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header }).sign(privateKey);
}

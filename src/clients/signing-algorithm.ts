import { createPrivateKey, createPublicKey, generateKeyPair, hash, type KeyObject, type webcrypto } from 'node:crypto';
import { promisify } from 'node:util';

/** What signs: EdDSA is Ed25519 (RFC 8037), RS256 is for relying parties whose library lacks it. */
export const algorithms = ['EdDSA', 'RS256'] as const;
export type Algorithm = (typeof algorithms)[number];

/** `next` is published and does not sign yet; `active` signs; `retiring` is published while its tokens live. */
export type KeyStatus = 'next' | 'active' | 'retiring';

type GeneratedKey = { kid: string; algorithm: Algorithm; publicJwk: webcrypto.JsonWebKey; privatePem: string };

const generate = promisify(generateKeyPair);

export async function generateSigningKey(algorithm: Algorithm): Promise<GeneratedKey> {
  const { privateKey, publicKey } =
    algorithm === 'EdDSA' ? await generate('ed25519') : await generate('rsa', { modulusLength: 2048 });
  const publicJwk = publicKey.export({ format: 'jwk' });
  const privatePem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
  return { kid: thumbprint(publicJwk), algorithm, publicJwk, privatePem };
}

/** JWK thumbprint: SHA-256 over the required members in lexicographic order, base64url (RFC 7638 §3, RFC 8037 §2). */
function thumbprint(jwk: webcrypto.JsonWebKey): string {
  const required = jwk.kty === 'OKP' ? { crv: jwk.crv, kty: jwk.kty, x: jwk.x } : { e: jwk.e, kty: jwk.kty, n: jwk.n };
  return hash('sha256', JSON.stringify(required), 'base64url');
}

export const privateKeyFrom = (pem: string): KeyObject => createPrivateKey(pem);
export const publicKeyFrom = (jwk: webcrypto.JsonWebKey): KeyObject => createPublicKey({ key: jwk, format: 'jwk' });

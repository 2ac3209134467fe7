import { type KeyObject, sign, verify } from 'node:crypto';
import type { SigningAlgorithm } from '../../clients/choices.ts';
import { findSodium } from '../../platform/sodium.ts';

/** What we verify, by the names of JOSE: what we sign with, and EdDSA by the new name that some libraries write (RFC 9864). */
export type VerificationAlgorithm = SigningAlgorithm | 'Ed25519';

export type Sign = (input: Buffer) => Promise<Buffer>;
export type Verify = (input: Buffer, signature: Buffer) => Promise<boolean>;

/** Ed25519 (RFC 8032 §5.1) by libsodium on the event loop, or by OpenSSL in the thread pool, as RS256 (RFC 7518 §3.3) always is. */
export function signerOf(algorithm: SigningAlgorithm, key: KeyObject, find = findSodium): Sign {
  const byOpenSsl: Sign = (input) => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    sign(digestOf(algorithm), input, key, (error, bytes) => (error ? reject(error) : resolve(bytes)));
    return promise;
  };
  if (algorithm !== 'EdDSA') return byOpenSsl;
  let secretKey: Buffer | undefined;
  return async (input) => {
    const sodium = await find();
    if (!sodium) return byOpenSsl(input);
    secretKey ??= edwardsSecretKey(key);
    const signature = Buffer.allocUnsafe(signatureBytes);
    sodium.crypto_sign_detached(signature, input, secretKey);
    return signature;
  };
}

/** The counterpart of {@link signerOf}. */
export function verifierOf(algorithm: VerificationAlgorithm, key: KeyObject, find = findSodium): Verify {
  const byOpenSsl: Verify = (input, signature) => {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    verify(digestOf(algorithm), input, key, signature, (error, isGenuine) =>
      error ? reject(error) : resolve(isGenuine),
    );
    return promise;
  };
  if (algorithm === 'RS256') return byOpenSsl;
  let publicKey: Buffer | undefined;
  return async (input, signature) => {
    const sodium = await find();
    if (!sodium) return byOpenSsl(input, signature);
    if (signature.length !== signatureBytes) return false; // it would throw
    publicKey ??= Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url');
    return sodium.crypto_sign_verify_detached(signature, input, publicKey);
  };
}

const signatureBytes = 64;

/** libsodium's form of a private key: the seed and the public key (RFC 8032 §5.1.5). */
export function edwardsSecretKey(key: KeyObject): Buffer {
  const { d = '', x = '' } = key.export({ format: 'jwk' });
  const secretKey = Buffer.alloc(64); // not of the pool, whose other contents would go to a thread with it
  secretKey.write(d, 'base64url');
  secretKey.write(x, 32, 'base64url');
  return secretKey;
}

const digestOf = (algorithm: VerificationAlgorithm) => (algorithm === 'RS256' ? 'sha256' : null);

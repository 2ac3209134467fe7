import { type Argon2Algorithm, argon2 as computeArgon2 } from 'node:crypto';
import type { Sodium } from 'sodium-native';
import { unavailable } from '../../../platform/errors.ts';
import { findSodium } from '../../../platform/sodium.ts';

export type Argon2Parameters = {
  message: Buffer;
  /** The salt. */
  nonce: Buffer;
  /** KiB. */
  memory: number;
  passes: number;
  parallelism: number;
  /** Bytes. */
  tagLength: number;
};

/**
 * Argon2id (RFC 9106), version 1.3, in the thread pool. libsodium's uses the vector instructions of the processor; OpenSSL, whose
 * implementation is portable, computes what libsodium refuses: other lengths of the salt, or several lanes.
 * @throws {RequestError} `temporarily_unavailable` without memory for it: in the thread pool nothing else fails.
 */
export async function argon2id(parameters: Argon2Parameters, find = findSodium): Promise<Buffer> {
  const sodium = await find();
  if (!sodium || !isComputedBy(sodium, parameters)) return argon2('argon2id', parameters);
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const { message, nonce, memory, passes, tagLength } = parameters;
  const tag = Buffer.alloc(tagLength);
  const algorithm = sodium.crypto_pwhash_ALG_ARGON2ID13;
  sodium.crypto_pwhash_async(tag, message, nonce, passes, memory * 1024, algorithm, (error) =>
    error ? reject(unavailable(error)) : resolve(tag),
  );
  return promise;
}

/** Any variant, by OpenSSL. @throws as {@link argon2id} does. */
export function argon2(variant: Argon2Algorithm, parameters: Argon2Parameters): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  computeArgon2(variant, parameters, (error, tag) => (error ? reject(unavailable(error)) : resolve(tag)));
  return promise;
}

const isComputedBy = (sodium: Sodium, { nonce, memory, parallelism, tagLength }: Argon2Parameters): boolean =>
  parallelism === 1 &&
  nonce.length === sodium.crypto_pwhash_SALTBYTES &&
  tagLength >= sodium.crypto_pwhash_BYTES_MIN &&
  memory * 1024 >= sodium.crypto_pwhash_MEMLIMIT_MIN;

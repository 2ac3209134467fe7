import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { invalidRequest } from '../../platform/errors.ts';
import type { Limits } from '../../platform/limits/limit-settings.ts';
import { type Argon2Parameters, argon2id } from './argon2id.ts';
import { type Asker, type HashQueueSettings, hashQueue } from './hash-queue.ts';

/**
 * What one hash costs. The OWASP Password Storage Cheat Sheet asks for at least 19 MiB, 2 passes and 1 lane; raise
 * these as machines get faster (SP 800-63B-4 §3.1.1.2). Each sign-in then updates a stored hash: {@link needsRehash}.
 */
const cost = { memory: 19_456 /* KiB */, passes: 2, parallelism: 1 };
/** Bytes. RFC 9106 §3.1 recommends 16 for the salt; §4 recommends a tag of 256 bits. */
const saltLength = 16;
const tagLength = 32;

/** Bytes of UTF-8 after normalisation: far above the 64 characters of SP 800-63B-4 §3.1.1.2, and a bound on the work. */
export const longestPasswordBytes = 1024;
/** Code units before normalisation, which takes quadratic time and makes one byte of one and a half units at most. */
const longestPasswordUnits = 2 * longestPasswordBytes;

/** To check before any other use of a password. */
export const isOverlong = (password: string): boolean =>
  password.length > longestPasswordUnits || Buffer.byteLength(normalizePassword(password)) > longestPasswordBytes;

export type PasswordHasher = ReturnType<typeof passwordHasher>;

/**
 * Hashes at once. Each holds 19 MiB, and one of libuv's threads for some 20 ms. Tokens are signed and files
 * are flushed on the same threads, six of them (`bin/signet`): four are left to these.
 */
const maxConcurrent = 2;

type HasherOptions = Pick<HashQueueSettings, 'monotonic' | 'phases'> & {
  maxWaitMs?: number;
  derive?: typeof argon2id;
};

/** A flood of sign-ins must end in prompt refusals, not in unbounded memory and latency. */
export const openPasswordHasher = (
  limits: Limits,
  { monotonic, phases, maxWaitMs = 5000, derive }: HasherOptions,
): PasswordHasher =>
  passwordHasher(
    {
      concurrency: maxConcurrent,
      queueLimit: 64,
      perAccount: limits.passwordsAtOnce,
      perAddress: limits.passwordsAtOncePerAddress,
      maxWaitMs,
      monotonic,
      phases,
    },
    derive,
  );

/** Hashes on libuv's threads, in the order of {@link hashQueue}, whose refusals it throws. */
export function passwordHasher(settings: HashQueueSettings, derive = argon2id) {
  const inTurn = hashQueue(settings);
  const tagOf = (asker: Asker, parameters: Argon2Parameters) => inTurn(asker, () => derive(parameters));

  /**
   * @returns a PHC string, `$argon2id$v=19$m=...,t=...,p=...$salt$tag`: it carries its own parameters.
   * @throws {RequestError} `invalid_request` above {@link longestPasswordBytes}.
   */
  const hash = async (password: string, asker: Asker) => {
    const message = encode(password);
    if (message === undefined) throw invalidRequest(`A password can have at most ${longestPasswordBytes} bytes.`);
    const salt = randomBytes(saltLength);
    const tag = await tagOf(asker, { ...cost, message, nonce: salt, tagLength });
    return formatPhc({ ...cost, salt, tag });
  };

  /**
   * Whether the password matches `stored`. Without a hash (an unknown user, or one without a password) and with an overlong
   * password it does the same work and answers false, so that the time reveals nothing.
   */
  const verify = async (password: string, stored: string | undefined, asker: Asker) => {
    const message = encode(password);
    const expected = stored === undefined || message === undefined ? dummy : parsePhc(stored);
    const { salt: nonce, tag, ...parameters } = expected;
    const computed = await tagOf(asker, {
      ...parameters,
      message: message ?? Buffer.alloc(0),
      nonce,
      tagLength: tag.length,
    });
    return timingSafeEqual(computed, tag) && expected !== dummy;
  };

  return { hash, verify };
}

/** Whether a stored hash has other parameters than today's. The caller then stores a new one after a successful sign-in. */
export function needsRehash(stored: string): boolean {
  const { salt, tag, ...parameters } = parsePhc(stored);
  return !isDeepStrictEqual([parameters, salt.length, tag.length], [cost, saltLength, tagLength]);
}

/**
 * The form in which a password is counted, compared and hashed: the OpaqueString profile of RFC 8265 §4.2.2. Every
 * space becomes U+0020 and the whole is composed (NFC, as SP 800-63B-4 §3.1.1.2 says too), so that an "é" typed as one
 * code point and as two is the same password. Case and width are kept: folding them would lose entropy.
 */
export const normalizePassword = (password: string): string => password.replace(/\p{Zs}/gu, ' ').normalize('NFC');

const encode = (password: string): Buffer | undefined =>
  isOverlong(password) ? undefined : Buffer.from(normalizePassword(password), 'utf8');

type Phc = { memory: number; passes: number; parallelism: number; salt: Buffer; tag: Buffer };

/** Its tag is random, so that no known password has it. */
const dummy: Phc = { ...cost, salt: randomBytes(saltLength), tag: randomBytes(tagLength) };

/** As the reference implementation of Argon2 writes it: base64 without padding. */
const formatPhc = ({ memory, passes, parallelism, salt, tag }: Phc) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

function parsePhc(stored: string): Phc {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored);
  if (!parts) throw new Error('A stored password hash is not an Argon2id PHC string.');
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ImportedSecrets } from '../../platform/config.ts';
import { invalidRequest } from '../../platform/errors.ts';
import type { Limits } from '../../platform/limits/limit-settings.ts';
import { evenTimes } from './even-times.ts';
import { argon2idHash, cost, formatPhc, saltLength, tagLength } from './formats/argon2.ts';
import { argon2id } from './formats/argon2id.ts';
import { type Asker, type HashQueueSettings, hashQueue } from './hash-queue.ts';
import { readHash } from './password-formats.ts';

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
export const maxConcurrent = 2;
/** Of identified requesters, and as many of others. */
export const mostWaiting = 64;
export const longestWaitMs = 5_000;

type HasherOptions = Pick<HashQueueSettings, 'monotonic' | 'phases'> & {
  maxWaitMs?: number;
  secrets?: ImportedSecrets;
  derive?: typeof argon2id;
};

/** A flood of sign-ins must end in prompt refusals, not in unbounded memory and latency. */
export const openPasswordHasher = (
  limits: Limits,
  { monotonic, phases, maxWaitMs = longestWaitMs, secrets, derive }: HasherOptions,
): PasswordHasher =>
  passwordHasher(
    {
      concurrency: maxConcurrent,
      queueLimit: mostWaiting,
      perAccount: limits.passwordsAtOnce,
      perAddress: limits.passwordsAtOncePerAddress,
      maxWaitMs,
      monotonic,
      phases,
    },
    derive,
    secrets,
  );

/** Hashes on other threads than the event loop's, in the order of {@link hashQueue}, whose refusals it throws. */
export function passwordHasher(settings: HashQueueSettings, derive = argon2id, secrets: ImportedSecrets = {}) {
  const inTurn = hashQueue(settings);
  const even = evenTimes(settings.monotonic);

  /**
   * @returns a PHC string, `$argon2id$v=19$m=...,t=...,p=...$salt$tag`: it carries its own parameters.
   * @throws {RequestError} `invalid_request` above {@link longestPasswordBytes}.
   */
  const hash = async (password: string, asker: Asker) => {
    const message = encode(password);
    if (message === undefined) throw invalidRequest(`A password can have at most ${longestPasswordBytes} bytes.`);
    const salt = randomBytes(saltLength);
    const tag = await inTurn(asker, () => derive({ ...cost, message, nonce: salt, tagLength }));
    return formatPhc({ ...cost, salt, tag });
  };

  /**
   * Whether the password matches `stored`. Without a hash that can be checked (an unknown user, one without a password, a hash
   * of no format of ours) and with an overlong password it does the work of a hash of today and answers false, so that the
   * time reveals nothing. A hash of another product takes its own time, which {@link evenTimes} hides.
   */
  const verify = async (password: string, stored: string | undefined, asker: Asker) => {
    const normalized = encode(password);
    const read = stored === undefined || normalized === undefined ? dummy : readHash(stored, secrets);
    const expected = typeof read === 'string' ? dummy : read;
    const presented = normalized ? { typed: password, normalized } : nothing;
    const check = () => expected.matches(presented, derive);
    const { isRight, rest } = await inTurn(asker, () => even(check, expected.isCurrent));
    if (rest > 0) await sleep(rest); // outside of the queue: it takes no thread
    return isRight && expected !== dummy;
  };

  return { hash, verify };
}

/**
 * The form in which a password is counted, compared and hashed: the OpaqueString profile of RFC 8265 §4.2.2. Every
 * space becomes U+0020 and the whole is composed (NFC, as SP 800-63B-4 §3.1.1.2 says too), so that an "é" typed as one
 * code point and as two is the same password. Case and width are kept: folding them would lose entropy.
 */
export const normalizePassword = (password: string): string => password.replace(/\p{Zs}/gu, ' ').normalize('NFC');

const encode = (password: string): Buffer | undefined =>
  isOverlong(password) ? undefined : Buffer.from(normalizePassword(password), 'utf8');

const nothing = { typed: '', normalized: Buffer.alloc(0) };

/** Its tag is random, so that no known password has it. */
const dummy = argon2idHash({ ...cost, salt: randomBytes(saltLength), tag: randomBytes(tagLength) });

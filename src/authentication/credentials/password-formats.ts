import { timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { argon2id } from './argon2id.ts';

/**
 * What one hash costs. The OWASP Password Storage Cheat Sheet asks for at least 19 MiB, 2 passes and 1 lane; raise
 * these as machines get faster (SP 800-63B-4 §3.1.1.2). Each sign-in then updates a stored hash: {@link needsRehash}.
 */
export const cost = { memory: 19_456 /* KiB */, passes: 2, parallelism: 1 };
/** Bytes. RFC 9106 §3.1 recommends 16 for the salt; §4 recommends a tag of 256 bits. */
export const saltLength = 16;
export const tagLength = 32;

/** A hash that can be checked. `isCurrent`: as we would write it today. */
type ReadableHash = {
  readonly isCurrent: boolean;
  /** @param message the password in the form in which it is hashed. */
  matches(message: Buffer, derive: typeof argon2id): Promise<boolean>;
};

/**
 * `damaged` and `too_costly` are of a format that we know: its parameters make no hash, or would take so much memory or time
 * that a few such sign-ins would keep all others from theirs.
 */
export type Unreadable = 'unknown_format' | 'damaged' | 'too_costly';

type PasswordFormat = {
  /** The beginning of every hash of this format, and of no other. */
  readonly prefix: string;
  read(stored: string): ReadableHash | Exclude<Unreadable, 'unknown_format'>;
};

type Phc = { memory: number; passes: number; parallelism: number; salt: Buffer; tag: Buffer };

/** As the reference implementation of Argon2 writes it: base64 without padding. */
export const formatPhc = ({ memory, passes, parallelism, salt, tag }: Phc) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '');

function parsePhc(stored: string): Phc | undefined {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(stored);
  if (!parts) return undefined;
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

/** KiB. The most that libraries offer as a setting for sign-ins, and with it four passes: some seconds of one processor. */
const maxMemory = 262_144;
const maxWork = 4 * maxMemory;
const maxLanes = 16;
/** Bytes. A shorter tag would be right for another password too easily; salts of eight are the least of RFC 9106 §3.1. */
const [minTag, maxTag] = [16, 64];
const [minSalt, maxSalt] = [8, 64];

/** RFC 9106 §3.1: no lane has less than eight blocks, and there is one pass at least. */
const makesHash = ({ memory, passes, parallelism, salt, tag }: Phc): boolean =>
  parallelism >= 1 &&
  passes >= 1 &&
  memory >= 8 * parallelism &&
  salt.length >= minSalt &&
  salt.length <= maxSalt &&
  tag.length >= minTag &&
  tag.length <= maxTag;

export const argon2idHash = ({ salt, tag, ...parameters }: Phc): ReadableHash => ({
  isCurrent: isDeepStrictEqual([parameters, salt.length, tag.length], [cost, saltLength, tagLength]),
  matches: async (message, derive) =>
    timingSafeEqual(await derive({ ...parameters, message, nonce: salt, tagLength: tag.length }), tag),
});

const argon2idFormat: PasswordFormat = {
  prefix: '$argon2id$',
  read(stored) {
    const phc = parsePhc(stored);
    if (phc === undefined || !makesHash(phc)) return 'damaged';
    const { memory, passes, parallelism } = phc;
    if (memory > maxMemory || memory * passes > maxWork || parallelism > maxLanes) return 'too_costly';
    return argon2idHash(phc);
  },
};

/** Whatever a stored hash may be. The first is the one in which new passwords are stored. */
const passwordFormats: readonly PasswordFormat[] = [argon2idFormat];

export const readHash = (stored: string): ReadableHash | Unreadable =>
  passwordFormats.find(({ prefix }) => stored.startsWith(prefix))?.read(stored) ?? 'unknown_format';

/** Whether a stored hash is none of today's. The caller then stores a new one after a successful sign-in. */
export function needsRehash(stored: string): boolean {
  const hash = readHash(stored);
  return typeof hash === 'string' || !hash.isCurrent;
}

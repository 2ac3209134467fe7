import { timingSafeEqual } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { argon2 } from './argon2id.ts';
import {
  imported,
  isSame,
  maxMemory,
  maxMemoryWork,
  type PasswordFormat,
  type ReadableHash,
  toBase64,
} from './format.ts';
import { hashInThread } from './hash-thread.ts';

/**
 * What one hash costs. The OWASP Password Storage Cheat Sheet asks for at least 19 MiB, 2 passes and 1 lane; raise
 * these as machines get faster (SP 800-63B-4 §3.1.1.2). Each sign-in then updates a stored hash: `needsRehash`.
 */
export const cost = { memory: 19_456 /* KiB */, passes: 2, parallelism: 1 };
/** Bytes. RFC 9106 §3.1 recommends 16 for the salt; §4 recommends a tag of 256 bits. */
export const saltLength = 16;
export const tagLength = 32;

type Phc = { memory: number; passes: number; parallelism: number; salt: Buffer; tag: Buffer };

/** As the reference implementation of Argon2 writes it: base64 without padding. */
export const formatPhc = ({ memory, passes, parallelism, salt, tag }: Phc) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${toBase64(salt)}$${toBase64(tag)}`;

/** @returns undefined also for a hash with a key or associated data, which is not beside it. */
function parsePhc(stored: string): (Phc & { version: number }) | undefined {
  const parts = /^\$argon2(?:id|i|d)\$v=(16|19)\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/.exec(
    stored,
  );
  if (!parts) return undefined;
  const [, version, memory, passes, parallelism, salt = '', tag = ''] = parts;
  return {
    version: Number(version),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

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

/**
 * Ours and those of other products look alike. They hashed what was typed, we its normal form: when the two differ, both are tried,
 * whatever the hash is, so that the time says nothing about it.
 */
export const argon2idHash = ({ salt, tag, ...parameters }: Phc): ReadableHash => ({
  isCurrent: isDeepStrictEqual([parameters, salt.length, tag.length], [cost, saltLength, tagLength]),
  matches: async ({ typed, normalized }, derive) => {
    const isOf = async (message: Buffer) =>
      timingSafeEqual(await derive({ ...parameters, message, nonce: salt, tagLength: tag.length }), tag);
    const asTyped = Buffer.from(typed, 'utf8');
    const isNormal = asTyped.equals(normalized);
    return (await isOf(normalized)) || (!isNormal && (await isOf(asTyped)));
  },
});

/** Version 1.0, the number 16, was replaced in 2016. We compute it in JavaScript, which takes four times as long. */
const old = { version: 16, maxWork: maxMemoryWork / 4 };

type Variant = 'argon2id' | 'argon2i' | 'argon2d';

function compute(variant: Variant, version: number, message: Buffer, { salt, tag, ...parameters }: Phc) {
  const tagLength = tag.length;
  return version === old.version
    ? hashInThread({ kind: 'oldArgon2', password: message, parameters: { ...parameters, variant, salt, tagLength } })
    : argon2(variant, { ...parameters, message, nonce: salt, tagLength });
}

const argon2Format = (variant: Variant): PasswordFormat => ({
  prefix: `$${variant}$`,
  read(stored) {
    const parsed = parsePhc(stored);
    if (parsed === undefined) return 'damaged';
    const { version, ...phc } = parsed;
    if (!makesHash(phc)) return 'damaged';
    const { memory, passes, parallelism } = phc;
    const maxWork = version === old.version ? old.maxWork : maxMemoryWork;
    if (memory > maxMemory || memory * passes > maxWork || parallelism > maxLanes) return 'too_costly';
    if (variant === 'argon2id' && version !== old.version) return argon2idHash(phc);
    return imported(async (typed) => isSame(await compute(variant, version, Buffer.from(typed), phc), phc.tag));
  },
});

/** The first is the one in which new passwords are stored. */
export const argon2Formats: readonly PasswordFormat[] = (['argon2id', 'argon2i', 'argon2d'] as const).map(argon2Format);

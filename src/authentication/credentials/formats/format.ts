import { timingSafeEqual } from 'node:crypto';
import type { ImportedSecrets } from '../../../platform/config.ts';
import type { argon2id } from './argon2id.ts';

/** A password that is to be compared with a stored hash. */
export type Presented = {
  /** As it was typed: other products hash the bytes that they get. */
  readonly typed: string;
  /** In the form in which we hash it. */
  readonly normalized: Buffer;
};

/** A hash that can be checked. */
export type ReadableHash = {
  /** As we would write it today. */
  readonly isCurrent: boolean;
  matches(password: Presented, derive: typeof argon2id): Promise<boolean>;
};

/**
 * `damaged` and `too_costly` are of a format that we know: its parameters make no hash, or would take so much memory or time
 * that a few such sign-ins would keep all others from theirs. `secret_missing`: it was made with a secret that is not set.
 */
export type Unreadable = 'unknown_format' | 'damaged' | 'too_costly' | 'secret_missing';

export type PasswordFormat = {
  /** The beginning of every hash of this format, and of no other. */
  readonly prefix: string;
  read(stored: string, secrets: ImportedSecrets): ReadableHash | Unreadable;
};

/** A hash that another product has made of the password as it was typed. */
export const imported = (matches: (typed: string) => Promise<boolean>): ReadableHash => ({
  isCurrent: false,
  matches: ({ typed }) => matches(typed),
});

/** @returns undefined for what is no base64, with padding or without. */
export const fromBase64 = (text: string): Buffer | undefined =>
  /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.replace(/=+$/, '').length % 4 !== 1
    ? Buffer.from(text, 'base64')
    : undefined;

export const toBase64 = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '');

/** Bytes. A shorter tag would be right for another password too easily. */
const [minTag, maxTag] = [16, 128];
const maxSalt = 256;

/** Whether other products may have written a salt and a tag of such lengths. */
export const haveLengths = (salt: Buffer | undefined, tag: Buffer | undefined): boolean =>
  salt !== undefined &&
  salt.length > 0 &&
  salt.length <= maxSalt &&
  tag !== undefined &&
  tag.length >= minTag &&
  tag.length <= maxTag;

/** Compares texts or bytes that are as long as each other, if they are right. */
export function isSame(one: Buffer | string, other: Buffer | string): boolean {
  const [a, b] = [Buffer.from(one as Buffer), Buffer.from(other as Buffer)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** KiB. The most that libraries offer as a setting for sign-ins, and with it four passes: some seconds of one processor. */
export const maxMemory = 262_144;
export const maxMemoryWork = 4 * maxMemory;

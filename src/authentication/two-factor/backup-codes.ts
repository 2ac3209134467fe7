import { randomBytes } from 'node:crypto';
import { digest } from '../../platform/ids.ts';

const codesPerSet = 10;
/**
 * 120 random bits. From 112 on a plain hash protects a look-up secret (SP 800-63B-4 §3.1.2.2, ASVS 6.5.2); with fewer,
 * every wrong code would cost ten password hashes.
 */
const codeLength = 24;
/** Crockford's base32: without i, l, o and u, so that a misread character is still unambiguous. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

type BackupCodes = {
  /** In groups of four, to be shown once. */
  codes: string[];
  /** To be stored, in the same order. */
  hashes: string[];
};

export function newBackupCodes(): BackupCodes {
  const bare = Array.from({ length: codesPerSet }, randomCode);
  return { codes: bare.map((code) => code.replace(/.{4}(?=.)/g, '$&-')), hashes: bare.map(digest) };
}

/** 32 divides 256, so each character is equally likely. */
const randomCode = () =>
  Array.from(randomBytes(codeLength), (byte) => alphabet.charAt(byte % alphabet.length)).join('');

/** The stored hash of a code, however it was typed. @returns undefined for what cannot be a code. */
export function backupCodeHash(code: string): string | undefined {
  const tidy = code
    .slice(0, 100)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\p{Pd}]/gu, '')
    .replaceAll('o', '0')
    .replace(/[il]/g, '1');
  const isCode = tidy.length === codeLength && [...tidy].every((character) => alphabet.includes(character));
  return isCode ? digest(tidy) : undefined;
}

import { randomBytes } from 'node:crypto';
import type { Deps } from '../../platform/deps.ts';
import { digest } from '../../platform/ids.ts';
import { asciiDigits } from '../../platform/text.ts';

const codesPerSet = 10;

/**
 * 65 random bits. From 112 on a plain hash would protect a look-up secret (SP 800-63B-4 §3.1.2.2, ASVS 6.5.2). A shorter
 * one is stored as a MAC under the master key, which is not in the store: without it there is nothing to try guesses on,
 * and with it each user has to be tried apart.
 */
const codeLength = 13;
/** The length of codes from an earlier version, stored under a plain hash. */
const longCodeLength = 24;

/** Crockford's base32: without i, l, o and u, so that a misread character is still unambiguous. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

type BackupCodes = {
  /** In groups, to be shown once. */
  codes: string[];
  /** To be stored, in the same order. */
  hashes: string[];
};

export function newBackupCodes(deps: Pick<Deps, 'vault'>, user_id: string): BackupCodes {
  const bare = Array.from({ length: codesPerSet }, randomCode);
  return {
    codes: bare.map((code) => code.replace(/^(.{4})(.{5})/, '$1-$2-')),
    hashes: bare.map((code) => hashOf(deps, user_id, code)),
  };
}

/** 32 divides 256, so each character is equally likely. */
const randomCode = () =>
  Array.from(randomBytes(codeLength), (byte) => alphabet.charAt(byte % alphabet.length)).join('');

const hashOf = ({ vault }: Pick<Deps, 'vault'>, user_id: string, code: string): string =>
  vault.mac('backup-code', contentOf(user_id, code)).toString('base64url');

const contentOf = (user_id: string, code: string) => Buffer.from(`${user_id}:${code}`);

/** What may be stored of a code, however it was typed. @returns undefined for what cannot be a code. */
export function backupCodeHashes(deps: Pick<Deps, 'vault'>, user_id: string, code: string): string[] | undefined {
  const tidy = asciiDigits(code.slice(0, 100).normalize('NFKC'))
    .toLowerCase()
    .replace(/[\s\p{Pd}]/gu, '')
    .replaceAll('o', '0')
    .replace(/[il]/g, '1');
  if (![...tidy].every((character) => alphabet.includes(character))) return undefined;
  if (tidy.length === codeLength) {
    return deps.vault.macs('backup-code', contentOf(user_id, tidy)).map((mac) => mac.toString('base64url'));
  }
  return tidy.length === longCodeLength ? [digest(tidy)] : undefined;
}

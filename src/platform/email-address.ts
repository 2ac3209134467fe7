import type { MessageKey } from './i18n/translate.ts';
import { digest } from './ids.ts';

/** Code units (RFC 5321 §4.5.3.1.3, less the angle brackets). */
const longestEmail = 254;

/**
 * What two spellings of one address have in common: composed Unicode, lower case. The local part is case-sensitive by
 * RFC 5321 §2.4 and nowhere in practice; two accounts that differ in case alone would be a trap for their owners.
 *
 * Composing takes time that grows with the square of the text, and this is asked of whatever anybody types before any
 * limit counts it: so what is too long for an address gets a key that no account has, and is never composed.
 */
export function emailKey(email: string): string {
  const trimmed = email.trim();
  return trimmed.length > longestEmail ? `overlong:${digest(trimmed)}` : trimmed.normalize('NFKC').toLowerCase();
}

const addressShape = /^[^\s@<>()[\],;:"\\\p{C}]+@[^\s@<>()[\],;:"\\\p{C}]+$/u;

/**
 * One `@`, something on both sides, no spaces, controls or signs with which a list of addresses is written; 254 at most
 * (RFC 5321). Judged as it is and as what it folds to, so that no wide comma becomes one on the way; and a line break
 * is a fault even at its end, where trimming would forgive it.
 */
export function emailProblem(email: string): MessageKey | undefined {
  const trimmed = email.trim();
  if (trimmed.length === 0) return 'problem.email.missing';
  if (trimmed.length > longestEmail) return 'problem.email.long';
  const isShaped = addressShape.test(trimmed) && addressShape.test(trimmed.normalize('NFKC'));
  return isShaped && !/\p{Cc}/u.test(email) ? undefined : 'problem.email.malformed';
}

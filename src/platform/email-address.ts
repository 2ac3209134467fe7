import type { MessageKey } from './i18n/translate.ts';
import { digest } from './ids.ts';

/** Code units (RFC 5321 §4.5.3.1.3, less the angle brackets). */
const longestEmail = 254;

/**
 * The same for all spellings of one address: composed Unicode, lower case. The local part is case-sensitive by
 * RFC 5321 §2.4 and nowhere in practice; two accounts that differ in case alone would confuse their owners.
 *
 * Composing takes time that grows with the square of the length, and this runs on any typed text before a limit counts it:
 * so a text that is too long for an address is not composed and gets a key that no account has.
 */
export function emailKey(email: string): string {
  const trimmed = email.trim();
  return trimmed.length > longestEmail ? `overlong:${digest(trimmed)}` : trimmed.normalize('NFKC').toLowerCase();
}

const addressShape = /^[^\s@<>()[\],;:"\\\p{C}]+@[^\s@<>()[\],;:"\\\p{C}]+$/u;

/**
 * One `@`, something on both sides, no spaces, controls or signs with which a list of addresses is written; 254 at most
 * (RFC 5321). Judged as it is and as it folds, so that no wide comma becomes a comma; and a line break is a fault even at
 * its end, where trimming would remove it.
 */
export function emailProblem(email: string): MessageKey | undefined {
  const trimmed = email.trim();
  if (trimmed.length === 0) return 'problem.email.missing';
  if (trimmed.length > longestEmail) return 'problem.email.long';
  const isShaped = addressShape.test(trimmed) && addressShape.test(trimmed.normalize('NFKC'));
  return isShaped && !/\p{Cc}/u.test(email) ? undefined : 'problem.email.malformed';
}

import type { MessageKey } from './i18n/translate.ts';
import { digest } from './ids.ts';

/** Code units (RFC 5321 §4.5.3.1.3, less the angle brackets). */
const longestEmail = 254;

/**
 * The same for all spellings of one address. The local part is case-sensitive by RFC 5321 §2.4 and nowhere in practice.
 *
 * Normalizing takes quadratic time, and this runs on any typed text before a limit counts it: a text that is too long for
 * an address gets a key that no account has.
 */
export function emailKey(email: string): string {
  const trimmed = email.trim();
  return trimmed.length > longestEmail ? `overlong:${digest(trimmed)}` : trimmed.normalize('NFKC').toLowerCase();
}

const addressShape = /^[^\s@<>()[\],;:"\\\p{C}]+@[^\s@<>()[\],;:"\\\p{C}]+$/u;

/** For API descriptions; {@link emailProblem} also refuses invisible characters, and what normalizing turns into one of these. */
export const emailPattern =
  '^[^\\s\\u0000-\\u0020\\u007f-\\u00a0@<>()\\[\\],;:"\\\\]+@[^\\s\\u0000-\\u0020\\u007f-\\u00a0@<>()\\[\\],;:"\\\\]+$';

/** Normalized, too, so that no wide comma becomes a comma. A line break is refused even where trimming would remove it. */
export function emailProblem(email: string): MessageKey | undefined {
  const trimmed = email.trim();
  if (trimmed.length === 0) return 'problem.email.missing';
  if (trimmed.length > longestEmail) return 'problem.email.long';
  const isShaped = addressShape.test(trimmed) && addressShape.test(trimmed.normalize('NFKC'));
  return isShaped && !/\p{Cc}/u.test(email) ? undefined : 'problem.email.malformed';
}

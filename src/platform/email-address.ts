import { domainToASCII, domainToUnicode } from 'node:url';
import type { MessageKey } from './i18n/translate.ts';
import { digest } from './ids.ts';

/** Code units (RFC 5321 §4.5.3.1.3, less the angle brackets). */
const longestEmail = 254;
/** RFC 1035 §2.3.4. */
const longestLabel = 63;

/** NFKC and lower case. The local part is case-sensitive by RFC 5321 §2.4 and nowhere in practice. */
const fold = (text: string): string => text.normalize('NFKC').toLowerCase();

/** What follows the last `@` is the domain. */
function partsOf(email: string): { local: string; domain: string } {
  const at = email.lastIndexOf('@') + 1;
  return { local: email.slice(0, at), domain: email.slice(at) };
}

/**
 * The one spelling of a domain, with U-labels: UTS 46 ToASCII, as browsers apply it, and back. The dot at the end is left
 * out. What is no domain stays as it is folded.
 */
function canonicalDomain(domain: string): string {
  const bare = fold(domain).replaceAll('。', '.').replace(/\.$/, '');
  return isPlain(bare) ? bare : domainToUnicode(asciiDomain(bare)) || bare;
}

/** In ASCII, and no label stands for other letters. */
const isPlain = (domain: string): boolean => /^[\0-\x7f]*$/.test(domain) && !/(?:^|\.)xn--/i.test(domain);

/** Empty for what is no domain: of a URL's other signs, `domainToASCII` would cut the text off at the first. */
const asciiDomain = (domain: string): string => {
  if (isPlain(domain)) return domain;
  return /(?![a-z0-9._-])[\0-\x7f]/.test(domain) ? '' : domainToASCII(domain);
};

/**
 * The same for all spellings of one mailbox.
 *
 * Normalizing takes quadratic time, and this runs on any typed text before a limit counts it: a text that is too long for
 * an address gets a key that no account has.
 */
export function emailKey(email: string): string {
  const trimmed = email.trim();
  if (trimmed.length > longestEmail) return `overlong:${digest(trimmed)}`;
  const { local, domain } = partsOf(fold(trimmed));
  return local + canonicalDomain(domain);
}

/**
 * {@link emailKey} first, then the keys that a version without UTS 46 gave to this spelling and to the ASCII one. Only
 * one for most addresses.
 */
export function emailKeys(email: string): readonly string[] {
  const key = emailKey(email);
  const trimmed = email.trim();
  if (trimmed.length > longestEmail) return [key];
  return [...new Set([key, fold(trimmed), asciiEmail(key)])];
}

/** With the ASCII form of its domain (RFC 5890 §2.3.2.1): for mail, and for programs that expect RFC 5322. */
export function asciiEmail(email: string): string {
  const { local, domain } = partsOf(email);
  if (email.length > longestEmail || (isPlain(domain) && !domain.endsWith('.'))) return email;
  const canonical = canonicalDomain(domain);
  return local + (asciiDomain(canonical) || canonical);
}

/** As it is stored and shown: international domains in their own letters, unless these look like others. */
export function readableEmail(email: string): string {
  const trimmed = email.trim();
  if (trimmed.length > longestEmail) return trimmed;
  const { local, domain } = partsOf(trimmed);
  const bare = domain.replace(/\.$/, '');
  if (isPlain(bare)) return local + bare;
  const canonical = canonicalDomain(domain);
  return canonical.split('.').every(isHonest) ? local + canonical : asciiEmail(local + domain);
}

const scripts =
  'Arabic Armenian Bengali Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hebrew Kannada Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan';
const oneScript = [
  ...scripts.split(' ').map((script) => `\\p{Script=${script}}`),
  'a-z\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\u30fc',
  'a-z\\p{Script=Han}\\p{Script=Hangul}',
  'a-z\\p{Script=Han}\\p{Script=Bopomofo}',
].map((letters) => new RegExp(`^[${letters}\\p{Mn}\\p{Mc}\\p{Nd}_-]+$`, 'u'));
/** Labels of nothing but letters that look like Latin ones. */
const looksLatin = /^[асԁеһіјӏорԛѕԝхуъьҽпгѵѡαγικνορτυχω0-9_-]+$/;

/** A label of letters of one script, or of those that one language writes together (UTS 39 §5.1). */
const isHonest = (label: string): boolean =>
  oneScript.some((one) => one.test(label)) && !(looksLatin.test(label) && /[^\0-\x7f]/.test(label));

const addressShape = /^[^\s@<>()[\],;:"\\\p{C}]+@[^\s@<>()[\],;:"\\\p{C}]+$/u;
/** Servers that route by the local part take it for another address (`a%b@c`, RFC 5321 §3.7; `c!a@b`), and so does `=?…?=`. */
const isRouted = (local: string): boolean => /[%!]|=\?/.test(local);

/** For API descriptions; {@link emailProblem} also refuses what normalizing turns into one of these, and no real domain. */
export const emailPattern =
  '^[^\\s\\u0000-\\u0021\\u007f-\\u00a0%@<>()\\[\\],;:"\\\\]+@[^\\s\\u0000-\\u002c\\u002f\\u003a-\\u0040\\u005b-\\u005e\\u0060\\u007b-\\u00a0]+$';

/** Normalized, too, so that no wide comma becomes a comma. A line break is refused even where trimming would remove it. */
export function emailProblem(email: string): MessageKey | undefined {
  const trimmed = email.trim();
  if (trimmed.length === 0) return 'problem.email.missing';
  if (trimmed.length > longestEmail) return 'problem.email.long';
  const isShaped = addressShape.test(trimmed) && addressShape.test(trimmed.normalize('NFKC'));
  if (!isShaped || /\p{Cc}/u.test(email)) return 'problem.email.malformed';
  const { local, domain } = partsOf(emailKey(trimmed));
  if (isRouted(local)) return 'problem.email.routed';
  const ascii = asciiDomain(domain);
  if (local.length + ascii.length > longestEmail) return 'problem.email.long';
  const isDomain = ascii.split('.').every((label) => /^[a-z0-9_-]+$/.test(label) && label.length <= longestLabel);
  return isDomain ? undefined : 'problem.email.malformed';
}

import { readAsset } from '../../platform/assets.ts';
import { type FieldProblem, fieldProblem } from '../../platform/errors.ts';
import type { MessageDescriptor, MessageKey } from '../../platform/i18n/translate.ts';
import { isOverlong, longestPasswordBytes, normalizePassword } from './password-hash.ts';

/** Code points (SP 800-63B-4 §3.1.1.2): 15 for a password alone, 8 with a second factor. */
const shortest = { alone: 15, withSecondFactor: 8 };

export const minCharacters = ({ secondFactor }: Pick<PasswordContext, 'secondFactor'> = {}): number =>
  secondFactor ? shortest.withSecondFactor : shortest.alone;

/** What an attacker may know about the account (§3.1.1.2: "context-specific words"). */
export type PasswordContext = {
  email: string;
  name?: string | null;
  /** Further words to expect in guesses, such as the name of the organisation. */
  words?: readonly string[];
  /** Every sign-in with the password requires a second factor. */
  secondFactor?: boolean;
};

/**
 * There are no rules about kinds of characters (§3.1.1.2 forbids them). The *whole* password is compared, never a part:
 * refused are listed passwords, and those that consist of one or two pieces that are guessed first. So
 * `password123456789` is refused, and four ordinary words in a row are accepted.
 */
export function passwordProblems(password: string, context: PasswordContext): MessageDescriptor[] {
  if (isOverlong(password)) return [{ key: 'problem.password.long', values: { max: longestPasswordBytes } }];
  const normalized = normalizePassword(password);
  const min = minCharacters(context);
  if ([...normalized].length < min) return [{ key: 'problem.password.short', values: { min } }];
  const problem = guessable(normalized, min, contextWords(context));
  return problem === undefined ? [] : [{ key: problem }];
}

export const newPasswordProblems = (password: string, context: PasswordContext): FieldProblem[] =>
  passwordProblems(password, context).map((sentence) => fieldProblem('password', sentence));

function guessable(password: string, min: number, personal: ReadonlySet<string>): MessageKey | undefined {
  const isKnown: Test = (word) => commonPasswords().has(word) || personal.has(word);
  const seen = readings(password);
  if (seen.some((reading) => commonPasswords().has(reading))) return 'problem.password.common';
  if (seen.some((reading) => shortestPeriod(reading, min - 1) < min)) return 'problem.password.repeats';
  if (seen.some((reading) => isOneOrTwoPieces(reading, isKnown))) return 'problem.password.pieces';
  return undefined;
}

type Test = (text: string) => boolean;

/**
 * The password without case and decoration. A single sign or a repeated one is decoration, as in `Pass-word!!!`;
 * different signs in a row are not. `@` and `$` may stand for a letter, so one reading keeps them.
 */
function readings(password: string): string[] {
  const folded = fold(password);
  const withoutSigns = folded.replace(/(?<![\p{P}\p{S}])([\p{P}\p{S}])\1*(?![\p{P}\p{S}])/gu, '');
  const withLetterSigns = folded.replace(/(?<![\p{P}\p{S}])([[\p{P}\p{S}]--[@$]])\1*(?![\p{P}\p{S}])/gv, '');
  return [...new Set([folded, withoutSigns, withLetterSigns])];
}

const fold = (text: string) => text.normalize('NFKC').toLowerCase().replace(/\s/gu, '');

/** @returns the length of the part that the whole text repeats, the last time perhaps cut short; otherwise infinity. */
function shortestPeriod(text: string, longest: number): number {
  for (let period = 1; period <= Math.min(longest, text.length / 2); period += 1) {
    if (text.slice(period) === text.slice(0, -period)) return period;
  }
  return Number.POSITIVE_INFINITY;
}

/**
 * Characters up to which a password is cut in two at every place, which takes quadratic time. A longer one could only be
 * two long repeats, and a folded password may have six thousand (U+FDFA alone becomes 18).
 */
const longestCut = 128;

/** One piece that is guessed as a whole, or two of them with nothing between, before or after. */
function isOneOrTwoPieces(text: string, isKnown: Test): boolean {
  if (isPiece(text, isKnown)) return true;
  if (text.length > longestCut) return false;
  for (let cut = 1; cut < text.length; cut += 1) {
    if (isPiece(text.slice(0, cut), isKnown) && isPiece(text.slice(cut), isKnown)) return true;
  }
  return false;
}

/** A known word, a sequence, a repeat of these or of up to four characters, a year or PIN, or two characters at most. */
function isPiece(text: string, isKnown: Test): boolean {
  const isPlain: Test = (part) => isKnown(part) || isKnown(unleet(part)) || isSequence(part);
  if (text.length <= 2 || /^\d{3,4}$/.test(text) || isPlain(text)) return true;
  const period = shortestPeriod(text, longestWord);
  return period <= 4 || (period <= longestWord && isPlain(text.slice(0, period)));
}

/** Characters of a known word that a piece may repeat more than twice. */
const longestWord = 20;

const [letterSigns, lettersMeant] = ['013457@$!', 'oieastasi'];
const unleet = (text: string) => text.replace(/[013457@$!]/g, (sign) => lettersMeant.charAt(letterSigns.indexOf(sign)));

/** Counting, the alphabet, and keyboards of three countries: along the rows, and down the columns. */
const rows = [
  '1234567890',
  '!@#$%^&*()_+',
  'abcdefghijklmnopqrstuvwxyz',
  ...['qwertyuiop', 'asdfghjkl', 'zxcvbnm'],
  ...['qwertzuiop', 'yxcvbnm'],
  ...['azertyuiop', 'qsdfghjklm', 'wxcvbn'],
  ...['1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p', 'qazwsxedcrfvtgbyhnujmikolp'],
].flatMap((row) => [row, [...row].reverse().join('')]);

/** At least three characters that follow each other in a row, from any place and around its end. */
const isSequence: Test = (text) =>
  text.length >= 3 &&
  rows.some((row) => {
    const start = row.indexOf(text.charAt(0));
    if (start < 0) return false;
    for (let step = 1; step < text.length; step += 1) {
      if (text.charAt(step) !== row.charAt((start + step) % row.length)) return false;
    }
    return true;
  });

/** Whole and in parts, folded like the password: `Ada Lovelace`, `ada.l@mail.example` give ada, lovelace, adal, mail … */
function contextWords({ email, name, words = [] }: PasswordContext): Set<string> {
  const [local = '', domain = ''] = email.split('@');
  const wholes = ['signet', email, local, domain, name ?? '', ...words];
  const parts = wholes.flatMap((whole) => whole.split(/[^\p{L}\p{N}]+/u));
  const folded = [...wholes, ...parts].map((word) => fold(word).replace(/[^\p{L}\p{N}]/gu, ''));
  return new Set(folded.filter((word) => word.length >= 3));
}

let list: ReadonlySet<string> | undefined;

/** 30 000, more than the limits allow attempts (§3.1.1.2), a third of them as long as a password alone must be. Read at first use. */
function commonPasswords(): ReadonlySet<string> {
  const read = (name: string) => readAsset(`authentication/credentials/${name}.txt`).trimEnd().split('\n');
  list ??= new Set(['common-passwords', 'common-long-passwords'].flatMap(read));
  return list;
}

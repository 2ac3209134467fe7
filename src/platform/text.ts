/** Control, format (bidirectional, zero-width, soft hyphen), unassigned characters, line separators, blank letters. */
const invisible = /[\p{C}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]|\u034f|\u17b4|\u17b5/u;
/** Line breaks and tabs are let through; they are spaces on a page. */
const hidden = new RegExp(`(?![\\n\\t])(?:${invisible.source})`, 'gu');

/** Names are checked where they are entered; what is shown may be older than the check, or come from elsewhere. */
export function visibleText(text: string, max = 100): string {
  const spelled = new Set([...text.matchAll(joiner)].map(({ index }) => index));
  const seen = text.replace(hidden, (character, index: number) =>
    spelled.has(index) ? character : `[U+${hexadecimal(character)}]`,
  );
  const characters = [...seen];
  return characters.length > max ? `${characters.slice(0, max).join('')}…` : seen;
}

/** What was typed on several lines and is one. */
export const oneLine = (text: string): string => text.replaceAll(/\s+/gu, ' ').trim();

/**
 * What others wrote, for a mail: on one line, and without anything that a mail program would make a link of. Links are spelled as
 * `https[:]//evil[.]example`, as those who pass on suspicious ones do; the reader can tell what was written.
 */
export const withoutLinks = (text: string, max: number): string =>
  visibleText(oneLine(text), max)
    .replaceAll(/:(?=\/\/)/g, '[:]')
    .replaceAll(/(?<=[\p{L}\p{M}\p{N}-])[.\u3002\uff0e\uff61](?=\p{L}[\p{L}\p{M}])/gu, '[.]');

const hexadecimal = (character: string) => character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');

export const clientInitials = (name: string): string =>
  name
    .replace(hidden, '')
    .split(/[\s\p{P}]+/u)
    .filter(Boolean)
    .slice(0, 2)
    .map((word) => [...word][0]!.toUpperCase())
    .join('') || '?';

/** Digits of any script by their value: each script has runs of ten, in order (Unicode §4.6). */
export const asciiDigits = (text: string): string =>
  text.replace(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0)!;
    let first = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
    return String((code - first) % 10);
  });

const longestName = 100;
const unfit = `Must have 1 to ${longestName} characters, at least one of them visible.`;

/**
 * What no text of a program may contain, as the inside of a class that every regular expression dialect reads, with and
 * without the flag `u`: control, format, private-use and line-separating characters, and those that will never be assigned.
 * Beyond U+FFFF, where such a class cannot reach, {@link isSeen} refuses format characters.
 */
const unseen =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890-\\u0891\\u08e2\\u180e\\u200b-\\u200f\\u2028-\\u202e' +
  '\\u2060-\\u206f\\ue000-\\uf8ff\\ufdd0-\\ufdef\\ufeff\\ufff0-\\ufffb\\ufffe-\\uffff';
/** \p{Zs} */
const spaces = ' \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000';
const blankLetters = '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2800\\u3164\\uffa0';
/** Joiners between what is neither Latin, Greek, Cyrillic nor Hebrew; {@link isSeen} has the rule by script. */
const joinedText = `[^${unseen}${spaces}\\u0000-\\u05ff\\u1e00-\\u1fff](?:[\\u200c\\u200d][^${unseen}${spaces}\\u0000-\\u05ff\\u1e00-\\u1fff])+`;
const withVisible = (hidden: string, blank = spaces) =>
  `^[${blank}]*(?:[^${blank}${hidden}]|${joinedText})(?:[^${hidden}]|${joinedText})*$`;

/** For API descriptions: text that may be empty, text with something visible, the same with line breaks, and a name. */
export const textPatterns = {
  seen: `^(?:[^${unseen}]|${joinedText})*$`,
  visible: withVisible(unseen),
  paragraph: withVisible(unseen.replace('\\u001f', '\\u0009\\u000b-\\u001f'), `${spaces}\\n`),
  name: withVisible(unseen + blankLetters),
} as const;

/** Letters and marks of the scripts that spell words with a joiner or a non-joiner. */
const joined = `[[${[
  'Arabic',
  'Bengali',
  'Devanagari',
  'Gujarati',
  'Gurmukhi',
  'Kannada',
  'Malayalam',
  'Mongolian',
  'Oriya',
  'Sinhala',
  'Syriac',
  'Tamil',
  'Telugu',
]
  .map((script) => `\\p{Script=${script}}`)
  .join('')}]&&[\\p{L}\\p{M}]]`;
/** One joiner between two of them (as RFC 5892 A.1 and A.2), or within a sequence of emoji (UTS 51 §1.4.6). */
const joiner = new RegExp(
  `(?<=${joined})[\\u200c\\u200d](?=${joined})|(?<=\\p{RGI_Emoji}|\\p{Extended_Pictographic}\\ufe0f?)\\u200d(?=\\p{Extended_Pictographic}|[\\u2640\\u2642])`,
  'gv',
);
/** Without the joiners that spell a word or an emoji: those that are left deceive. */
const withoutJoiners = (text: string): string => text.replace(joiner, '');
const seen = new RegExp(textPatterns.seen, 'u');
/** Whether a text shows as it was written. */
export const isSeen = (text: string): boolean =>
  text.isWellFormed() && seen.test(text) && !/\p{Cf}/u.test(withoutJoiners(text));

/** More marks on a letter than a language writes: scripts that stack them by design have up to six. */
const stacked =
  /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}\p{Script=Hebrew}\p{Script=Han}]\p{M}{4}|\p{Script=Inherited}{4}|\p{M}{7}/u;

/** Users decide by names whom to trust, so a name must look like what it is. @returns what is wrong with it once trimmed. */
export function displayNameProblem(name: string): string | undefined {
  const trimmed = name.trim();
  if (trimmed.length > 2 * longestName) return unfit;
  if (stacked.test(trimmed)) return 'Must not have more combining marks on a letter than its script writes.';
  if (invisible.test(withoutJoiners(trimmed)))
    return 'Must not contain control, invisible or text-direction characters.';
  return !/[\p{L}\p{N}\p{P}\p{S}]/u.test(trimmed) || [...trimmed].length > longestName ? unfit : undefined;
}

/** As it is stored. @param name without a {@link displayNameProblem}: normalizing takes quadratic time in its length. */
export const normalizeName = (name: string): string => name.trim().normalize('NFC');

/**
 * Levenshtein distance. Only the cells within `max` of the diagonal are computed (Ukkonen).
 * @param max beyond which the exact number does not matter: anything higher may be returned.
 */
export function editDistance(from: string, to: string, max = Number.POSITIVE_INFINITY): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [row, letter] of [...from].entries()) {
    const first = Math.max(1, row + 1 - max);
    const last = Math.min(to.length, row + 1 + max);
    const current: number[] = Array(to.length + 1).fill(Number.POSITIVE_INFINITY);
    current[0] = row + 1;
    for (let column = first; column <= last; column += 1) {
      const replaced = (previous[column - 1] ?? 0) + (to[column - 1] === letter ? 0 : 1);
      current[column] = Math.min(replaced, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1);
    }
    const lowest = Math.min(...current); // no later row goes below it
    if (lowest > max) return lowest;
    previous = current;
  }
  return previous[to.length] ?? 0;
}

// Text is found by the beginnings of its words, whatever their order, case and accents. A table of terms, ordered by bytes,
// answers that with a range of its index on both engines.

import { domainToUnicode } from 'node:url';

/** Code points of a term. Longer words are found by as many. */
const longestTerm = 64;
/** More words and parts of one text are not found by. */
const maxTerms = 12;
/** More words of a query are ignored. */
export const maxWords = 6;
/** Folding takes quadratic time. No name or address is longer. */
const longestQuery = 254;

/** What NFKD does not decompose. */
const letters: Readonly<Record<string, string>> = {
  æ: 'ae',
  œ: 'oe',
  þ: 'th',
  ð: 'd',
  đ: 'd',
  ħ: 'h',
  ł: 'l',
  ø: 'o',
  ŧ: 't',
  ς: 'σ',
};

/** To upper case first: `ß` becomes `SS`, and a dotless `ı` an `I`. */
const fold = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}|(?!\s)\p{C}/gu, '')
    .toUpperCase()
    .toLowerCase()
    .replace(/[æœþðđħłøŧς]/g, (letter) => letters[letter] ?? letter);

/** Characters that no address contains: a query may be pasted from the header of a mail. */
const wordsOf = (text: string): string[] =>
  fold(text.replace(/\bxn--[a-z0-9-]+/gi, (label) => domainToUnicode(label) || label))
    .split(/[\s<>()[\],;:"\\]+/)
    .filter(Boolean);

const cut = (term: string): string => [...term].slice(0, longestTerm).join('');

/**
 * What a text is found by: each word, and each word from its second part on, where `. @ + - _` and the like divide parts:
 * `jean-luc.roy@example.com`, `luc.roy@example.com`, `roy@example.com` and so on.
 */
export function termsOf(text: string, max = maxTerms): string[] {
  const terms = wordsOf(text).flatMap((word) => {
    const parts = [...word.matchAll(/(?<![\p{L}\p{N}])[\p{L}\p{N}]/gu)].map(({ index }) => word.slice(index));
    return parts.length === 0 ? [word] : parts;
  });
  return [...new Set(terms.slice(0, max).map(cut))];
}

/** For a short list in memory: whether a text has a term for each word of the query, which has one at least. */
export function matcherOf(query: string): (text: string) => boolean {
  const ranges = rangesOf(query);
  return (text) => {
    const terms = termsOf(text, Number.POSITIVE_INFINITY);
    return ranges.length > 0 && ranges.every(({ from }) => terms.some((term) => term.startsWith(from)));
  };
}

/** Terms that begin with a word: from `from` on, and before `to`. */
export type TermRange = { readonly from: string; readonly to: string };

/** @returns one range for each word of a query: what is found has a term in each. None for a query without words. */
export function rangesOf(query: string): TermRange[] {
  const words = wordsOf(query.slice(0, longestQuery)).map((word) => cut(word.replace(/^[^\p{L}\p{N}]+(?=.)/u, '')));
  const needed = words.filter(
    (word, place) => !words.some((other, at) => other.startsWith(word) && (other !== word || at < place)),
  );
  // The last code point is no character, so no term contains it.
  return needed.slice(0, maxWords).map((word) => ({ from: word, to: `${word}\u{10ffff}` }));
}

import type { Locale } from './translate.ts';

// A formatter takes longer to make than to use, and some 20 KB outside the heap, which the collector does not count: a page that
// makes one for each row leaves a megabyte behind, and to free thousands of them keeps the event loop busy.

/** Anyone may ask for any region of a language. The one that was not used for longest is made anew when it is. */
const maxKept = 100;
const kept = new Map<string, unknown>();

function keep<Format>(kind: string, locale: Locale, options: object, make: () => Format): Format {
  const key = `${kind} ${locale} ${JSON.stringify(options)}`;
  const format = (kept.get(key) as Format | undefined) ?? make();
  kept.delete(key);
  kept.set(key, format);
  if (kept.size > maxKept) kept.delete(kept.keys().next().value!);
  return format;
}

export const dateFormat = (locale: Locale, options: Intl.DateTimeFormatOptions) =>
  keep('date', locale, options, () => new Intl.DateTimeFormat(locale, options));

export const numberFormat = (locale: Locale, options: Intl.NumberFormatOptions = {}) =>
  keep('number', locale, options, () => new Intl.NumberFormat(locale, options));

export const relativeTimeFormat = (locale: Locale, options: Intl.RelativeTimeFormatOptions = {}) =>
  keep('relative', locale, options, () => new Intl.RelativeTimeFormat(locale, options));

const hasSpaces = (locale: Locale) => !/^(?:ja|zh)\b/.test(locale);

/** What stands between two sentences. */
export const betweenSentences = (locale: Locale): string => (hasSpaces(locale) ? ' ' : '');

/**
 * No line ends between a number and its unit, "2027 р." too. Japanese writes "10分前", where Unicode has a space, and our Chinese "10 分钟前",
 * where it has none.
 */
export const withUnit = (locale: Locale, text: string): string =>
  text.replace(
    locale.startsWith('zh') ? /(?<=\p{Nd}) ?(?=(?!日)\p{L}+\P{Nd}*$)/u : /(?<=\p{Nd}) (?=\p{L}+\P{Nd}*$)/u,
    locale.startsWith('ja') ? '' : '\u00a0',
  );

/** Which of two texts comes first in a list. */
export const collator = (locale: Locale) => keep('collator', locale, {}, () => new Intl.Collator(locale));

/** "one, two, and three". */
export const listInWords = (locale: Locale, words: readonly string[]): string =>
  keep('list', locale, {}, () => new Intl.ListFormat(locale)).format(words);

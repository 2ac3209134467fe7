import { channel } from 'node:diagnostics_channel';
import { IntlMessageFormat } from 'intl-messageformat';
import { listAssets, readAsset } from '../assets.ts';
import type en from './en.json';

/**
 * A language is one JSON file of ICU messages beside this one, with the keys of English: with all of them, or with those of the pages and
 * mails for people, without the consoles.
 */
export type MessageKey = keyof typeof en;
type Messages = Readonly<Partial<Record<MessageKey, string>>>;

/** A BCP 47 language tag for which there is a file. */
export type Locale = string;
export const locales: readonly Locale[] = listAssets('platform/i18n')
  .filter((name) => name.endsWith('.json'))
  .map((name) => name.slice(0, -'.json'.length));
const fallbackLocale = 'en';

/** The languages of the consoles of administrators and developers, and of the reference. */
export const consoleLocales: readonly Locale[] = [fallbackLocale, 'de'];

/** Each is read when a message of it is needed: a command needs one, and all together are some megabytes. */
const languages = new Map<Locale, Messages>();
const messagesIn = (locale: Locale): Messages =>
  languages.getOrInsertComputed(locale, () => JSON.parse(readAsset(`platform/i18n/${locale}.json`)));

export const isMessageKey = (key: string): key is MessageKey => Object.hasOwn(messagesIn(fallbackLocale), key);

/** Characters. RFC 5646 §4.4.1 asks for 35. */
const maxTag = 50;

/** `zh-Hant` of `zh-TW`; none if it is no tag. */
function languageInScript(tag: string): string | undefined {
  try {
    const { language, script } = new Intl.Locale(tag).maximize();
    return `${language}-${script}`;
  } catch {
    return undefined;
  }
}

/**
 * The language of ours that a tag asks for (RFC 4647 §3.4, lookup): the longest of its beginnings, so that `pt-BR` is found before
 * `pt`, and `zh-Hant` for `zh-Hant-TW`. Else the first of the same language in the same script, which a tag may leave out: `zh-TW`
 * is `zh-Hant`, and Portuguese of Portugal is read more easily in that of Brazil than in English. Others' `pt_BR` is the same tag.
 */
export function localeFinder(offered: readonly Locale[]): (tag: string) => Locale | undefined {
  const byLowerCase = new Map(offered.map((locale) => [locale.toLowerCase(), locale]));
  return (tag) => {
    const asked = tag.slice(0, maxTag).toLowerCase().replaceAll('_', '-');
    for (let range = asked; range !== ''; range = range.slice(0, Math.max(range.lastIndexOf('-'), 0))) {
      const found = byLowerCase.get(range);
      if (found !== undefined) return found;
    }
    const wanted = languageInScript(asked);
    return wanted === undefined ? undefined : offered.find((locale) => languageInScript(locale) === wanted);
  };
}

export const findLocale = localeFinder(locales);

/** Where lines of that language begin. */
export const directionOf = (locale: Locale): 'ltr' | 'rtl' =>
  rightToLeft.has(new Intl.Locale(locale).maximize().script ?? '') ? 'rtl' : 'ltr';

/** Scripts of languages in use; `Intl.Locale.prototype.getTextInfo` is not in the types of TypeScript yet. */
const rightToLeft: ReadonlySet<string> = new Set(['Adlm', 'Arab', 'Hebr', 'Nkoo', 'Rohg', 'Syrc', 'Thaa']);

const names = new Map<Locale, string>();

/** In that language: "Deutsch". @param locale one of ours, whose name is made once: every page names all of them. */
export const nameOfLanguage = (locale: Locale): string =>
  names.getOrInsertComputed(locale, () => {
    const name = new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
    return name.charAt(0).toLocaleUpperCase(locale) + name.slice(1);
  });

/** Translated when the language of the reader is known. */
export type MessageDescriptor = {
  readonly key: MessageKey;
  readonly values?: Readonly<Record<string, string | number>>;
};

/** @returns the message as plain text: for mail, for page titles, and in English for programs. */
export const translatePlain = (locale: Locale, { key, values = {} }: MessageDescriptor): string =>
  messageParts(locale, key, values).join('');

const parsed = new Map<string, IntlMessageFormat>();

/** Gets a message that was read in English, since its language has no text for it: one of a console on a page for people. */
export const untranslated = channel('signet:untranslated');

/** Parses a message when it is first used: a command needs few of them. */
export function messageParts<T>(locale: Locale, key: MessageKey, values: Readonly<Record<string, T>>) {
  const known = locales.includes(locale) ? locale : (findLocale(locale) ?? fallbackLocale);
  const isThere = messagesIn(known)[key] !== undefined;
  if (!isThere && untranslated.hasSubscribers) untranslated.publish({ locale: known, key });
  const language = isThere ? known : fallbackLocale;
  const message = parsed.getOrInsertComputed(
    `${language} ${key}`,
    () => new IntlMessageFormat(messagesIn(language)[key]!, language, undefined, { ignoreTag: true }),
  );
  // The library throws if a value is missing; the message is better without the word.
  const orEmpty = new Proxy({}, { has: () => true, get: (_, name: string) => values[name] });
  return message.formatToParts<T>(orEmpty).map(({ value }) => value);
}

/** For `error_description` and the messages of `fields`. */
export const inEnglish = (sentence: MessageDescriptor): string => translatePlain('en', sentence);

const finders = new WeakMap<readonly Locale[], ReturnType<typeof localeFinder>>();
const finderOf = (offered: readonly Locale[]) => finders.getOrInsertComputed(offered, () => localeFinder(offered));

/**
 * The language of a page: `ui_locales` (OIDC Core §3.1.2.1), then the user's own setting, then Accept-Language.
 * @param offered the languages to choose from, of which the first is for those who read none of them.
 * @param preferredLocales lists of language tags, most important list first.
 */
export function chooseLocale(offered: readonly Locale[], ...preferredLocales: (string | null | undefined)[]): Locale {
  const find = finderOf(offered);
  for (const preferred of preferredLocales) {
    for (const tag of preferences(preferred ?? '')) {
      const locale = find(tag);
      if (locale !== undefined) return locale;
    }
  }
  return offered[0] ?? fallbackLocale;
}

/** Those of some languages in which the consoles are, or English. */
export function inConsole(offered: readonly Locale[]): readonly Locale[] {
  const some = offered.filter((locale) => consoleLocales.includes(locale));
  return some.length > 0 ? some : [fallbackLocale];
}

/** The reader's own variant of a language, for dates: `en-GB`, `zh-TW`. @param acceptLanguage the header. */
export function regionalTag(locale: Locale, acceptLanguage: string | undefined): Locale {
  const isRegional = (tag: string) => /^[a-z]{2,3}(-[a-z]{4})?-[a-z]{2}$/i.test(tag) && findLocale(tag) === locale;
  return preferences(acceptLanguage ?? '').find(isRegional) ?? locale;
}

/** As their own readers would look for them. */
export const byName = (some: readonly Locale[]): readonly Locale[] =>
  sorted.getOrInsertComputed(some, () =>
    some.toSorted((one, other) => nameOfLanguage(one).localeCompare(nameOfLanguage(other), fallbackLocale)),
  );
const sorted = new WeakMap<readonly Locale[], readonly Locale[]>();

/** Tags by descending quality. `ui_locales` is separated by spaces, Accept-Language by commas (RFC 9110 §12.5.4). */
function preferences(preferred: string): string[] {
  return preferred
    .slice(0, 500)
    .replace(/\s*;\s*/g, ';')
    .split(/[\s,]+/)
    .map((part) => {
      const [tag = '', quality = '1'] = part.split(';q=', 2);
      return { tag, quality: Number(quality) };
    })
    .filter(({ tag, quality }) => tag !== '' && quality > 0)
    .sort((one, other) => other.quality - one.quality)
    .map(({ tag }) => tag);
}

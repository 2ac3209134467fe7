import { readdirSync, readFileSync } from 'node:fs';
import { type Html, html, type Renderable } from '../http/html.ts';
import type en from './en.json';

/** A language is one JSON file beside this one, with the keys of English. Adding the file adds the language. */
export type MessageKey = keyof typeof en;
type Messages = Readonly<Record<MessageKey, string>>;

const languages: ReadonlyMap<string, Messages> = new Map(
  readdirSync(import.meta.dirname)
    .filter((name) => name.endsWith('.json'))
    .map((name) => [
      name.slice(0, -'.json'.length),
      JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8')) as Messages,
    ]),
);

/** A BCP 47 language tag for which there is a file. */
export type Locale = string;
export const locales: readonly Locale[] = [...languages.keys()];
const lastResort = 'en';

/** What a language calls itself: "Deutsch". */
export function nameOfLanguage(locale: Locale): string {
  const name = new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
  return name.charAt(0).toLocaleUpperCase(locale) + name.slice(1);
}

/** A sentence that is told in the language of whoever reads it. */
export type Sentence = { readonly key: MessageKey; readonly values?: Readonly<Record<string, string | number>> };

/**
 * A message with its `{placeholders}` filled in. What is filled in is escaped unless it is Html. A word that follows a
 * number is `{count:one=client|other=clients}`, with the plural categories of the language (Unicode CLDR).
 */
export type Translate = (key: MessageKey, values?: Readonly<Record<string, Renderable>>) => Html;

const messagesOf = (locale: Locale): Messages => languages.get(locale) ?? languages.get(lastResort)!;

export const translator =
  (locale: Locale): Translate =>
  (key, values = {}) => {
    const [first = '', ...rest] = messagesOf(locale)[key].split('{');
    return html`${first}${rest.map((part) => {
      const end = part.indexOf('}');
      const [name = '', forms] = part.slice(0, end).split(':', 2);
      const value = values[name];
      return html`${forms === undefined ? value : plural(locale, Number(value), forms)}${part.slice(end + 1)}`;
    })}`;
  };

function plural(locale: Locale, count: number, forms: string): string {
  const byCategory = new Map(forms.split('|').map((form) => form.split('=', 2) as [string, string]));
  return byCategory.get(new Intl.PluralRules(locale).select(count)) ?? byCategory.get('other') ?? '';
}

/** The same as plain text: for mail, for page titles, and in English for programs. */
export const translatePlain = (locale: Locale, { key, values = {} }: Sentence): string =>
  messagesOf(locale)[key].replace(/\{(\w+)(?::([^}]*))?\}/g, (_, name: string, forms: string | undefined) =>
    forms === undefined ? String(values[name] ?? '') : plural(locale, Number(values[name]), forms),
  );

/** For `error_description` and the messages of `fields`. */
export const inEnglish = (sentence: Sentence): string => translatePlain('en', sentence);

/**
 * The language of a page: `ui_locales` (OIDC Core §3.1.2.1), then the person's own setting, then Accept-Language.
 * @param wishes lists of language tags, most important list first.
 */
export function chooseLocale(...wishes: (string | null | undefined)[]): Locale {
  for (const wish of wishes) {
    for (const tag of preferences(wish ?? '')) {
      const language = tag.toLowerCase().split('-', 1)[0] ?? '';
      if (languages.has(language)) return language;
    }
  }
  return lastResort;
}

/** Tags by descending quality. `ui_locales` is separated by spaces, Accept-Language by commas (RFC 9110 §12.5.4). */
function preferences(wish: string): string[] {
  return wish
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

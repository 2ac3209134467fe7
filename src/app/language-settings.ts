import { ConfigError } from '../platform/errors.ts';
import { byName, type Locale, locales } from '../platform/i18n/translate.ts';

/** All that there are, with English for those who read none of them; or those that are named, the first of which is theirs. */
export function readLanguages(value: string | undefined): readonly Locale[] {
  const named = value?.split(/[\s,]+/).filter((tag) => tag !== '');
  if (named === undefined) return [...new Set(['en', ...byName(locales)])];
  const tags = new Map(locales.map((locale) => [locale.toLowerCase(), locale]));
  const known = named.map((tag) => tags.get(tag.toLowerCase()));
  if (named.length === 0 || known.includes(undefined)) {
    throw new ConfigError(`SIGNET_LANGUAGES must be languages of these, such as en,de: ${byName(locales).join(', ')}.`);
  }
  return [...new Set(known as Locale[])];
}

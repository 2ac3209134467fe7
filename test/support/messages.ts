import { readFileSync } from 'node:fs';
import { type MessageKey, translatePlain } from '../../src/platform/i18n/translate.ts';

/**
 * Texts of pages and mails, named by their keys: a test that asserts one must not fail when an editor rewords it.
 *
 * `message` is the text itself, for `getByLabel` and its like; `sentence` finds it in a page, a mail, or an answer, and
 * lets the values that are not given be anything; `pattern` composes several of them.
 */
type Values = Readonly<Record<string, string | number>>;

export const message = (key: MessageKey, values: Values = {}, locale = 'en'): string =>
  translatePlain(locale, { key, values });

const placeholders = Object.entries<string>(
  JSON.parse(readFileSync(new URL('../../src/platform/i18n/en.json', import.meta.url), 'utf8')),
).reduce(
  (all, [key, text]) =>
    all.set(
      key,
      [...text.matchAll(/\{(\w+)/g)].map(([, name = '']) => name),
    ),
  new Map<string, string[]>(),
);

const anything = '\u0000';

/** Finds the message, also where HTML has escaped it. */
export function sentence(key: MessageKey, values: Values = {}, locale = 'en'): RegExp {
  const open = Object.fromEntries((placeholders.get(key) ?? []).map((name) => [name, anything]));
  const text = message(key, { ...open, ...values }, locale);
  if (text.includes('NaN')) throw new Error(`${key} has a plural, so the test must give its number`);
  return new RegExp(asPattern(text).replaceAll(anything, '.*?'), 's');
}

const entities: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

const asPattern = (text: string): string =>
  text
    .replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
    .replace(/[&<>"']/g, (character) => `(?:${character}|&${entities[character]};)`);

/** A regular expression (flag s) with others in it: pattern`<h1>${sentence('consent.title')}</h1>`. */
export const pattern = ({ raw }: TemplateStringsArray, ...parts: RegExp[]): RegExp =>
  new RegExp(raw.map((literal, index) => literal + (parts[index]?.source ?? '')).join(''), 's');

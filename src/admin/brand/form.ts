import { headers } from '../../brand/brand-fields.ts';
import type { BrandEdit } from '../../brand/change-brand.ts';
import { type FieldProblem, invalidRequest } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { type BrandSettings, type FontName, type Place, places } from '../../platform/pages/brand.ts';
import { oneLine } from '../../platform/text.ts';
import { brandEditOf } from './operations.ts';

/** The members of which an empty field means that nothing is said. */
export const openFields = [
  'name',
  'button',
  'button_dark',
  'link',
  'link_dark',
  'background',
  'background_dark',
  'terms_url',
  'terms_since',
  'privacy_url',
  'help_url',
  'support',
] as const satisfies readonly (keyof BrandSettings)[];
export type OpenField = (typeof openFields)[number];

/** The field of what is said at a place, in the language that the form shows. */
export const wordsField = (place: Place) => `words_${place}` as const;

/** What the fields of the form have, by name. Words are those of one language. */
export type Values = Readonly<Record<string, string>>;

export const valuesOf = (settings: BrandSettings, language: Locale): Values => ({
  ...Object.fromEntries(openFields.map((field) => [field, settings[field] ?? ''])),
  header: settings.name_shown ? 'logo_and_name' : 'logo',
  radius: String(settings.radius),
  font: settings.font,
  ...Object.fromEntries(places.map((place) => [wordsField(place), settings.words[place]?.[language] ?? ''])),
});

/** @param fields names of fields that were posted, or would have been. */
export const typedIn = (form: Parameters, fields: Values): Values =>
  Object.fromEntries(Object.keys(fields).map((field) => [field, oneLine(form[field] ?? '')]));

/**
 * What was typed where it was changed, and what others have made of it meanwhile elsewhere.
 * @param base of which the form was drawn.
 */
export const mergedValues = (base: Values, typed: Values, newest: Values): Values =>
  Object.fromEntries(
    Object.entries(typed).map(([field, value]) => [field, value === base[field] ? (newest[field] ?? '') : value]),
  );

/** Words of the languages that the form does not show: a form of all of them would be a book. */
export type OtherWords = NonNullable<BrandEdit['words']>;

/** @throws {RequestError} `invalid_request`: it is a hidden field. */
export function otherWordsIn(form: Parameters): OtherWords {
  const refuse = () => invalidRequest('other_words must be what the form had in it.');
  let found: unknown;
  try {
    found = JSON.parse(form.other_words ?? '{}');
  } catch {
    throw refuse();
  }
  const isObject = (value: unknown): value is object =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const isText = (value: unknown) => value === null || typeof value === 'string';
  const isOfPlace = ([place, said]: [string, unknown]) =>
    places.some((one) => one === place) && isObject(said) && Object.values(said).every(isText);
  if (!isObject(found) || !Object.entries(found).every(isOfPlace)) throw refuse();
  return found as OtherWords;
}

/** What the form has in it. `changed`: by others, since it was drawn. */
export type Written = {
  readonly values: Values;
  readonly otherWords: OtherWords;
  readonly changed?: readonly string[];
};

/** The same form with words of another language in it. Those of the first one that were changed travel along. */
export function shownIn(
  { values, ...written }: Written,
  settings: BrandSettings,
  { from, to }: { from: Locale; to: Locale },
): Written {
  const ofPlace = (place: Place) => {
    const { [to]: said, ...others } = { ...written.otherWords[place], [from]: values[wordsField(place)] || null };
    const changed = Object.entries(others).filter(
      ([locale, text]) => text !== (settings.words[place]?.[locale] ?? null),
    );
    return { said: said === undefined ? settings.words[place]?.[to] : said, changed };
  };
  const all = places.map((place) => ({ place, ...ofPlace(place) }));
  return {
    ...written,
    values: { ...values, ...Object.fromEntries(all.map(({ place, said }) => [wordsField(place), said ?? ''])) },
    otherWords: Object.fromEntries(
      all.flatMap(({ place, changed }) => (changed.length > 0 ? [[place, Object.fromEntries(changed)]] : [])),
    ),
  };
}

/** Those of another language, and with them those that the form shows. */
function wordsIn(form: Parameters, language: Locale): OtherWords {
  const others = otherWordsIn(form);
  return Object.fromEntries(
    places.map((place) => [place, { ...others[place], [language]: oneLine(form[wordsField(place)] ?? '') || null }]),
  );
}

/** The body of the operation, as the form says it. */
export const bodyIn = (form: Parameters, language: Locale) => ({
  ...(Object.fromEntries(openFields.map((field) => [field, form[field]?.trim() || null])) as Record<
    OpenField,
    string | null
  >),
  header: headers.find((one) => one === form.header) ?? 'logo_and_name',
  radius: form.radius === undefined ? Number.NaN : Number(form.radius),
  font: (form.font ?? '') as FontName,
  words: wordsIn(form, language),
});

export const editIn = (form: Parameters, language: Locale): BrandEdit => brandEditOf(bodyIn(form, language));

/** As the form names its fields: words of a language that it does not show are at the choice of languages. */
export const atFields = (problems: readonly FieldProblem[], language: Locale): FieldProblem[] =>
  problems.map((problem) => {
    const [member, place, locale] = problem.path.split('/');
    if (member !== 'words') return problem;
    return { ...problem, path: locale === language ? `words_${place}` : 'words_language' };
  });

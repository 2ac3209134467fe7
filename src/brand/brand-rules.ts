import { type FieldProblem, fieldProblem } from '../platform/errors.ts';
import { locales } from '../platform/i18n/translate.ts';
import {
  type BrandPicture,
  type BrandSettings,
  fontNames,
  isTitle,
  longestTitle,
  longestWords,
  type PictureName,
  places,
  radii,
} from '../platform/pages/brand.ts';
import { isContact, isPageUrl } from '../platform/support.ts';
import { displayNameProblem, isSeen } from '../platform/text.ts';

/** Of the service, characters: it stands in the subjects of mails and in the tabs of browsers. */
export const longestBrandName = 40;

export const colours = ['button', 'button_dark', 'link', 'link_dark', 'background', 'background_dark'] as const;
const pages = ['terms_url', 'privacy_url', 'help_url'] as const;

/** Everything but the pictures, which are read where they come in. */
export function brandProblems(wanted: Omit<BrandSettings, 'pictures'>): FieldProblem[] {
  const problems: FieldProblem[] = [];
  const refuse = (path: string, key: Parameters<typeof fieldProblem>[1]['key'], values = {}) =>
    problems.push(fieldProblem(path, { key, values }));
  const { name, terms_since } = wanted;
  if (name !== null && (displayNameProblem(name) !== undefined || [...name].length > longestBrandName))
    refuse('name', 'problem.brand.name', { max: longestBrandName });
  for (const colour of colours) {
    const value = wanted[colour];
    if (value !== null && !/^#[0-9a-f]{6}$/.test(value)) refuse(colour, 'problem.brand.colour');
  }
  if (!Number.isInteger(wanted.radius) || wanted.radius < radii.min || wanted.radius > radii.max)
    refuse('radius', 'problem.brand.radius', radii);
  if (!fontNames.includes(wanted.font)) refuse('font', 'problem.brand.font', { fonts: fontNames.join(', ') });
  for (const page of pages) {
    const url = wanted[page];
    if (url !== null && !isPageUrl(url)) refuse(page, 'problem.brand.page');
  }
  if (wanted.support !== null && !isContact(wanted.support)) refuse('support', 'problem.brand.support');
  if (terms_since !== null && !isDay(terms_since)) refuse('terms_since', 'problem.brand.day');
  for (const [place, said] of Object.entries(wanted.words)) {
    const known = places.find((one) => one === place);
    if (known === undefined) {
      refuse(`words/${place}`, 'problem.brand.place', { places: places.join(', ') });
      continue;
    }
    const max = isTitle(known) ? longestTitle : longestWords;
    for (const [locale, text] of Object.entries(said)) {
      if (!locales.includes(locale)) refuse(`words/${place}/${locale}`, 'problem.brand.language');
      else if (typeof text !== 'string' || text.trim() === '' || [...text].length > max || !isSeen(text))
        refuse(`words/${place}/${locale}`, 'problem.brand.words', { max });
    }
  }
  return problems;
}

/** A day that does not exist would be another one. */
const isDay = (text: string): boolean => {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isFinite(at) && new Date(at).toISOString().startsWith(text);
};

/** KB of each picture: a page carries one logo, and stays small. */
export const picturesKb = { logo: 24, logo_dark: 24, icon: 8, touch_icon: 32 } as const satisfies Record<
  PictureName,
  number
>;
/** Pixels. */
export const longestSide = 2048;
const smallestSide = 16;
const widest = 12;
const tallest = 2;

/** @returns undefined if it may stand where pages show it. */
export function shapeProblem(
  picture: PictureName,
  { width, height, media_type }: Pick<BrandPicture, 'width' | 'height' | 'media_type'>,
): FieldProblem | undefined {
  const refuse = (key: Parameters<typeof fieldProblem>[1]['key'], values = {}) =>
    fieldProblem('content', { key, values });
  if (Math.min(width, height) < smallestSide || Math.max(width, height) > longestSide)
    return refuse('problem.brand.side', { min: smallestSide, max: longestSide });
  if (picture.startsWith('logo'))
    return width > widest * height || height > tallest * width
      ? refuse('problem.brand.ratio', { widest, tallest })
      : undefined;
  if (width !== height) return refuse('problem.brand.square');
  // Phones and some browsers read nothing else for these.
  return media_type === 'image/png' ? undefined : refuse('problem.brand.png');
}

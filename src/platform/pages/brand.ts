import type { Config } from '../config.ts';
import type { Locale } from '../i18n/translate.ts';

// What a service looks like and is called, as administrators say it. Whatever they leave out is as the settings have it.

/** Families that systems bring: no font is loaded, since the smallest weighs more than a page of ours. */
export const fonts = {
  system: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  humanist: 'Seravek, "Gill Sans Nova", Ubuntu, Calibri, "DejaVu Sans", "Noto Sans", sans-serif',
  geometric: 'Avenir, Montserrat, Corbel, "URW Gothic", "Noto Sans", sans-serif',
  grotesque: '"Helvetica Neue", Inter, Roboto, "Arial Nova", "Nimbus Sans", Arial, sans-serif',
  rounded:
    'ui-rounded, "Hiragino Maru Gothic ProN", Quicksand, Comfortaa, Manjari, "Arial Rounded MT Bold", sans-serif',
  serif: 'Charter, "Bitstream Charter", "Sitka Text", Cambria, "Noto Serif", serif',
  antiqua: '"Iowan Old Style", "Palatino Linotype", "URW Palladio L", P052, "Noto Serif", serif',
  monospace: 'ui-monospace, "Cascadia Code", "Source Code Pro", Menlo, Consolas, "DejaVu Sans Mono", monospace',
} as const satisfies Readonly<Record<string, string>>;
export type FontName = keyof typeof fonts;
export const fontNames = Object.keys(fonts) as FontName[];

/** Where a service may say something in its own words. `sign_in_title` and `sign_up_title` stand for ours, the others beside them. */
export const places = [
  'sign_in_title',
  'sign_in',
  'sign_up_title',
  'sign_up',
  'reset_password',
  'second_step',
  'lost_factors',
  'consent',
  'no_access',
  'error',
  'signed_out',
  'footer',
  'mail_footer',
] as const;
export type Place = (typeof places)[number];
/** Characters. */
export const longestTitle = 60;
export const longestWords = 300;
export const isTitle = (place: Place): boolean => place.endsWith('_title');

export const pictureNames = ['logo', 'logo_dark', 'icon', 'touch_icon'] as const;
export type PictureName = (typeof pictureNames)[number];

export type BrandPicture = {
  readonly picture_id: string;
  readonly media_type: string;
  readonly width: number;
  readonly height: number;
};

type Words = Readonly<Partial<Record<Locale, string>>>;

/** `null`: as the settings have it, or as it follows from the others. Colours are `#rrggbb`. */
export type BrandSettings = {
  readonly name: string | null;
  readonly name_shown: boolean;
  readonly button: string | null;
  readonly button_dark: string | null;
  readonly link: string | null;
  readonly link_dark: string | null;
  readonly background: string | null;
  readonly background_dark: string | null;
  /** Pixels, of a button; a card has more. */
  readonly radius: number;
  readonly font: FontName;
  readonly terms_url: string | null;
  readonly privacy_url: string | null;
  readonly help_url: string | null;
  /** As SIGNET_SUPPORT has it. */
  readonly support: string | null;
  /** Since when the terms are what they are: `YYYY-MM-DD`. */
  readonly terms_since: string | null;
  readonly pictures: Readonly<Partial<Record<PictureName, BrandPicture>>>;
  readonly words: Readonly<Partial<Record<Place, Words>>>;
};

export const plainBrand: BrandSettings = {
  name: null,
  name_shown: true,
  button: null,
  button_dark: null,
  link: null,
  link_dark: null,
  background: null,
  background_dark: null,
  radius: 8,
  font: 'system',
  terms_url: null,
  privacy_url: null,
  help_url: null,
  support: null,
  terms_since: null,
  pictures: {},
  words: {},
};
export const radii = { min: 0, max: 16 } as const;

/** Version 0 is the one of the settings. */
export type BrandVersion = { readonly version: number; readonly settings: BrandSettings };
export const noVersion: BrandVersion = { version: 0, settings: plainBrand };

/** What is shown: what administrators say, and otherwise what the settings say. */
export function inEffect({ brand, support }: Pick<Config, 'brand' | 'support'>, given: BrandSettings) {
  const settings = brand.inSettings ?? { name: brand.name, accent: brand.accent, support };
  return {
    ...given,
    name: given.name ?? settings.name,
    button: given.button ?? settings.accent,
    link: given.link ?? settings.accent,
    support: given.support ?? settings.support,
  };
}

/** What one agrees to with an account: pages, and since when the terms are what they are. */
export type Agreement = Readonly<Partial<Record<'terms_url' | 'terms_since' | 'privacy_url', string>>>;

/** @returns undefined if an account is created without agreeing to anything. */
export function agreementOf({
  terms_url,
  terms_since,
  privacy_url,
}: Pick<BrandSettings, 'terms_url' | 'terms_since' | 'privacy_url'>): Agreement | undefined {
  if (terms_url === null && privacy_url === null) return undefined;
  return {
    ...(terms_url !== null && { terms_url, ...(terms_since !== null && { terms_since }) }),
    ...(privacy_url !== null && { privacy_url }),
  };
}

/** What a service says at a place: in the reader's language, else in English, else in the first language that it says it in. */
export function wordsAt(
  { words }: Pick<BrandSettings, 'words'>,
  place: Place,
  locale: Locale,
): { text: string; lang: string } | undefined {
  const said: Readonly<Record<string, string | undefined>> = words[place] ?? {};
  const lang = [locale, 'en', ...Object.keys(said)].find((one) => said[one] !== undefined);
  return lang === undefined ? undefined : { text: said[lang]!, lang };
}

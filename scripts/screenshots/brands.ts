import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { previewOf } from '../../src/admin/brand/preview.ts';
import { readBrand, readBrandPicture, setBrand } from '../../src/brand/change-brand.ts';
import type { Deps } from '../../src/oauth/deps.ts';
import type { Locale } from '../../src/platform/i18n/translate.ts';
import { type BrandSettings, type PictureName, plainBrand } from '../../src/platform/pages/brand.ts';
import { html } from '../../src/platform/pages/html.ts';
import { viewIn } from '../../src/platform/pages/view.ts';

type Shown = {
  readonly said: Partial<BrandSettings>;
  readonly pictures: Readonly<Partial<Record<PictureName, string>>>;
  readonly language?: Locale;
};

/** Brands that are hard in one way each, by the name of their picture. */
export const brands = {
  wordmark: {
    said: { name: 'Fjordline', name_shown: false, button: '#14213d', link: '#14213d', font: 'grotesque' },
    pictures: { logo: 'wordmark', logo_dark: 'wordmark-dark' },
  },
  wide: {
    said: {
      ...{ name: 'Meridian', name_shown: false, button: '#0b6e4f', link: '#0b6e4f', background: '#efe6d5' },
      ...{ font: 'humanist', radius: 4, terms_url: 'https://meridian.example/terms', terms_since: '2027-03-01' },
      words: { sign_in: { en: 'Members of the society sign in with the address on their card.' } },
    },
    pictures: { logo: 'wide', logo_dark: 'wide-dark' },
  },
  yellow: {
    said: { name: 'Kanarie', button: '#ffd400', link: '#ffd400', font: 'rounded', radius: 16 },
    pictures: { logo: 'yellow' },
  },
  black: {
    said: { name: 'Onyx', button: '#000000', link: '#000000', background: '#000000', radius: 0 },
    pictures: { logo: 'black', logo_dark: 'black-dark' },
  },
  'right-to-left': {
    said: {
      ...{ name: 'מגדלור', button: '#7b2d8b', link: '#7b2d8b', help_url: 'https://migdalor.example/help' },
      words: { sign_in: { he: 'התחברו עם החשבון של האוניברסיטה.' }, mail_footer: { he: 'מגדלור, רחוב הנמל 1, חיפה' } },
    },
    pictures: { logo: 'right-to-left', logo_dark: 'right-to-left-dark' },
    language: 'he',
  },
  none: { said: {}, pictures: {} },
} as const satisfies Readonly<Record<string, Shown>>;
export type BrandName = keyof typeof brands;

const shown = [
  ['sign_in', 'light'],
  ['consent', 'dark'],
  ['mail', 'light'],
] as const;

/** A document with what people see of a brand: sign-in, consent in the dark, and a mail, as the preview of the console draws them. */
export async function brandSheet(deps: Deps, name: BrandName): Promise<string> {
  const { said, pictures, language = 'en' }: Shown = brands[name];
  const files = Object.entries(pictures).map(([picture, file]) => {
    const content = readFileSync(join(import.meta.dirname, 'brands', `${file}.png`));
    return [picture, readBrandPicture(picture as PictureName, content)] as const;
  });
  await setBrand(deps, { actor: 'cli' }, { ...plainBrand, ...said }, Object.fromEntries(files));
  await deps.branding.refresh();
  const { languages } = deps.config;
  const view = viewIn(deps, deps.branding.look, { locale: 'en', region: 'en', languages, may: () => true });
  const version = await readBrand(deps);
  const frames = shown.map(async ([subject, scheme]) => {
    const { markup } = await previewOf(deps, view, version, { subject, scheme, language });
    return html`<iframe srcdoc="${markup}" scrolling="no"></iframe>`;
  });
  return html`<!doctype html>
<meta charset="utf-8">
<style>body{display:flex;gap:14px;margin:0;padding:14px;background:#cfd3d1}iframe{flex:1;min-width:0;height:840px;border:0}</style>
${await Promise.all(frames)}`.toString();
}

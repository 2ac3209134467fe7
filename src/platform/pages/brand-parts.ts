import { betweenSentences } from '../i18n/formats.ts';
import { directionOf } from '../i18n/translate.ts';
import { type Place, wordsAt } from './brand.ts';
import type { Logo, Look } from './branding.ts';
import { inkOn, isLight } from './colours.ts';
import { type Html, html } from './html.ts';
import type { View } from './view.ts';

// What of the brand is the same on many pages.

/** In the head: what is drawn with, and what stands for the page outside of it. */
export const brandHead = (
  { branding: { stylesheets, icon, touchIcon } }: View,
  kind: keyof Look['stylesheets'],
): Html => html`<link rel="stylesheet" href="${stylesheets[kind].path}">
<link rel="icon" href="${icon.path}" type="${icon.type}">
${touchIcon && html`<link rel="apple-touch-icon" href="${touchIcon.path}">\n`}`;

/** The size of a logo in a line of so many pixels: as wide as it is, within reason. */
export const sizedTo = ({ width, height }: Pick<Logo, 'width' | 'height'>, line: number): Html =>
  html`width="${Math.min(Math.max(Math.round((width / height) * line), 8), line * 12)}" height="${line}"`;

const lineHeight = 28;

/**
 * Logo, name, or both. A logo alone says the name to those who do not see it. A background that is dark in either scheme has the logo for
 * the dark on it.
 */
export function brandMark({ branding: look }: Pick<View, 'branding'>, isOutside: boolean): Html {
  const { name, name_shown, background, background_dark, logoDark = look.logo } = look;
  const fits = (paper: string | null, otherwise: Logo) =>
    isOutside && paper !== null ? (isLight(inkOn(paper)) ? logoDark : look.logo) : otherwise;
  const [light, dark] = [fits(background, look.logo), fits(background_dark, logoDark)];
  const image = html`<img src="${light.path}" alt="${name_shown ? '' : name}" ${sizedTo(light, lineHeight)}>`;
  const drawn =
    dark === light
      ? image
      : html`<picture><source media="(prefers-color-scheme: dark)" srcset="${dark.path}" ${sizedTo(dark, lineHeight)}>${image}</picture>`;
  return name_shown ? html`${drawn} <bdi>${name}</bdi>` : drawn;
}

/** A square beside the logo of an app. Where the logo is one, it is another one in the dark, too. */
export function brandIcon({ branding: { icon, logo, logoDark } }: Pick<View, 'branding'>, side: number): Html {
  const image = html`<img src="${icon.path}" alt="" width="${side}" height="${side}">`;
  if (icon !== logo || logoDark === undefined || logoDark.width !== logoDark.height) return image;
  return html`<picture><source media="(prefers-color-scheme: dark)" srcset="${logoDark.path}">${image}</picture>`;
}

/** What the service says at a place in its own words. */
export function ownWords({ branding, locale }: Pick<View, 'branding' | 'locale'>, place: Place): Html | false {
  const said = wordsAt(branding, place, locale);
  return said !== undefined && html`<p class="own"${inLanguage(said.lang, locale)}>${said.text}</p>\n`;
}

const inLanguage = (lang: string, locale: string): Html | false =>
  lang !== locale && html` lang="${lang}" dir="${directionOf(lang)}"`;

/** A page of the service's own, which opens beside a form that is being filled in. */
const outsideLink = (url: string, label: string | Html): Html =>
  html`<a href="${url}" target="_blank" rel="noopener noreferrer">${label}</a>`;

const termsLink = ({ branding: { terms_url }, t }: View): Html | false =>
  terms_url !== null && outsideLink(terms_url, t('layout.terms'));
const privacyLink = ({ branding: { privacy_url }, t }: View): Html | false =>
  privacy_url !== null && outsideLink(privacy_url, t('layout.privacy'));
export const helpLink = ({ branding: { help_url }, t }: View): Html | false =>
  help_url !== null && outsideLink(help_url, t('layout.help'));

/** What one agrees to with an account, and since when it is so. */
export function agreement(view: View): Html | false {
  const [terms, privacy] = [termsLink(view), privacyLink(view)];
  if (!terms && !privacy) return false;
  const { terms_since } = view.branding;
  const since = terms_since !== null && view.t('signup.agree.since', { day: view.day(Date.parse(terms_since) / 1000) });
  const gap = betweenSentences(view.locale);
  return html`<p class="hint" id="agreement">${terms && html`${view.t('signup.agree', { terms })}${gap}${since}${gap}`}${privacy}</p>\n`;
}

/** At the foot of a page for people. @param content of the page: what it has said of whom to ask is not said twice. */
export function brandFoot(view: View, content: Html): Html | false {
  const { t } = view;
  const support = content.toString().includes(String(view.support)) ? undefined : view.support;
  const links = [termsLink(view), privacyLink(view), helpLink(view), support].flatMap((link) => (link ? [link] : []));
  const words = ownWords(view, 'footer');
  if (!words && links.length === 0) return false;
  const list = html`<nav aria-label="${t('layout.service')}"><ul>${links.map((link) => html`<li>${link}</li>`)}</ul></nav>\n`;
  return html`${words}${links.length > 0 && list}`;
}

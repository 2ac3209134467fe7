import { hash } from 'node:crypto';
import type { Scheme } from './colours.ts';
import { type Html, html } from './html.ts';
import { drawnForVisitor, type Page } from './page.ts';
import type { View } from './view.ts';

/** A document for a frame of a page of ours, and the policy that it is sent with. */
export type Framed = { readonly markup: string; readonly policy: string };

// Nothing in it can be followed, sent or run, whatever a draft says. It stays in our origin, so that the page around it can read it.
const policy = (style: string, images: string): string =>
  `default-src 'none'; style-src ${style}; img-src ${images}; form-action 'none'; frame-ancestors 'self'; base-uri 'none'; sandbox allow-same-origin`;

/** The scheme of the reader, or another one that is asked for. */
export type PreviewScheme = Scheme | 'browser';

const query = /\(prefers-color-scheme:\s*(dark|light)\)/g;
/** Conditions that always hold and never do, alone and beside others. */
const inScheme = (text: string, scheme: PreviewScheme): string =>
  scheme === 'browser'
    ? text
    : text.replaceAll(query, (_, one) => (one === scheme ? '(min-width:0)' : '(max-width:0)'));

/**
 * A page of a sign-in as it would be drawn with the brand of a view, for a frame: without scripts, with its stylesheet in it, and with what
 * was made for that brand alone, which has no path yet.
 * @param facts what the page around it reads of it, by name.
 */
export function previewOfPage(
  view: View,
  page: Page,
  scheme: PreviewScheme,
  facts: Readonly<Record<string, string>> = {},
): Framed {
  const { stylesheets, made } = view.branding;
  const schemes = scheme === 'browser' ? 'light dark' : scheme;
  const style = inScheme(stylesheets.card.content.toString('utf8'), scheme)
    .replace('color-scheme:light dark', `color-scheme:${schemes}`)
    .replaceAll('</', '<\\/');
  let markup = drawnForVisitor(view, page)
    .replaceAll(/<script src="[^"]*" defer><\/script>\n/g, '')
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>${metaOf(facts)}`)
    .replace(/(?<=<meta name="color-scheme" content=")[^"]*/, schemes)
    .replaceAll(/(?<=<source media=")[^"]*/g, (condition) => inScheme(condition, scheme))
    // A frame must not take the focus from the form that is being filled in.
    .replaceAll(/(<(?:input|button)\b[^>]*?)\sautofocus(?=[\s>])/g, '$1')
    .replace('<body', '<body inert');
  for (const { path, type, content } of made)
    if (type.startsWith('image/'))
      markup = markup.replaceAll(path, `data:${type};base64,${content.toString('base64')}`);
  return { markup, policy: policy(`'sha256-${hash('sha256', style, 'base64')}'`, "'self' data:") };
}

/** A mail, whose styles are in its elements, as mail programs have them. @param markup with its picture in it. */
export const previewOfMail = (markup: string, facts: Readonly<Record<string, string>> = {}): Framed => ({
  markup: markup.replace('<title>', () => `${metaOf(facts)}<title>`).replace('<body', '<body inert'),
  policy: policy("'unsafe-inline'", 'data:'),
});

const metaOf = (facts: Readonly<Record<string, string>>): Html =>
  html`${Object.entries(facts).map(([name, text]) => html`<meta name="fact:${name}" content="${text}">`)}`;

import type { FastifyInstance, FastifyReply } from 'fastify';
import { representations, sendRepresentation } from '../http/representations.ts';
import { locales, type MessageKey, nameOfLanguage } from '../i18n/translate.ts';
import type { Branding } from './branding.ts';
import { bindForms, isUnfinished } from './form.ts';
import { type Html, html } from './html.ts';
import type { View } from './view.ts';

export type Page = {
  status?: number;
  title: string;
  content: Html;
  /** The navigation that it belongs to. Without one, and without `aside`, the page is a card. */
  tab?: Tab;
  /** A navigation of its own. */
  aside?: Html;
  /** Files of `assets/` by name. The page works without them. */
  scripts?: readonly string[];
  /**
   * The redirect URI at which a form's answer may end. Browsers apply `form-action` to every redirect that follows a form,
   * also to those of the client behind its redirect URI, so only the scheme can be restricted.
   */
  endsAt?: string;
  /** What another site learns of this page from its form or links. Left out: nothing, and a form has `Origin: null`. */
  referrerPolicy?: 'origin';
};

const layout = (view: View, { title, content, tab, aside, scripts = [] }: Page): Html => {
  const { locale, branding, t } = view;
  return html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} - ${branding.name}</title>
<link rel="stylesheet" href="${branding.stylesheet.path}">
<link rel="icon" href="${branding.logo.path}" type="${branding.logo.type}">
${scripts.map((name) => html`<script src="${branding.scripts[name]?.path}" defer></script>\n`)}</head>
<body${(tab || aside) && html` class="account"`}>
<a class="skip" href="#main">${t('layout.skip')}</a>
<header class="brand"><a href="/account"><img src="${branding.logo.path}" alt="" width="28" height="28"> ${branding.name}</a>${tab && signOutForm(t)}</header>
${tab ? navigationOf(t, tab) : aside}<main id="main">
${
  isUnfinished(view.query) &&
  html`<div class="alert" role="alert"><p>${t('layout.not_submitted')}</p></div>
`
}${content}
</main>
${!tab && !aside && languageChoice(view)}</body>
</html>
`;
};

const signOutForm = (t: View['t']): Html => html`
<form method="post" action="/signout"><button type="submit" id="signout-submit" class="quiet">${t('account.sign_out')}</button></form>
`;

const navigationOf = (t: View['t'], { label, tabs, current }: Tab): Html =>
  html`<nav class="tabs" aria-label="${t(label)}">
<ul>${Object.entries(tabs).map(
    ([tab, { path, label }]) =>
      html`<li><a href="${path}"${tab === current && html` aria-current="page"`}>${t(label)}</a></li>`,
  )}</ul>
</nav>
`;

/** The same page in another language. A page that answers a form has no such link. */
function languageChoice({ locale, query, t }: View): Html | false {
  if (query === undefined) return false;
  const hrefFor = (other: string) => {
    const parameters = new URLSearchParams(query);
    parameters.set('ui_locales', other);
    return `?${parameters}`;
  };
  const entry = (other: string) =>
    other === locale
      ? html`<li><span lang="${other}" aria-current="true">${nameOfLanguage(other)}</span></li>`
      : html`<li><a href="${hrefFor(other)}" lang="${other}" hreflang="${other}">${nameOfLanguage(other)}</a></li>`;
  return html`<footer class="foot"><nav aria-label="${t('layout.languages')}"><ul>${locales.map(entry)}</ul></nav></footer>\n`;
}

export function sendPage(reply: FastifyReply, view: View, page: Page, status = page.status ?? 200): FastifyReply {
  const formAction = page.endsAt === undefined ? "'self'" : `'self' ${new URL(page.endsAt).protocol}`;
  const markup = layout(view, page).toString();
  const { signedInUser } = reply.request;
  const scripting = page.scripts?.length ? " script-src 'self'; connect-src 'self';" : '';
  return reply
    .code(status)
    .headers({
      'content-security-policy': `default-src 'none';${scripting} style-src 'self'; img-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'referrer-policy': page.referrerPolicy ?? 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    })
    .type('text/html; charset=utf-8')
    .send(signedInUser === undefined ? markup : bindForms(markup, signedInUser.user_id));
}

export async function assetRoutes(app: FastifyInstance, { branding }: { branding: Branding }) {
  for (const { path, type, content } of branding.assets) {
    const forms = representations(content);
    app.get(path, async (request, reply) => {
      reply.header('cache-control', 'public, max-age=31536000, immutable');
      return sendRepresentation(request, reply, forms, type);
    });
  }
}

type Tabs = Readonly<Record<string, { path: string; label: MessageKey }>>;

/** A navigation, and the page's tab in it. `label` names it for screen readers. */
type Tab = { label: MessageKey; tabs: Tabs; current: string };

export const navigation =
  <const Known extends Tabs>(label: MessageKey, tabs: Known) =>
  (current: keyof Known & string): Tab => ({ label, tabs, current });

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { absentParts } from '../db/absent-parts.ts';
import { notFound } from '../errors.ts';
import { representations, sendRepresentation } from '../http/representations.ts';
import { byName, directionOf, type Locale, type MessageKey, nameOfLanguage } from '../i18n/translate.ts';
import type { Place } from './brand.ts';
import { brandFoot, brandHead, brandMark, helpLink, ownWords } from './brand-parts.ts';
import type { Branding } from './branding.ts';
import { bindForms, hidden, isUnfinished, type SignedInUser } from './form.ts';
import { Html, html, type Renderable, untrusted, untrustedEmail } from './html.ts';
import { personAvatar } from './initials.ts';
import { linkProblems, withFocus } from './messages.ts';
import { refill } from './refill.ts';
import type { View } from './view.ts';

export type Page = {
  status?: number;
  title: string;
  content: Html;
  /** The navigation that it belongs to. Without one, and without `aside`, the page is a card. */
  tab?: Tab;
  /** The pages between the one of the tab and this one, outermost first. */
  above?: readonly { path: string; label: Renderable }[];
  /** A navigation of its own, and the page that the logo leads to. */
  aside?: { home: string; content: Html };
  /** Files of `assets/` by name. The page works without them. */
  scripts?: readonly string[];
  /** Where the service may say something below the heading. */
  words?: Place;
  /** Where a form may end that does not end here: a redirect URI, or the issuer of a provider. */
  endsAt?: string;
  /** It shows a document of ours in a frame. */
  hasFrame?: boolean;
  /** What another site learns of this page from its form or links. Left out: nothing. */
  referrerPolicy?: 'origin';
};

/** What the layout knows of the request. */
type Visit = {
  url: string;
  user: SignedInUser | undefined;
  counts: TabCounts | undefined;
  due: SecondFactorDue | undefined;
  /** The form that a sign-in had interrupted is filled in. */
  isKept?: boolean;
  /** It says why a form was refused. */
  isRefusal: boolean;
  /** It answers a form. */
  isAnswer: boolean;
};

const layout = (view: View, page: Page, visit: Visit): Html => {
  const { title, content, tab, aside } = page;
  const scripts = scriptsOf(page);
  const { locale, branding, t } = view;
  const home = tab ? tabsFor(view, tab)[0]![1].path : (aside?.home ?? '/account');
  return html`<!doctype html>
<html lang="${locale}"${directionOf(locale) === 'rtl' && html` dir="rtl"`}${visit.isAnswer && html` data-answer`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${visit.isRefusal ? t('layout.error', { title }) : title} - ${branding.name}</title>
${brandHead(view, tab || aside ? 'area' : 'card')}${scripts.map((name) => html`<script src="${branding.scripts[name]?.path}" defer></script>\n`)}</head>
<body${(tab || aside) && html` class="${tab?.isWide ? 'account wide' : 'account'}"`}>
<a class="skip" href="#main">${t('layout.skip')}</a>
<header class="brand"><a href="${home}">${brandMark(view, !tab && !aside)}</a>${
    tab &&
    visit.user &&
    html`${tab.search && searchField(view, tab.search, visit.url)}${userMenu(view, visit.user, visit.url)}`
  }</header>
${tab ? navigationOf(view, tab, visit.counts) : aside?.content}<main id="main">
${tab && breadcrumbs(t, tab, page.above, visit.url)}${absentNotice(view)}${tab && visit.due && dueNotice(view, visit.due, visit.url)}${
  isUnfinished(view.query) &&
  (visit.isKept
    ? html`<div class="notice" role="status"><p>${t('layout.kept', { link: html`<a href="#kept">${t('layout.kept.link')}</a>` })}</p></div>
`
    : html`<div class="alert" role="alert"><p>${t('layout.not_submitted')}</p></div>
`)
}${page.words === undefined ? content : belowHeading(content, ownWords(view, page.words))}
</main>
${!tab && !aside && foot(view, content)}</body>
</html>
`;
};

const belowHeading = (content: Html, words: Html | false): Html =>
  words ? Html.trusted(content.toString().replace('</h1>', () => `</h1>\n${words}`)) : content;

/** Times are shown in the reader's own zone. */
const scriptsOf = ({ scripts = [], content }: Page): readonly string[] => [
  'page',
  ...scripts,
  ...(content.toString().includes('<time ') ? ['local-times'] : []),
];

/** A query is not repeated: it may have a code in it. */
const pathOf = (url: string): string => url.split('?', 1)[0]!;

/** The search of an area, on each of its pages. `page.js` leads to it from the keyboard. */
const searchField = ({ query, plain }: View, { path, label }: NonNullable<Tab['search']>, url: string): Html => {
  const typed = (pathOf(url) === path && new URLSearchParams(query).get('q')) || '';
  const name = plain(label);
  const named = html`placeholder="${name}" aria-label="${name}" aria-keyshortcuts="Control+K Meta+K"`;
  const field = html`<input id="jump" name="q" type="search" maxlength="254" autocomplete="off" value="${typed}" ${named}>`;
  return html`<form method="get" action="${path}" role="search" aria-label="${name}" class="jump">${field}</form>`;
};

/** Who is signed in, and the way to every area that they may enter. */
function userMenu(view: View, user: SignedInUser, url: string): Html {
  const { t, query } = view;
  const name = untrusted(user.name ?? user.email, 100);
  const help = helpLink(view);
  const link = (path: string, key: MessageKey) => html`<li><a href="${path}">${t(key)}</a></li>`;
  return html`<details class="menu"><summary id="user-menu">${personAvatar(view, user, 'small')} ${name}</summary>
<div>
<p><strong>${name}</strong>${user.name !== null && html`<br>${untrustedEmail(user.email)}`}</p>
<nav aria-label="${t('layout.areas')}"><ul>
${link('/account', 'account.navigation')}${link('/developer', 'developer.navigation')}${user.role !== 'user' && link('/admin', 'admin.navigation')}${help && html`<li>${help}</li>`}
</ul></nav>
<form method="post" action="/account/language">${hidden('next', query === undefined ? undefined : pathOf(url))}
${languageMenu(view)}</form>
<form method="post" action="/signout"><button type="submit" id="signout-submit" class="quiet">${t('account.sign_out')}</button></form>
</div></details>`;
}

/** A few languages are a click away; many are behind one. */
function languageMenu({ locale, languages, t }: View): Html {
  const others = byName(languages)
    .filter((other) => other !== locale)
    .map((other) => languageButton(other, 'locale'));
  return others.length <= 3
    ? html`${others}`
    : html`<details class="languages"><summary>${t('account.language')}</summary>
${others}</details>`;
}

/** Those that the reader may open. */
const tabsFor = (view: View, { tabs }: Tab) =>
  Object.entries(tabs).filter(([, { needs }]) => needs === undefined || view.may(needs));

const navigationOf = (view: View, tab: Tab, counts: TabCounts = {}): Html => {
  const { t } = view;
  const { label, current } = tab;
  return html`<nav class="tabs" aria-label="${t(label)}">
<ul>${tabsFor(view, tab).map(
    ([name, { path, label }]) =>
      html`<li><a href="${path}"${name === current && html` aria-current="page"`}>${t(label)}${countBadge(t, counts[name])}</a></li>`,
  )}</ul>
</nav>
`;
};

const countBadge = (t: View['t'], count = 0): Html | false =>
  count > 0 &&
  html` <span class="badge warn" aria-hidden="true">${count > maxCount ? `${maxCount}+` : count}</span><span class="unseen"> (${t('layout.waiting', { count: Math.min(count, maxCount) })})</span>`;

/** Where a page below that of its tab stands; from the tab's own page nothing leads up. */
function breadcrumbs(t: View['t'], { tabs, current }: Tab, between: Page['above'] = [], url: string): Html | false {
  const { path, label } = tabs[current]!;
  if (pathOf(url) === path) return false;
  const entries = [{ path, label: t(label) }, ...between];
  return html`<nav class="above" aria-label="${t('layout.above')}"><ol>${entries.map(
    (one) => html`<li><a href="${one.path}">${one.label}</a></li>`,
  )}</ol></nav>
`;
}

/** In time, and on every page: it can be dealt with in a minute. */
function dueNotice(view: View, { from, notice }: SecondFactorDue, url: string): Html {
  const query = new URLSearchParams({ next: view.query === undefined ? '/account' : pathOf(url) }).toString();
  const link = html`<a href="/signin/set-up?${query}">${view.t('layout.second_factor_due.link')}</a>`;
  return html`<div class="advice" id="second-factor-due"><p>${view.t(notice, { day: view.day(from) })} ${link}</p></div>
`;
}

/** Of a page that shows rows of all parts of the store, while some of them are away. */
function absentNotice({ t }: View): Html | false {
  const absent = absentParts();
  if (absent.length === 0) return false;
  return html`<div class="advice" id="absent-parts" role="status"><p>${t('layout.absent_parts', { parts: absent.join(', ') })}</p></div>
`;
}

function foot(view: View, content: Html): Html | false {
  const [brand, languages] = [brandFoot(view, content), languageChoice(view)];
  return (brand || languages) && html`<footer class="foot">${brand}${languages}</footer>\n`;
}

/** The same page in another language. A page that answers a form has no such choice. */
function languageChoice({ locale, languages, query, t }: View): Html | false {
  if (query === undefined || languages.length < 2) return false;
  const kept = [...new URLSearchParams(query)].filter(([name]) => name !== 'ui_locales');
  return html`<details class="languages"><summary><span class="unseen">${t('layout.languages')}: </span><span lang="${locale}">${nameOfLanguage(locale)}</span></summary>
<form method="get">${kept.map(([name, value]) => hidden(name, value))}
${byName(languages).map((other) => languageButton(other, 'ui_locales', other === locale))}</form></details>`;
}

const languageButton = (language: Locale, name: string, isCurrent = false): Html =>
  html`<button type="submit" class="quiet" name="${name}" value="${language}" lang="${language}"${isCurrent && html` aria-current="true"`}>${nameOfLanguage(language)}</button>`;

export function sendPage(reply: FastifyReply, view: View, page: Page, status = page.status ?? 200): FastifyReply {
  const markup = render(reply.request, view, page, status);
  const connecting = page.scripts?.length ? " connect-src 'self';" : '';
  const framed = page.hasFrame ? " frame-src 'self';" : '';
  return reply
    .code(status)
    .headers({
      'content-security-policy': `default-src 'none'; script-src 'self';${connecting}${framed} style-src 'self'; img-src 'self';${formAction(page)} frame-ancestors 'none'; base-uri 'none'`,
      'x-frame-options': 'DENY',
      'x-robots-tag': 'noindex, nofollow',
      // With `no-referrer`, a browser would send `Origin: null` with our own forms (Fetch §3.2).
      'referrer-policy': page.referrerPolicy ?? 'same-origin',
      ...(!isInFlow(reply.request) && { 'cross-origin-opener-policy': 'same-origin' }),
      'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    })
    .type('text/html; charset=utf-8')
    .send(markup);
}

/**
 * Browsers apply `form-action` to every redirect that follows a form, also to those of the site where it ends. Where that one
 * sends its visitors is not known here, and may be the scheme of an app; behind a scheme that is no web address nothing follows.
 */
function formAction({ endsAt }: Page): string {
  if (endsAt === undefined) return " form-action 'self';";
  const { protocol } = new URL(endsAt);
  return /^https?:$/.test(protocol) ? '' : ` form-action 'self' ${protocol};`;
}

/** An app may have opened it in a popup, which tells the app by its opener how the sign-in ended. */
const isInFlow = ({ isForClient, url }: FastifyRequest): boolean => isForClient || /^\/(?:oauth|auth)\//.test(url);

function render(
  { method, url, signedInUser, tabCounts, secondFactorDue, keptForm }: FastifyRequest,
  view: View,
  page: Page,
  status: number,
): string {
  const isRefusal = status >= 400 && page.content.toString().includes('<div class="alert" role="alert"');
  const isAnswer = method === 'POST';
  const visit = { url, user: signedInUser, counts: tabCounts, due: secondFactorDue, isRefusal, isAnswer };
  const draw = (isKept: boolean) => {
    const markup = withFocus(linkProblems(layout(view, page, { ...visit, isKept }).toString()));
    return bindForms(markup, signedInUser?.user_id);
  };
  return (keptForm && refill(draw(true), keptForm.path, keptForm.typed)) ?? draw(false);
}

/** A page as a visitor sees it who is not signed in, for a document of its own: without ids of forms. */
export const drawnForVisitor = (view: View, page: Page): string =>
  layout(view, page, {
    url: '/',
    user: undefined,
    counts: undefined,
    due: undefined,
    isRefusal: false,
    isAnswer: false,
  }).toString();

export async function assetRoutes(app: FastifyInstance, { branding }: { branding: Branding }) {
  // RFC 9309. A page that may not be read could not say that it is not to be listed, so only what leads nowhere is kept out.
  app.get('/robots.txt', async (_request, reply) =>
    reply
      .header('cache-control', 'public, max-age=86400')
      .type('text/plain; charset=utf-8')
      .send('User-agent: *\nDisallow: /oauth/\nDisallow: /auth/\nDisallow: /v1/\n'),
  );
  // For what asks for it without having read a page.
  app.get('/favicon.ico', async (_request, reply) =>
    reply.header('cache-control', 'public, max-age=86400').redirect(branding.look.icon.path, 302),
  );
  const forms = new WeakMap<Buffer, ReturnType<typeof representations>>();
  app.get<{ Params: { file: string } }>('/assets/:file', async (request, reply) => {
    const found = await branding.find(`/assets/${request.params.file}`);
    if (!found) throw notFound();
    reply.headers({
      'cache-control': 'public, max-age=31536000, immutable',
      // A picture may be opened alone, and an SVG of the operator's is a document.
      ...(found.type.startsWith('image/') && {
        'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      }),
    });
    return sendRepresentation(request, reply, forms.getOrInsertComputed(found.content, representations), found.type);
  });
}

/** `needs`: the permission without which a tab is left out. */
type Tabs = Readonly<Record<string, { path: string; label: MessageKey; needs?: string }>>;

/** A navigation, and the page's tab in it. `label` names it for screen readers. `search`: the page of what its field has found. */
type Tab = {
  label: MessageKey;
  tabs: Tabs;
  current: string;
  isWide: boolean;
  search: { path: string; label: MessageKey } | undefined;
};

/** What waits behind a tab, by its name. Counted as far as one more than {@link maxCount}. */
export type TabCounts = Readonly<Record<string, number>>;
export const maxCount = 99;

/** A user without a second factor will need one. `from`: Unix seconds. */
export type SecondFactorDue = {
  readonly from: number;
  readonly notice: 'layout.second_factor_due' | 'layout.admin_factor_due';
};

declare module 'fastify' {
  interface FastifyRequest {
    /** It belongs to a sign-in or sign-out that a client has begun. */
    isForClient: boolean;
    tabCounts?: TabCounts;
    secondFactorDue?: SecondFactorDue;
  }
}

/** @param options.wide for areas of tables: their pages are wider, and the text on them is not. */
export const navigation =
  <const Known extends Tabs>(
    label: MessageKey,
    tabs: Known,
    { wide: isWide = false, search }: { wide?: boolean; search?: Tab['search'] } = {},
  ) =>
  (current: keyof Known & string): Tab => ({ label, tabs, current, isWide, search });

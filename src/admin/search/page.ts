import type { findUsers } from '../../accounts/users.ts';
import type { findClients } from '../../clients/find-clients.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { moreLink, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { statusBadge } from '../clients/list-page.ts';
import { adminTab, clientPath } from '../components.ts';
import { isOffered, settingPath, shownValue } from '../settings/page.ts';
import { settingText } from '../settings/setting-text.ts';
import { userBadges } from '../users/list-page.ts';
import type { pagesNamed } from './find-pages.ts';
import type { settingsNamed } from './find-settings.ts';

type Found = {
  /** Empty: nothing was looked for, and all pages are listed. */
  query: string;
  pages: ReturnType<typeof pagesNamed>;
  people?: Awaited<ReturnType<typeof findUsers>>;
  clients?: Awaited<ReturnType<typeof findClients>>;
  settings?: ReturnType<typeof settingsNamed> | undefined;
};

export function searchPage(view: View, { query, pages, people, clients, settings }: Found): Page {
  const typed = html`<q>${untrusted(query, 254)}</q>`;
  const hasMore = people?.next !== undefined || clients?.next !== undefined;
  const isEmpty =
    ![pages, people?.users, clients?.clients, settings?.settings].some((found) => found?.length) && !hasMore;
  return {
    title: view.plain('admin.search.title'),
    tab: adminTab('admin'),
    content: html`<h1>${view.t('admin.search.title')}</h1>
<p class="soft">${query === '' ? view.t('admin.search.intro') : view.t(isEmpty ? 'admin.find.none' : 'admin.find.found', { query: typed })}</p>
${people && peopleFound(view, query, people)}${clients && clientsFound(view, query, clients)}${
  pages.length > 0 &&
  section(
    view,
    'admin.search.pages',
    pages.map(({ path, label }) => html`<li><div><a href="${path}">${view.t(label)}</a></div></li>\n`),
  )
}
${settings && settingsFound(view, settings)}${query !== '' && view.may('audit:read') && html`<p><a href="${pathWith('/admin/audit', { who: query })}" id="search-audit">${view.t('admin.search.audit', { query: typed })}</a></p>`}`,
  };
}

const section = (view: View, title: MessageKey, items: readonly Html[], rest: Html | false = false): Html | false =>
  (items.length > 0 || rest !== false) &&
  html`<h2>${view.t(title)}</h2>
${items.length > 0 && html`<ul class="items">${items}</ul>`}
${rest}
`;

function peopleFound(view: View, query: string, { users, next, complete }: NonNullable<Found['people']>) {
  const items = users.map(
    (user) => html`<li><div>
<h3><a href="/admin/users/${user.user_id}">${untrusted(user.name ?? user.email, 254)}</a>${userBadges(view, user)}</h3>
${user.name !== null && html`<p>${untrustedEmail(user.email)}</p>`}</div></li>
`,
  );
  return section(view, 'admin.tab.users', items, rest(view, query, { area: 'users', next, complete }));
}

function clientsFound(view: View, query: string, { clients, next, complete }: NonNullable<Found['clients']>) {
  const items = clients.map(
    (client) => html`<li><div>
<h3><a href="${clientPath(client)}">${untrusted(client.name)}</a> ${statusBadge(view, client)}</h3>
<p><code>${client.client_id}</code></p></div></li>
`,
  );
  return section(view, 'admin.tab.clients', items, rest(view, query, { area: 'clients', next, complete }));
}

function settingsFound(view: View, { settings, hasMore }: NonNullable<Found['settings']>) {
  const items = settings.map(
    (setting) => html`<li><div>
<h3><a href="${isOffered(view, setting) ? settingPath(setting) : `/admin/settings#${setting.name}`}"><code>${setting.name}</code></a></h3>
<p>${view.t(settingText(setting.name))}</p>
<p>${shownValue(view, setting)} (${view.t(`admin.settings.source.${setting.source}`)})</p></div></li>
`,
  );
  const what = html`<p class="soft">${view.t('admin.settings.where')}</p>`;
  const more = hasMore && moreLink('search-settings', '/admin/settings', view.t('admin.search.all_settings'));
  return section(view, 'admin.settings.title', items, items.length > 0 && html`${what}${more}`);
}

type Rest = { area: 'users' | 'clients'; next: string | undefined; complete: boolean };

/** Where all that match are listed, and what the search does not know yet. */
const rest = (view: View, query: string, { area, next, complete }: Rest): Html | false =>
  (next !== undefined || !complete) &&
  html`${!complete && html`<p class="advice">${view.t(`admin.${area}.find.incomplete`)}</p>\n`}${
    next !== undefined &&
    moreLink(`search-${area}`, pathWith(`/admin/${area}`, { q: query }), view.t(`admin.search.all_${area}`))
  }`;

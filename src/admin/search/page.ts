import type { findUsers } from '../../accounts/users.ts';
import type { findClients } from '../../clients/find-clients.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { moreLink, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { statusBadge } from '../clients/list-page.ts';
import { adminTab, clientPath } from '../components.ts';
import { userBadges } from '../users/list-page.ts';
import type { pagesNamed } from './find-pages.ts';

type Found = {
  /** Empty: nothing was looked for, and all pages are listed. */
  query: string;
  pages: ReturnType<typeof pagesNamed>;
  people?: Awaited<ReturnType<typeof findUsers>>;
  clients?: Awaited<ReturnType<typeof findClients>>;
};

export function searchPage(view: View, { query, pages, people, clients }: Found): Page {
  const typed = html`<q>${untrusted(query, 254)}</q>`;
  const hasMore = people?.next !== undefined || clients?.next !== undefined;
  const isEmpty = pages.length === 0 && !hasMore && !people?.users.length && !clients?.clients.length;
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
${query !== '' && view.may('audit:read') && html`<p><a href="${pathWith('/admin/audit', { who: query })}" id="search-audit">${view.t('admin.search.audit', { query: typed })}</a></p>`}`,
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

type Rest = { area: 'users' | 'clients'; next: string | undefined; complete: boolean };

/** Where all that match are listed, and what the search does not know yet. */
const rest = (view: View, query: string, { area, next, complete }: Rest): Html | false =>
  (next !== undefined || !complete) &&
  html`${!complete && html`<p class="advice">${view.t(`admin.${area}.find.incomplete`)}</p>\n`}${
    next !== undefined &&
    moreLink(`search-${area}`, pathWith(`/admin/${area}`, { q: query }), view.t(`admin.search.all_${area}`))
  }`;

import { type Client, type ClientStatus, hasPendingChange } from '../../clients/client.ts';
import type { ListedClient } from '../../clients/read-review.ts';
import type { Risk } from '../../clients/risk-signals.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { badge, moreLink, pathWith, type Tone } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, doneNotice } from '../components.ts';

/** What the list can be narrowed to. `waiting` is everything that an administrator should look at. */
export const clientFilters = ['waiting', 'changes', 'approved', 'rejected', 'suspended', 'all'] as const;
export type ClientFilter = (typeof clientFilters)[number];

export type ClientListView = {
  filter: ClientFilter;
  clients: readonly ListedClient[];
  /** Where the next page begins; undefined on the last one. */
  next: string | undefined;
  query: Parameters;
};

const statusTone: Readonly<Record<ClientStatus, Tone>> = {
  pending_review: 'off',
  approved: 'good',
  rejected: 'warn',
  suspended: 'warn',
};

export const clientsPage = (view: View, { filter, clients, next, query }: ClientListView): Page => ({
  title: view.plain('admin.clients.title'),
  tab: adminTab('admin_clients'),
  content: html`<h1>${view.t('admin.clients.title')}</h1>
${doneNotice(view, { query }, 'clients', ['deleted'])}
<nav aria-label="${view.t('admin.clients.filter')}"><p class="actions">${clientFilters.map(
    (one) =>
      html`<a href="${pageOf({ state: one, q: query.q })}"${one === filter && html` aria-current="page"`}>${view.t(`admin.clients.filter.${one}`)}</a>\n`,
  )}</p></nav>
<form method="get" action="/admin/clients" role="search">
<label for="q">${view.t('admin.clients.find')}</label>
<input id="q" name="q" type="search" maxlength="100" autocomplete="off" value="${query.q ?? ''}">
<button type="submit" class="quiet" id="clients-find">${view.t('admin.users.find.submit')}</button>
</form>
${
  clients.length === 0
    ? nothing(view, filter, query.q, next)
    : html`<ul class="items">${clients.map((listed) => clientItem(view, listed))}</ul>`
}
${next !== undefined && moreLink('clients-more', pageOf({ state: filter, q: query.q, after: next }), view.t('admin.clients.more'))}`,
});

const pageOf = (query: { state: ClientFilter; q?: string; after?: string }) => pathWith('/admin/clients', query);

/** What was looked through, and how to look further. */
function nothing(view: View, filter: ClientFilter, q: string | undefined, next: string | undefined): Html {
  if (next !== undefined) return html`<p class="empty">${view.t('admin.clients.none.yet')}</p>`;
  if (!q) {
    const isQueue = filter === 'waiting' || filter === 'changes';
    return html`<p class="empty">${view.t(isQueue ? 'admin.clients.none.waiting' : 'admin.clients.none')}</p>`;
  }
  const where = view.t(`admin.clients.filter.${filter}`);
  return html`<div class="empty"><p>${
    filter === 'all'
      ? view.t('admin.clients.none.anywhere', { query: html`<q>${untrusted(q)}</q>` })
      : view.t('admin.clients.none.here', { query: html`<q>${untrusted(q)}</q>`, where: html`<q>${where}</q>` })
  }</p>
<p>${filter !== 'all' && html`<a href="${pageOf({ state: 'all', q })}">${view.t('admin.clients.find.everywhere')}</a> `}<a href="/admin/clients">${view.t('admin.clients.find.clear')}</a></p></div>`;
}

const clientItem = (view: View, { client, owner, risks }: ListedClient) => html`<li><div>
<h2><a href="/admin/clients/${client.client_id}">${untrusted(client.name)}</a> ${statusBadge(view, client)}</h2>
<p>${owner === null ? view.t('admin.clients.ownerless') : untrusted(owner, 254)} · ${view.t('admin.clients.since', { when: view.ago(client.updated_at) })}</p>
${risks.length > 0 && html`<p>${risks.map((risk) => html`${riskBadge(view, risk)} `)}</p>`}
</div></li>
`;

/** In words, so that the colour only underlines them. */
export const riskBadge = (view: View, { code, severity }: Risk) =>
  badge(view.t(`admin.risk.${code}`), severity === 'warning' ? 'warn' : 'off');

export const statusBadge = (view: View, client: Client) =>
  html`${badge(view.t(`admin.clients.status.${client.status}`), statusTone[client.status])}${hasPendingChange(client) && html` ${badge(view.t('admin.clients.status.change'), 'off')}`}`;

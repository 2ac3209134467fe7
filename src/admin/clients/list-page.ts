import type { User } from '../../accounts/statements.ts';
import type { ClientStatus } from '../../clients/choices.ts';
import { type Client, hasPendingChange } from '../../clients/client.ts';
import { countedAtMost, type Order } from '../../clients/find-clients.ts';
import { logoOf } from '../../clients/logos.ts';
import { originHostOf } from '../../clients/presentation.ts';
import type { ListedClient } from '../../clients/read-review.ts';
import type { Risk } from '../../clients/risk-signals.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Html, html, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { appMark } from '../../platform/pages/initials.ts';
import { badge, counted, emptyList, pager, pathWith, type Tone } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, buttonForm, clientPath, doneNotice, searchForm } from '../components.ts';
import { hostsPath } from './hosts-page.ts';

/** What the list can be narrowed to. `waiting` is everything that an administrator should look at. */
export const clientFilters = [
  'waiting',
  'outside',
  'changes',
  'unseen_logo',
  'approved',
  'rejected',
  'suspended',
  'all',
] as const;
export type ClientFilter = (typeof clientFilters)[number];

/** A list, or what a search in all states has found. */
export type ClientListView = {
  filter: ClientFilter;
  order: Order;
  /** Empty for a list. */
  q: string;
  clients: readonly (ListedClient & { lastSignIn: number | null })[];
  /** Where the next page begins; undefined on the last one. */
  next: string | undefined;
  /** Whether the search knows all clients by now. */
  complete: boolean;
  counts: Readonly<Record<ClientFilter, number>>;
  query: Parameters;
  /** Whether clients may come by metadata documents. */
  readsDocuments: boolean;
  /** Of the reader, who has stopped the daily ones. */
  wantsNoMails: boolean;
};

const statusTone: Readonly<Record<ClientStatus, Tone>> = {
  pending_review: 'off',
  approved: 'good',
  rejected: 'warn',
  suspended: 'warn',
};

export function clientsPage(view: View, list: ClientListView): Page {
  const { filter, q, clients, next, complete, counts, query, readsDocuments } = list;
  const more = q === '' ? { state: filter, order: list.order } : { q };
  return {
    title: view.plain('admin.clients.title'),
    tab: adminTab('admin_clients'),
    content: html`<h1>${view.t('admin.clients.title')}</h1>
${doneNotice(view, { query }, 'clients', ['deleted', 'review_mails'])}
<p class="actions">${view.may('clients:write') && html`<a class="button" href="${path}/register" id="client-register">${view.t('admin.clients.register')}</a>`}${readsDocuments && html` <a class="button quiet" href="${hostsPath}" id="client-hosts">${view.t('admin.hosts.title')}</a>`}</p>
${searchForm(view, 'clients', q)}
<nav aria-label="${view.t('admin.clients.filter')}"><p class="actions">${clientFilters
      .filter((one) => (one !== 'outside' && one !== 'unseen_logo') || counts[one] > 0 || filter === one)
      .map(
        (one) =>
          html`<a href="${pathWith(path, { state: one })}"${q === '' && one === filter && html` aria-current="page"`}>${view.t(`admin.clients.filter.${one}`)} (${counted(view, counts[one], countedAtMost)})</a>\n`,
      )}</p></nav>
${q === '' && filter === 'unseen_logo' && clients.length > 0 && html`<p class="advice">${view.t('admin.clients.unseen_logo')}</p>`}${!complete && html`<p class="advice" id="clients-incomplete">${view.t('admin.clients.find.incomplete')}</p>`}
${
  q !== '' &&
  clients.length > 0 &&
  html`<p>${view.t('admin.clients.found', { query: html`<q>${untrusted(q)}</q>` })} ${clearSearch(view)}</p>`
}
${clients.length === 0 ? nothing(view, list) : clientTable(view, list)}
${pager(view, { id: 'clients-more', next, label: view.t('admin.clients.more'), pathTo: (at) => pathWith(path, { ...more, ...at }) })}
${q === '' && html`<p class="actions"><a href="${pathWith(`${path}/export`, { state: filter })}" id="clients-export">${view.t('admin.clients.export')}</a></p>`}
${list.wantsNoMails && startMails(view)}`,
  };
}

const path = '/admin/clients';

const startMails = (view: View): Html => html`<div class="advice"><p>${view.t('admin.review_mails.stopped')}</p>
${buttonForm(view.t('admin.review_mails.start'), { path: `${path}/review-mails`, id: 'review-mails', style: 'quiet' })}</div>`;

const clearSearch = (view: View) =>
  html`<a href="${path}" id="clients-clear">${view.t('admin.clients.find.clear')}</a>`;

/** What was looked through, and how to leave the search. */
function nothing(view: View, { filter, q, next }: ClientListView): Html {
  if (q === '') {
    if (filter === 'all') return emptyList(view.t('admin.clients.none.registered'));
    const isQueue = filter === 'waiting' || filter === 'changes' || filter === 'outside' || filter === 'unseen_logo';
    const key = isQueue ? 'admin.clients.none.waiting' : 'admin.clients.none';
    return emptyList(view.t(key), { path: pathWith(path, { state: 'all' }), label: view.t('admin.clients.none.all') });
  }
  const said =
    next === undefined
      ? view.t('admin.clients.none.anywhere', { query: html`<q>${untrusted(q)}</q>` })
      : view.t('admin.clients.none.yet');
  return html`<div class="empty"><p>${said}</p><p>${clearSearch(view)}</p></div>`;
}

const columns = ['name', 'owner', 'status', 'created', 'last_sign_in'] as const;

const clientTable = (view: View, list: ClientListView): Html => html`<table class="list">
<caption class="unseen">${view.t('admin.clients.title')}</caption>
<thead><tr>${columns.map((column) => heading(view, list, column))}</tr></thead>
<tbody>${list.clients.map((one) => clientRow(view, one))}</tbody>
</table>`;

function heading(view: View, { filter, order, q }: ClientListView, column: (typeof columns)[number]): Html {
  const label = view.t(`admin.clients.column.${column}`);
  if (column !== 'created' || q !== '') return html`<th scope="col">${label}</th>`;
  const [sort, other] = order === 'oldest' ? (['ascending', 'newest'] as const) : (['descending', 'oldest'] as const);
  const title = view.plain(`admin.clients.order.${other}`);
  const link = html`<a href="${pathWith(path, { state: filter, order: other })}" id="clients-order" title="${title}">${label}</a>`;
  const arrow = html`<span aria-hidden="true">${order === 'oldest' ? '↑' : '↓'}</span>`;
  return html`<th scope="col" aria-sort="${sort}">${link} ${arrow}</th>`;
}

const clientRow = (view: View, { client, owner, risks, lastSignIn }: ClientListView['clients'][number]): Html => {
  const label = (column: (typeof columns)[number]) => view.plain(`admin.clients.column.${column}`);
  return html`<tr><th scope="row"><div class="entry">${appMark(client.name, logoOf(client), 'small')}
<div><a href="${clientPath(client)}">${untrusted(client.name)}</a>
${risks.length > 0 && html`<p>${risks.map((risk) => html`${riskBadge(view, risk)} `)}</p>`}</div></div></th>
<td data-label="${label('owner')}">${ownerCell(view, client, owner)}</td>
<td data-label="${label('status')}">${statusBadge(view, client)}</td>
<td data-label="${label('created')}">${view.day(client.created_at)}</td>
<td data-label="${label('last_sign_in')}">${lastSignIn === null ? '–' : view.ago(lastSignIn)}</td></tr>
`;
};

function ownerCell(view: View, client: Client, owner: User | undefined): Html {
  const { is_first_party } = client;
  const host = originHostOf(client);
  if (host !== undefined) return html`<code>${untrusted(host)}</code>`;
  if (owner === undefined) return view.t(is_first_party ? 'admin.clients.first_party' : 'admin.clients.owner.gone');
  const name = untrusted(owner.name ?? owner.email);
  return html`${view.may('users:read') ? html`<a href="/admin/users/${owner.user_id}">${name}</a>` : name}${owner.name !== null && html` <span class="soft">${untrustedEmail(owner.email)}</span>`}`;
}

const warningSign = html`<svg viewBox="0 0 16 16" aria-hidden="true"><path fill="none" stroke="currentColor" stroke-width="1.8" stroke-linejoin="round" d="M8 1.7 15 14.3H1zM8 6v4m0 1.6v1.2"/></svg>`;

/** How bad it is, is said by a sign and to screen readers: the colour only underlines it (WCAG 2.2 §1.4.1). */
export const riskBadge = (view: View, { code, severity }: Risk) => {
  const words = view.t(`admin.risk.${code}`);
  return severity === 'notice'
    ? badge(words, 'off')
    : badge(html`${words} ${warningSign}<span class="unseen"> ${view.t('admin.risk.warning')}</span>`, 'warn');
};

export const statusBadge = (view: View, client: Client) =>
  html`${badge(view.t(`admin.clients.status.${client.status}`), statusTone[client.status])}${hasPendingChange(client) && html` ${badge(view.t('admin.clients.status.change'), 'off')}`}`;

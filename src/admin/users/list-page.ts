import { type User, type UserCounts, type UserFilter, userFilters, userOrders } from '../../accounts/statements.ts';
import { countedUsersAtMost, type UserSearch } from '../../accounts/users.ts';
import type { Provider } from '../../authentication/credentials/providers.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { personInitials } from '../../platform/pages/initials.ts';
import { badge, counted, emptyList, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, doneNotice, reasonField, type Shown, searchForm } from '../components.ts';
import { selectedPrefix } from './bulk-page.ts';
import { bulkActions, changesRole } from './change-several.ts';
import type { ListedUser, UserPage } from './read-user.ts';

const path = '/admin/users';

/** What is not known counts as left out. What a search has found, and a filter, have orders of their own. */
export function searchOf({ q = '', filter, order, after }: Parameters): UserSearch {
  const narrowed = userFilters.find((one) => one === filter);
  if (q.trim() !== '') return { query: q, filter: narrowed, after };
  return { filter: narrowed, order: narrowed ? undefined : userOrders.find((one) => one === order), after };
}

type UserListView = UserPage & {
  search: UserSearch;
  query: Parameters;
  counts: UserCounts;
  /** Those that are switched on, for their names. */
  providers: readonly Provider[];
};

export function usersPage(view: View, { search, query: { done, all, after, trail }, ...found }: UserListView): Page {
  const { query: q, filter, order = 'newest' } = search;
  const { users, next, complete, providers, counts } = found;
  const link = (to: Parameters, key: MessageKey, isCurrent: boolean, count?: number) =>
    html`<a href="${pathWith(path, to)}"${isCurrent && html` aria-current="page"`}>${view.t(key)}${
      count !== undefined && html` (${counted(view, count, countedUsersAtMost)})`
    }</a>\n`;
  /** Of all users: how many of them a search finds is not counted. */
  const countOf = (one: keyof UserCounts) => (q === undefined ? counts[one] : undefined);
  const filters = [
    link({ q }, 'admin.users.filter.all', filter === undefined, countOf('all')),
    ...userFilters.map((one) => link({ q, filter: one }, `admin.users.filter.${one}`, one === filter, countOf(one))),
  ];
  const orders = userOrders.map((one) =>
    link({ order: one === 'newest' ? undefined : one }, `admin.users.order.${one}`, one === order),
  );
  return {
    title: view.plain('admin.users.title'),
    tab: adminTab('admin_users'),
    content: html`<h1>${view.t('admin.users.title')}</h1>
${doneNotice(view, { query: { done } }, 'users', ['deleted'])}
${view.may('users:write') && html`<p class="actions"><a class="button" href="${path}/invite" id="users-invite">${view.t('admin.users.invite')}</a></p>`}
${searchForm(view, 'users', q ?? '', { fields: hidden('filter', filter) })}
${!complete && html`<p class="advice" id="users-incomplete">${view.t('admin.users.find.incomplete')}</p>`}
${
  q !== undefined &&
  html`<p class="actions"><a href="${pathWith(path, { filter })}" id="users-clear">${view.t('admin.users.find.clear')}</a></p>`
}
<nav aria-label="${view.t('admin.users.filter')}"><p class="actions">${filters}</p></nav>
${filter !== undefined && html`<p class="soft">${view.t(`admin.users.filter.${filter}.what`)}</p>`}
${filter === undefined && q === undefined && html`<p class="actions">${view.t('admin.users.order')} ${orders}</p>`}
${
  users.length === 0
    ? emptyList(view.t(next === undefined ? 'admin.users.none' : 'admin.users.none.here'))
    : html`${usersTable(view, users, providers, all === 'on')}
${view.may('users:write') && bulkForm(view, all === 'on', pathWith(path, { q, filter, order: search.order, after, trail, all: all === 'on' ? undefined : 'on' }))}`
}
${pager(view, { id: 'users-more', next, label: view.t('admin.users.more'), pathTo: (at) => pathWith(path, { q, filter, order: search.order, ...at }) })}
${q === undefined && view.may('users:export') && html`<p><a href="${pathWith(`${path}/export`, { filter })}" id="users-export">${view.t('admin.users.export_list')}</a></p>`}`,
  };
}

/** The reason comes first, so the list is no link to a file. */
export const exportPage = (view: View, filter: UserFilter | undefined, { problem }: Shown): Page => ({
  title: view.plain('admin.users.export_list'),
  tab: adminTab('admin_users'),
  content: html`<h1>${view.t('admin.users.export_list')}</h1>
<p class="soft">${view.t(`admin.users.filter.${filter ?? 'all'}`)}. ${view.t('admin.users.export_list.what')}</p>
${problem}
<form method="post" action="${path}/export">
${hidden('filter', filter)}${reasonField(view, 'export-reason')}
<button type="submit" id="users-export-submit">${view.t('admin.users.export_list.submit')}</button>
</form>`,
});

const columns = [
  'admin.users.column.person',
  'admin.users.column.last_sign_in',
  'admin.users.factors',
  'admin.users.column.state',
  'admin.users.column.created',
] as const;

/** The checkboxes are of the form below the table, which leads to a page that names who was selected. */
const usersTable = (
  view: View,
  users: readonly ListedUser[],
  providers: readonly Provider[],
  areSelected: boolean,
): Html => {
  const heading = (key: MessageKey) => html`<th scope="col">${view.t(key)}</th>`;
  return html`<table class="list people">
<caption class="unseen">${view.t('admin.users.title')}</caption>
<thead><tr><td></td>${columns.map(heading)}</tr></thead>
<tbody>
${users.map((user) => userRow(view, user, providers, areSelected))}</tbody>
</table>`;
};

function userRow(view: View, user: ListedUser, providers: readonly Provider[], isSelected: boolean): Html {
  const cell = (key: MessageKey, content: Renderable) =>
    html`<td data-label="${view.plain(key)}"><div>${content}</div></td>`;
  const name = view.plain('admin.users.select', { name: visibleText(user.name ?? user.email) });
  const checkbox = html`<input type="checkbox" form="${bulkId}" name="${selectedPrefix}${user.user_id}" value="on"${
    isSelected && html` checked`
  }>`;
  const initials = html`<span class="initials small" aria-hidden="true">${personInitials(user)}</span>`;
  const link = html`<a href="${path}/${user.user_id}">${untrusted(user.name ?? user.email, 254)}</a>`;
  const address = user.name !== null && html`<span class="soft">${untrustedEmail(user.email)}</span>`;
  return html`<tr>
<td class="select"><label>${checkbox}<span class="unseen">${name}</span></label></td>
<th scope="row"><div class="who">${initials}<div>${link}${address}</div></div></th>
${cell('admin.users.column.last_sign_in', user.last_sign_in_at === null ? view.t('admin.users.never') : view.ago(user.last_sign_in_at))}
${cell('admin.users.factors', factorsInWords(view, user, providers))}
${cell('admin.users.column.state', stateBadges(view, user))}
${cell('admin.users.column.created', view.day(user.created_at))}
</tr>
`;
}

const bulkId = 'users-bulk';

/** It stays in sight, beside whom one selects. @param other the same page, with all of its users selected, or none. */
const bulkForm = (
  view: View,
  areSelected: boolean,
  other: string,
): Html => html`<form method="get" action="${path}/bulk" id="${bulkId}" class="bulk">
<a href="${other}" id="users-select-all">${view.t(areSelected ? 'admin.users.select_none' : 'admin.users.select_all')}</a>
<label for="bulk-action">${view.t('admin.users.bulk')}</label>
<select id="bulk-action" name="action">${bulkActions.filter((one) => !changesRole(one) || view.may('administrators:write')).map((one) => html`<option value="${one}">${view.t(`admin.users.bulk.${one}`)}</option>`)}</select>
<button type="submit" class="quiet" id="users-bulk-preview">${view.t('admin.users.bulk.preview')}</button>
</form>`;

function factorsInWords(view: View, { factors }: ListedUser, providers: readonly Provider[]): Html {
  const { password, totp, passkeys } = factors;
  const words = [
    password && view.t('admin.users.factor.password'),
    totp && view.t('admin.users.factor.totp'),
    passkeys > 0 && view.t('admin.users.factor.passkeys', { count: passkeys }),
    ...factors.providers.map((provider) => untrusted(providers.find(({ id }) => id === provider)?.label ?? provider)),
  ].filter((word) => word !== false);
  if (words.length === 0) return view.t('admin.none');
  return html`${words.map((word, place) => html`${place > 0 && ', '}${word}`)}`;
}

/** What deserves a look. */
export const userBadges = (view: View, user: User): readonly (Html | false)[] => [
  user.role !== 'user' && html` ${badge(view.t(`account.role.${user.role}`))}`,
  user.disabled_at !== null && html` ${badge(view.t('admin.users.disabled'), 'warn')}`,
  user.email_verified_at === null && html` ${badge(view.t('admin.users.unverified.badge'), 'off')}`,
];

const stateBadges = (view: View, user: ListedUser): Renderable => {
  const badges = [
    ...userBadges(view, user),
    user.isLocked && user.disabled_at === null && html` ${badge(view.t('admin.users.locked'), 'warn')}`,
  ];
  return badges.some((one) => one !== false) ? badges : view.t('admin.users.active');
};

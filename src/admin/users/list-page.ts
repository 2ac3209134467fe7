import type { User } from '../../accounts/user.ts';
import { html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab } from '../admin-tabs.ts';
import { badge } from '../components.ts';
import type { UserPage } from './read-user.ts';

export const usersPage = (view: View, query: string, { users, next }: UserPage): Page => ({
  title: view.plain('admin.users.title'),
  tab: adminTab('admin_users'),
  content: html`<h1>${view.t('admin.users.title')}</h1>
<form method="get" action="/admin/users" role="search">
<label for="q">${view.t('admin.users.find')}</label>
<input id="q" name="q" type="search" maxlength="254" autocomplete="off" value="${query}" aria-describedby="q-hint">
<p class="hint" id="q-hint">${view.t('admin.users.find.hint')}</p>
<button type="submit" id="users-find">${view.t('admin.users.find.submit')}</button>
</form>
${
  users.length === 0
    ? html`<p class="empty">${view.t('admin.users.none')}</p>`
    : html`<ul class="items">${users.map((user) => userItem(view, user))}</ul>`
}
${next !== undefined && html`<p class="actions"><a class="button quiet" id="users-more" href="/admin/users?${new URLSearchParams({ ...(query && { q: query }), after: next }).toString()}">${view.t('admin.users.more')}</a></p>`}`,
});

const userItem = (view: View, user: User) => html`<li><div>
<h2><a href="/admin/users/${user.user_id}">${untrusted(user.name ?? user.email)}</a>${userBadges(view, user)}</h2>
<p>${untrusted(user.email, 254)} · ${view.t('admin.users.since', { when: view.day(user.created_at) })}</p>
</div></li>
`;

export const userBadges = (view: View, user: User) => [
  user.role === 'admin' && html` ${badge(view.t('admin.users.administrator'))}`,
  user.disabled_at !== null && html` ${badge(view.t('admin.users.disabled'), 'warn')}`,
];

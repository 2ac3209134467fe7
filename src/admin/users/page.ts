import type { User } from '../../accounts/users.ts';
import type { Provider } from '../../authentication/credentials/providers.ts';
import { deviceName } from '../../authentication/sessions/browser.ts';
import type { ListedSession } from '../../authentication/sessions/sessions.ts';
import type { Client } from '../../clients/client.ts';
import type { EntitlementHistory } from '../../entitlements/read-history.ts';
import type { ListedGrant } from '../../oauth/grants/grants.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { MessageDescriptor, MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { statusBadge } from '../clients/list-page.ts';
import { adminTab, badge, disclosure, doneNotice, reasonField } from '../components.ts';
import { entitlementSection } from './entitlement-history.ts';
import type { FactorState, UserOverview, UserPage } from './read-user.ts';

export type UserView = {
  overview: UserOverview;
  sessions: readonly ListedSession[];
  grants: readonly ListedGrant[];
  clients: readonly Client[];
  entitlements: EntitlementHistory;
  /** Those that are switched on, for what they are called. */
  providers: readonly Provider[];
  /** The administrator looks at themselves. */
  isSelf: boolean;
  /** Why they may not take anything from this person yet. */
  restriction?: MessageDescriptor;
  problem?: Html | false;
  query?: Parameters;
};

const done = {
  session_ended: 'admin.users.done.session_ended',
  grant_ended: 'admin.users.done.grant_ended',
  disabled: 'admin.users.done.disabled',
  enabled: 'admin.users.done.enabled',
  signed_out: 'admin.users.done.signed_out',
  factors_reset: 'admin.users.done.factors_reset',
  role_changed: 'admin.users.done.role_changed',
  unlocked: 'admin.users.done.unlocked',
} as const;

export function userPage(view: View, shown: UserView): Page {
  const { user } = shown.overview;
  return {
    title: visibleText(user.name ?? user.email),
    tab: adminTab('admin_users'),
    content: html`<h1>${untrusted(user.name ?? user.email)}${userBadges(view, user)}</h1>
${shown.problem}${doneNotice(view, shown.query ?? {}, done)}
${facts(view, shown.overview)}
<h2>${view.t('admin.users.factors')}</h2>
${factors(view, shown.overview.factors, shown.providers)}
<h2>${view.t('admin.users.sessions')}</h2>
${listOr(
  shown.sessions.map((session) => sessionItem(view, user.user_id, session)),
  view.t('admin.users.sessions.none'),
)}
<h2>${view.t('admin.users.grants')}</h2>
${listOr(
  shown.grants.map((grant) => grantItem(view, user.user_id, grant)),
  view.t('admin.users.grants.none'),
)}
<h2>${view.t('admin.users.clients')}</h2>
${listOr(
  shown.clients.map((client) => clientItem(view, client)),
  view.t('admin.users.clients.none'),
)}
<h2>${view.t('admin.users.entitlements')}</h2>
${entitlementSection(view, user.user_id, shown.entitlements)}
<h2>${view.t('admin.users.actions')}</h2>
${userActions(view, shown.overview, shown)}
<p><a href="/admin/audit?target=${user.user_id}">${view.t('admin.history')}</a></p>
<p><a href="/admin/audit/unauthenticated?target=${user.user_id}" id="user-unauthenticated">${view.t('admin.unauthenticated.link')}</a></p>`,
  };
}

const listOr = (items: readonly Html[], none: Html): Html =>
  items.length === 0 ? html`<p class="soft">${none}</p>` : html`<ul class="items">${items}</ul>`;

const facts = (view: View, { user, lock }: UserOverview) => html`<dl>
<dt>${view.t('field.email')}</dt><dd>${untrusted(user.email, 254)} (${view.t(user.email_verified_at === null ? 'admin.users.unverified' : 'admin.users.verified')})</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${user.user_id}</code></dd>
<dt>${view.t('admin.created')}</dt><dd>${view.day(user.created_at)}</dd>
<dt>${view.t('admin.changed')}</dt><dd>${view.ago(user.updated_at)}</dd>
${user.disabled_at !== null && html`<dt>${view.t('admin.users.disabled')}</dt><dd>${view.ago(user.disabled_at)}</dd>`}
${lock.failures > 0 && html`<dt>${view.t('admin.users.failures')}</dt><dd>${lock.failures}${lockWords(view, lock)}</dd>`}
</dl>`;

const lockWords = (view: View, { blocked_until, disabled }: UserOverview['lock']) =>
  (disabled && html` - ${view.t('admin.users.lock.disabled')}`) ||
  (blocked_until !== null && html` - ${view.t('admin.users.lock.blocked', { until: view.ago(blocked_until) })}`);

const factors = (
  view: View,
  { password, totp, backup_codes, passkeys, identities }: FactorState,
  providers: readonly Provider[],
) => html`<dl>
<dt>${view.t('field.password')}</dt><dd>${view.t(password ? 'admin.yes' : 'admin.no')}</dd>
<dt>${view.t('admin.users.totp')}</dt><dd>${view.t(totp === 'active' ? 'admin.yes' : 'admin.no')}</dd>
<dt>${view.t('admin.users.backup_codes')}</dt><dd>${backup_codes.total === 0 ? view.t('admin.none') : view.t('admin.users.backup_codes.left', backup_codes)}</dd>
<dt>${view.t('admin.users.passkeys')}</dt><dd>${passkeys}</dd>
${identities.map(
  ({ provider, email, linked_at }) =>
    html`<dt>${untrusted(providers.find(({ id }) => id === provider)?.label ?? provider)}</dt><dd>${email !== null && untrusted(email, 254)} ${view.t('admin.users.linked', { when: view.day(linked_at) })}</dd>\n`,
)}</dl>`;

const sessionItem = (view: View, user_id: string, session: ListedSession) => html`<li><div>
<h3>${deviceName(session.user_agent) ?? view.t('admin.users.sessions.unknown')}</h3>
<p>${session.address} · ${view.t('admin.users.sessions.seen', { when: view.ago(session.last_seen_at) })} · <code>${session.amr.join(' ')}</code></p>
</div>
<form method="post" action="/admin/users/${user_id}/sessions/${session.session_id}/end"><button type="submit" class="quiet" aria-label="${view.plain('admin.users.sessions.end.of', { session_id: session.session_id })}">${view.t('admin.users.sessions.end')}</button></form></li>
`;

const grantItem = (view: View, user_id: string, grant: ListedGrant) => html`<li><div>
<h3><a href="/admin/clients/${grant.client_id}">${untrusted(grant.client_name)}</a></h3>
<p><code>${grant.scope}</code> · ${view.t('admin.users.grants.since', { when: view.ago(grant.created_at) })}</p>
</div>
<form method="post" action="/admin/users/${user_id}/grants/${grant.grant_id}/end"><button type="submit" class="quiet" aria-label="${view.plain('admin.users.grants.end.of', { client: visibleText(grant.client_name) })}">${view.t('admin.users.grants.end')}</button></form></li>
`;

const clientItem = (view: View, client: Client) => html`<li><div>
<h3><a href="/admin/clients/${client.client_id}">${untrusted(client.name)}</a> ${statusBadge(view, client)}</h3>
</div></li>
`;

/**
 * The forms for what an administrator may do to an account. What would be refused for their own account is left out.
 * @param options.restriction why a new administrator may not act on another one yet.
 */
function userActions(
  view: View,
  { user, lock }: UserOverview,
  { isSelf, restriction }: { isSelf: boolean; restriction?: MessageDescriptor },
): Html {
  const button = (step: string, label: MessageKey, kind: 'quiet' | 'danger', fields: Html | false = false) =>
    html`<form method="post" action="/admin/users/${user.user_id}/${step}">
${fields}<button type="submit" class="${kind}" id="user-${step}">${view.t(label)}</button></form>`;
  const step = (summary: MessageKey, what: MessageKey, form: Html) =>
    disclosure(view.t(summary), html`<p class="soft">${view.t(what)}</p>\n${form}`);

  const isActive = user.disabled_at === null;
  return html`${restriction !== undefined && html`<p class="advice">${view.t(restriction.key, restriction.values)}</p>\n`}${
    lock.failures > 0 &&
    step('admin.users.unlock', 'admin.users.unlock.what', button('unlock', 'admin.users.unlock.submit', 'quiet'))
  }
${
  !restriction &&
  step('admin.users.sign_out', 'admin.users.sign_out.what', button('sign-out', 'admin.users.sign_out.submit', 'danger'))
}
${
  !isSelf &&
  !restriction &&
  step(
    'admin.users.reset',
    'admin.users.reset.what',
    button('reset-factors', 'admin.users.reset.submit', 'danger', reasonField(view, 'reset-reason')),
  )
}
${
  isActive
    ? !restriction &&
      step(
        'admin.users.disable',
        isSelf ? 'admin.users.disable.self' : 'admin.users.disable.what',
        button('disable', 'admin.users.disable.submit', 'danger', reasonField(view, 'disable-reason')),
      )
    : step('admin.users.enable', 'admin.users.enable.what', button('enable', 'admin.users.enable.submit', 'quiet'))
}
${
  !isSelf &&
  !restriction &&
  (user.role === 'admin'
    ? step(
        'admin.users.unmake',
        'admin.users.unmake.what',
        button('role', 'admin.users.unmake.submit', 'danger', role('user')),
      )
    : step(
        'admin.users.make',
        'admin.users.make.what',
        button('role', 'admin.users.make.submit', 'danger', role('admin')),
      ))
}`;
}

const role = (to: 'user' | 'admin') => html`<input type="hidden" name="role" value="${to}">\n`;

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

const userBadges = (view: View, user: User) => [
  user.role === 'admin' && html` ${badge(view.t('admin.users.administrator'))}`,
  user.disabled_at !== null && html` ${badge(view.t('admin.users.disabled'), 'warn')}`,
];

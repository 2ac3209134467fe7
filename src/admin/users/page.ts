import { roles } from '../../accounts/roles.ts';
import { standardClaimNames, type User } from '../../accounts/statements.ts';
import type { Attribute } from '../../attributes/attribute.ts';
import { attributeList } from '../../attributes/fields.ts';
import type { Provider } from '../../authentication/credentials/providers.ts';
import type { FactorRecovery, ListedSession, TrustedBrowser } from '../../authentication/statements.ts';
import type { Client } from '../../clients/client.ts';
import type { EntitlementHistory } from '../../entitlements/read-history.ts';
import type { GroupOfUser } from '../../groups/statements.ts';
import type { ListedGrant } from '../../oauth/statements.ts';
import type { MessageDescriptor, MessageKey } from '../../platform/i18n/translate.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, type Renderable, untrusted, untrustedEmail } from '../../platform/pages/html.ts';
import { personAvatar } from '../../platform/pages/initials.ts';
import { emptyList, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { byAdministrators } from '../audit/filter.ts';
import { statusBadge } from '../clients/list-page.ts';
import { adminTab, clientPath, doneNotice, reasonField, type Shown, step } from '../components.ts';
import { refusalWords } from '../mails/refused-page.ts';
import { grantList, recoveryNotice, searchAccess, sessionList, trustedBrowserList } from './access-pages.ts';
import { entitlementSection } from './entitlement-history.ts';
import { userBadges } from './list-page.ts';
import { maxCounted, type UserOverview } from './read-user.ts';

export type UserView = {
  overview: UserOverview;
  /** That the second factors be removed, under way. */
  recovery: FactorRecovery | undefined;
  attributes: readonly Attribute[];
  groups: readonly GroupOfUser[];
  sessions: readonly ListedSession[];
  trustedBrowsers: readonly TrustedBrowser[];
  grants: { grants: readonly ListedGrant[]; next: string | undefined };
  clients: readonly Client[];
  entitlements: EntitlementHistory;
  /** Those that are switched on, for their names. */
  providers: readonly Provider[];
  /** Whether the administrator looks at their own account. */
  isSelf: boolean;
  /** Why a new administrator may not act on this user yet. */
  restriction?: MessageDescriptor;
  /** Why their address stays, and no reset link is made. */
  takeover?: MessageDescriptor;
};

const done = [
  'session_ended',
  'trust_ended',
  'recovery_stopped',
  'grant_ended',
  'disabled',
  'enabled',
  'signed_out',
  'factors_reset',
  'role_changed',
  'unlocked',
  'edited',
  'unchanged',
  'picture_removed',
] as const;

export function userPage(view: View, of: UserView, shown: Shown): Page {
  const { user } = of.overview;
  const sections = sectionsOf(view, of);
  const verified = user.email_verified_at === null ? 'admin.users.unverified' : 'admin.users.verified';
  return {
    title: visibleText(user.name ?? user.email),
    tab: adminTab('admin_users'),
    content: html`<div class="person">${personAvatar(view, user)}
<div><h1>${untrusted(user.name ?? user.email)}${userBadges(view, user)}</h1>
<p class="soft">${untrustedEmail(user.email)} (${view.t(verified)})</p>${sameMailbox(view, user)}</div></div>
${mailRefusal(view, of.overview)}${of.recovery && recoveryNotice(view, of.recovery)}${shown.problem}${doneNotice(view, shown, 'users', done)}
${facts(view, of)}
<p><a href="/admin/users/${user.user_id}/alerts" id="user-alerts">${view.t('admin.users.alerts')}</a></p>
${view.may('audit:read') && logLinks(view, user)}
${menuOf(view, sections)}
${sections.map(({ content }) => content)}`,
  };
}

const mailRefusal = (view: View, { mail_refusal }: UserOverview): Html | false =>
  mail_refusal !== null &&
  html`<div class="advice" id="mail-refused"><p>${view.t('admin.users.mail_refused')}</p>
${refusalWords(view, mail_refusal)}</div>
`;

function logLinks(view: View, { user_id, role }: UserOverview['user']): Html {
  const administered = pathWith('/admin/audit', { by: byAdministrators, actor: `user:${user_id}` });
  return html`<p><a href="/admin/audit?who=${user_id}">${view.t('admin.history')}</a>
· <a href="/admin/audit/unauthenticated?target=${user_id}" id="user-unauthenticated">${view.t('admin.unauthenticated.link')}</a>${
    role !== 'user' &&
    html`\n· <a href="${administered}" id="user-administered">${view.t('admin.users.administered')}</a>`
  }</p>`;
}

type Section = { id: string; title: Html; count?: string; content: Html };

/** Each with what there is of it. Empty lists are named, too: that there is nothing is an answer. */
function sectionsOf(view: View, of: UserView): Section[] {
  const { user } = of.overview;
  const all = (name: 'sessions' | 'grants', hasMore: boolean) =>
    hasMore &&
    html`${searchAccess(view, user, name)}
<p><a href="/admin/users/${user.user_id}/${name}" id="user-${name}">${view.t(`admin.users.${name}.all`)}</a></p>\n`;
  const list = (id: string, key: MessageKey, content: Html, length?: number, hasMore = false): Section => {
    const title = view.t(key);
    const count = length === undefined ? undefined : `${length}${hasMore ? '+' : ''}`;
    return { id, title, ...(count && { count }), content: html`<h2 id="${id}">${title}</h2>\n${content}\n` };
  };
  const { factors: have, counts } = of.overview;
  const [hasMoreSessions, hasMoreGrants] = [of.sessions.length > itemsShown, of.grants.next !== undefined];
  const danger = dangerZone(view, of);
  return [
    ...(offersActions(view) ? [list('actions', 'admin.users.actions', userActions(view, of))] : []),
    list('factors', 'admin.users.factors', factors(view, have, of.providers)),
    list('groups', 'admin.users.groups', groupList(view, of.groups), of.groups.length),
    list(
      'sessions',
      'admin.users.sessions',
      html`${sessionList(view, user.user_id, of.sessions.slice(0, itemsShown))}${all('sessions', hasMoreSessions)}${trustedBrowserList(view, user.user_id, of.trustedBrowsers)}`,
      counts.sessions,
    ),
    list(
      'grants',
      'admin.users.grants',
      html`${grantList(view, user.user_id, of.grants.grants)}${all('grants', hasMoreGrants)}`,
      counts.grants,
      counts.grants >= maxCounted,
    ),
    list(
      'clients',
      'admin.users.clients',
      of.clients.length === 0
        ? emptyList(view.t('admin.users.clients.none'))
        : html`<ul class="items">${of.clients.map(clientItem(view))}</ul>`,
      of.clients.length,
    ),
    list('entitlements', 'admin.users.entitlements', entitlementSection(view, user.user_id, of.entitlements)),
    ...(danger ? [{ id: 'danger-zone', title: view.t('admin.danger_zone'), content: danger }] : []),
  ];
}

const menuOf = (view: View, sections: readonly Section[]): Html =>
  html`<nav class="sections" aria-label="${view.plain('admin.users.menu')}"><ul>${sections.map(
    ({ id, title, count }) => html`<li><a href="#${id}">${title}${count !== undefined && html` (${count})`}</a></li>`,
  )}</ul></nav>`;

/** Of sessions and grants; the others have a page of their own. */
export const itemsShown = 10;

function sameMailbox(view: View, { same_mailbox_as: other }: UserOverview['user']): Html | false {
  if (other === null) return false;
  const link = html`<a href="/admin/users/${other}">${other}</a>`;
  return html`<p class="soft" id="same-mailbox">${view.t('admin.users.same_mailbox', { other: link })}</p>`;
}

const facts = (view: View, { overview: { user, lock }, attributes }: UserView) => html`<dl>
<dt>${view.t('admin.id')}</dt><dd><code>${user.user_id}</code></dd>
<dt>${view.t('admin.created')}</dt><dd>${view.day(user.created_at)}</dd>
<dt>${view.t('admin.users.column.last_sign_in')}</dt><dd>${user.last_sign_in_at === null ? view.t('admin.users.never') : view.ago(user.last_sign_in_at)}</dd>
<dt>${view.t('admin.changed')}</dt><dd>${view.ago(user.updated_at)}</dd>
${user.disabled_at !== null && html`<dt>${view.t('admin.users.disabled')}</dt><dd>${view.ago(user.disabled_at)}</dd>`}
${standardClaimNames.map(
  (claim) =>
    user[claim] !== null && html`<dt>${view.t(`claim.${claim}`)}</dt><dd>${untrusted(user[claim], 254)}</dd>\n`,
)}${attributeList(view, attributes, user.attributes)}${
  lock.failures > 0 && html`<dt>${view.t('admin.users.failures')}</dt><dd>${lock.failures}${lockWords(view, lock)}</dd>`
}
</dl>`;

const lockWords = (view: View, { blocked_until, disabled }: UserOverview['lock']) =>
  (disabled && html` - ${view.t('admin.users.lock.disabled')}`) ||
  (blocked_until !== null && html` - ${view.t('admin.users.lock.blocked', { until: view.until(blocked_until) })}`);

const factors = (
  view: View,
  { password, totp, backup_codes, passkeys, identities }: UserOverview['factors'],
  providers: readonly Provider[],
) => html`<dl>
<dt>${view.t('field.password')}</dt><dd>${view.t(password ? 'value.yes' : 'value.no')}</dd>
<dt>${view.t('admin.users.totp')}</dt><dd>${view.t(totp === 'active' ? 'value.yes' : 'value.no')}</dd>
<dt>${view.t('admin.users.backup_codes')}</dt><dd>${backup_codes.total === 0 ? view.t('admin.none') : view.t('admin.users.backup_codes.left', backup_codes)}</dd>
<dt>${view.t('admin.users.passkeys')}</dt><dd>${passkeys}</dd>
${identities.map(
  ({ provider, email, linked_at }) =>
    html`<dt>${untrusted(providers.find(({ id }) => id === provider)?.label ?? provider)}</dt><dd>${email !== null && untrustedEmail(email)} ${view.t('admin.users.linked', { when: view.day(linked_at) })}</dd>\n`,
)}</dl>`;

const groupList = (view: View, groups: readonly GroupOfUser[]): Html =>
  groups.length === 0
    ? emptyList(view.t('admin.users.groups.none'), { path: '/admin/groups', label: view.t('admin.tab.groups') })
    : html`<p>${groups.map(
        ({ group_id, name }, place) =>
          html`${place > 0 && ', '}<a href="/admin/groups/${group_id}">${untrusted(name)}</a>`,
      )}</p>`;

const clientItem = (view: View) => (client: Client) =>
  html`<li><div>
<h3>${view.may('clients:read') ? html`<a href="${clientPath(client)}">${untrusted(client.name)}</a>` : untrusted(client.name)} ${statusBadge(view, client)}</h3>
</div></li>
`;

const formOf =
  ({ user_id }: Pick<User, 'user_id'>) =>
  (name: string, style: 'quiet' | 'danger', fields?: Renderable) => ({
    path: `/admin/users/${user_id}/${name}`,
    id: `user-${name}`,
    style,
    fields,
  });

const offersActions = (view: View): boolean => ['users:write', 'users:recover', 'users:export'].some(view.may);

/** What an administrator may do to an account. What would be refused is left out. */
function userActions(view: View, { overview: { user, lock }, isSelf, restriction, takeover }: UserView): Html {
  const form = formOf(user);
  const withReason = (name: string, style: 'quiet' | 'danger') =>
    form(name, style, reasonField(view, `${name}-reason`));
  const [roleStep, role] =
    user.role === 'admin' ? (['admin.users.unmake', 'user'] as const) : (['admin.users.make', 'admin'] as const);
  const lesser = html`<label for="lesser-role">${view.t('admin.users.lesser.role')}</label>
<select id="lesser-role" name="role">${roles
    .filter((one) => one !== 'admin' && one !== user.role)
    .map((one) => html`<option value="${one}">${view.t(`account.role.${one}`)}</option>`)}</select>
${reasonField(view, 'lesser-role-reason')}`;
  const edits = view.may('users:write');
  const recovers = view.may('users:recover');
  const makes = view.may('administrators:write') && !isSelf && !restriction;
  return html`${restriction !== undefined && html`<p class="advice">${view.t(restriction.key, restriction.values)}</p>\n`}${
    edits && lock.failures > 0 && step(view, 'admin.users.unlock', form('unlock', 'quiet'))
  }
${edits && html`<p class="actions"><a class="button quiet" href="/admin/users/${user.user_id}/edit" id="user-edit">${view.t('admin.users.edit')}</a></p>`}
${recovers && !takeover && user.disabled_at === null && step(view, 'admin.users.reset_link', withReason('reset-link', 'quiet'))}
${edits && user.disabled_at !== null && step(view, 'admin.users.enable', form('enable', 'quiet'))}
${view.may('users:export') && step(view, 'admin.users.export', withReason('export', 'quiet'))}
${edits && user.picture !== null && step(view, 'admin.users.picture', withReason('remove-picture', 'danger'))}
${
  edits &&
  !restriction &&
  step(
    view,
    'admin.users.sign_out',
    form('sign-out', 'danger', reasonField(view, 'sign-out-reason', 'admin.reason.mailed')),
  )
}
${makes && step(view, roleStep, form('role', 'danger', html`${hidden('role', role)}${reasonField(view, 'role-reason')}`))}
${makes && step(view, 'admin.users.lesser', { ...form('role', 'danger', lesser), id: 'user-lesser-role' })}`;
}

/** What takes the account, or the way into it, away: apart from what is done every day. */
function dangerZone(view: View, { overview: { user }, isSelf, restriction }: UserView): Html | false {
  if (restriction) return false;
  const form = formOf(user);
  const withReason = (name: string) => form(name, 'danger', reasonField(view, `${name}-reason`));
  const isEnabled = user.disabled_at === null;
  const [edits, recovers, deletes] = [view.may('users:write'), view.may('users:recover'), view.may('users:delete')];
  if ((isSelf && !isEnabled) || !(edits || recovers || deletes)) return false;
  return html`<section class="danger-zone" aria-labelledby="danger-zone"><h2 id="danger-zone">${view.t('admin.danger_zone')}</h2>
${recovers && !isSelf && step(view, 'admin.users.reset', withReason('reset-factors'))}
${edits && isEnabled && step(view, 'admin.users.disable', withReason('disable'), isSelf ? 'admin.users.disable.self' : undefined)}
${
  deletes &&
  !isSelf &&
  step(
    view,
    'admin.users.delete',
    form(
      'delete',
      'danger',
      html`<label for="delete-email">${view.t('admin.users.delete.confirm')}</label>
<input id="delete-email" name="email" type="text" inputmode="email" autocomplete="off" autocapitalize="none" spellcheck="false" required maxlength="254">
${reasonField(view, 'delete-reason')}`,
    ),
  )
}
</section>`;
}

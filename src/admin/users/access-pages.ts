import type { User } from '../../accounts/statements.ts';
import { deviceName } from '../../authentication/sessions/browser.ts';
import { methodsInWords, trustedInWords } from '../../authentication/sessions/page.ts';
import { trustedBrowserId } from '../../authentication/sessions/trusted-browsers.ts';
import type { FactorRecovery, ListedSession, TrustedBrowser } from '../../authentication/statements.ts';
import type { ListedGrant } from '../../oauth/statements.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import { emptyList, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, clientPath, reasonField, searchForm, searchOutcome } from '../components.ts';

// What a user has access to: a few of each on the user's page, and all on a page of their own.

export const sessionList = (
  view: View,
  user_id: string,
  sessions: readonly ListedSession[],
  title: Title = h3,
): Html =>
  sessions.length === 0
    ? emptyList(view.t('admin.users.sessions.none'))
    : html`<ul class="items">${sessions.map((session) => sessionItem(view, user_id, session, title))}</ul>`;

export const grantList = (view: View, user_id: string, grants: readonly ListedGrant[], title: Title = h3): Html =>
  grants.length === 0
    ? emptyList(view.t('admin.users.grants.none'))
    : html`<ul class="items">${grants.map((grant) => grantItem(view, user_id, grant, title))}</ul>`;

type Title = (id: string, text: Html) => Html;
const h2: Title = (id, text) => html`<h2 id="${id}">${text}</h2>`;
const h3: Title = (id, text) => html`<h3 id="${id}">${text}</h3>`;

/** Ends one of them. It is named by what stands beside it, too: in a list of them, each has another name. */
const endStep = (view: View, id: string, action: string, text: Html, hint?: 'admin.reason.hint'): Html =>
  html`<details><summary id="${id}-end" aria-labelledby="${id}-end ${id} ${id}-what">${text}</summary>
<form method="post" action="${action}">
${reasonField(view, `${id}-reason`, hint ?? 'admin.reason.mailed')}
<button type="submit" class="danger" aria-labelledby="${id}-end ${id} ${id}-what">${text}</button></form></details>`;

const sessionItem = (view: View, user_id: string, session: ListedSession, title: Title) => html`<li><div>
${title(session.session_id, html`${deviceName(session.user_agent) ?? view.t('admin.users.sessions.unknown')}`)}
<p id="${session.session_id}-what">${session.address !== null && html`${ipAddress(session.address)} · `}${view.t('admin.users.sessions.seen', { when: view.ago(session.last_seen_at) })} · ${methodsInWords(view, session.amr)}</p>
</div>
${view.may('users:write') && endStep(view, session.session_id, `/admin/users/${user_id}/sessions/${session.session_id}/end`, view.t('admin.users.sessions.end'))}</li>
`;

const grantItem = (view: View, user_id: string, grant: ListedGrant, title: Title) => html`<li><div>
${title(grant.grant_id, view.may('clients:read') ? html`<a href="${clientPath(grant)}">${untrusted(grant.client_name)}</a>` : untrusted(grant.client_name))}
<p id="${grant.grant_id}-what"><code>${grant.scope}</code> · ${view.t('admin.users.grants.since', { when: view.ago(grant.created_at) })}</p>
</div>
${view.may('users:write') && endStep(view, grant.grant_id, `/admin/users/${user_id}/grants/${grant.grant_id}/end`, view.t('admin.users.grants.end'))}</li>
`;

/** The browsers that stand in for the second factor of a user, with a heading. Nothing where there are none. */
export const trustedBrowserList = (view: View, user_id: string, browsers: readonly TrustedBrowser[]): Html | false =>
  browsers.length > 0 &&
  html`<h2>${view.t('admin.users.trusted')}</h2>
<ul class="items">${browsers.map((browser) => {
    const id = trustedBrowserId(browser);
    const end = `/admin/users/${user_id}/trusted-browsers/${id}/end`;
    return html`<li><div>
${h3(id, html`${deviceName(browser.user_agent) ?? view.t('admin.users.sessions.unknown')}`)}
<p id="${id}-what">${browser.address !== null && html`${ipAddress(browser.address)} · `}${trustedInWords(view, browser)}</p>
</div>
${view.may('users:write') && endStep(view, id, end, view.t('admin.users.trusted.end'), 'admin.reason.hint')}</li>
`;
  })}</ul>
`;

/** A request to have the second factors removed, which an administrator may know to be an attacker's. */
export const recoveryNotice = (
  view: View,
  { user_id, requested_at, due_at, address, user_agent }: FactorRecovery,
): Html => {
  const unknown = view.t('admin.users.recovery.unknown');
  const values = {
    since: view.ago(requested_at),
    address: address === null ? unknown : ipAddress(address),
    device: deviceName(user_agent) ?? unknown,
    from: view.day(due_at),
  };
  const stop = view.t('admin.users.recovery.stop');
  return html`<div class="advice" id="factor-recovery"><p id="factor-recovery-what">${view.t('admin.users.recovery', values)}</p>
${view.may('users:write') && endStep(view, 'factor-recovery', `/admin/users/${user_id}/factor-recovery/stop`, stop, 'admin.reason.hint')}</div>
`;
};

type AccessList = 'sessions' | 'grants';

const pathTo = ({ user_id }: Pick<User, 'user_id'>, name: AccessList) => `/admin/users/${user_id}/${name}`;

/** To all of them, on their own page, and a search among them. */
export const searchAccess = (view: View, user: Pick<User, 'user_id'>, name: AccessList, query = ''): Html =>
  searchForm(view, `users.${name}`, query, { path: pathTo(user, name), field: `${name}-q` });

type Found = { query: string; isEmpty: boolean; list: Html };

const listPage = (view: View, user: User, name: AccessList, { query, isEmpty, list }: Found): Page => ({
  title: view.plain(`admin.users.${name}`),
  tab: adminTab('admin_users'),
  above: [{ path: `/admin/users/${user.user_id}`, label: untrusted(user.name ?? user.email) }],
  content: html`<h1>${view.t(`admin.users.${name}`)}</h1>
${(query !== '' || !isEmpty) && searchAccess(view, user, name, query)}
${searchOutcome(view, query, isEmpty, pathTo(user, name))}
${(query === '' || !isEmpty) && list}`,
});

export const userSessionsPage = (view: View, user: User, query: string, sessions: readonly ListedSession[]): Page =>
  listPage(view, user, 'sessions', {
    query,
    isEmpty: sessions.length === 0,
    list: sessionList(view, user.user_id, sessions, h2),
  });

export const userGrantsPage = (
  view: View,
  user: User,
  query: string,
  { grants, next }: { grants: readonly ListedGrant[]; next: string | undefined },
): Page =>
  listPage(view, user, 'grants', {
    query,
    isEmpty: grants.length === 0,
    list: html`${grantList(view, user.user_id, grants, h2)}${pager(view, {
      id: 'grants-more',
      next,
      label: view.t('admin.users.grants.more'),
      pathTo: (at) => pathWith(pathTo(user, 'grants'), { q: query, ...at }),
    })}`,
  });

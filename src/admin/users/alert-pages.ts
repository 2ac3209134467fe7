import type { User } from '../../accounts/statements.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import { badge, exactTime, itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { AlertRecord } from '../../self-service/alerts/alerts.ts';
import { untilWords, useList } from '../../self-service/alerts/page.ts';
import { adminTab, clientPath } from '../components.ts';

// What a user was asked about: a token that came twice, and the like.

const userPath = ({ user_id }: User): string => `/admin/users/${user_id}`;
const above = (user: User) => ({ path: userPath(user), label: untrusted(user.name ?? user.email) });

export const userAlertsPage = (view: View, user: User, alerts: readonly AlertRecord[]): Page => ({
  title: view.plain('admin.users.alerts'),
  tab: adminTab('admin_users'),
  above: [above(user)],
  content: html`<h1>${view.t('admin.users.alerts')}</h1>
<p class="soft">${view.t('admin.users.alerts.intro')}</p>
${itemsOr(
  alerts.map((alert) => alertItem(view, user, alert)),
  view.t('admin.users.alerts.none'),
)}`,
});

const alertItem = (view: View, user: User, alert: AlertRecord): Html => html`<li><div>
<h2><a href="${userPath(user)}/alerts/${alert.alert_id}">${view.t(`admin.users.alert.kind.${alert.kind}`)}</a>${
  alert.answer === 'not_me' && html` ${badge(view.t('alert.not_me'), 'warn')}`
}</h2>
<p>${exactTime(alert.at)}${alert.app !== null && html` · ${appLink(view, alert.app)}`}</p>
</div></li>
`;

function appLink(view: View, { client_id, name }: NonNullable<AlertRecord['app']>): Html {
  if (name === null) return html`${view.t('activity.app_gone')} <code>${client_id}</code>`;
  return view.may('clients:read')
    ? html`<a href="${clientPath({ client_id })}">${untrusted(name, 80)}</a>`
    : untrusted(name, 80);
}

export const userAlertPage = (view: View, user: User, alert: AlertRecord): Page => {
  const { t } = view;
  const isOfApp = alert.app !== null;
  return {
    title: view.plain(`admin.users.alert.kind.${alert.kind}`),
    tab: adminTab('admin_users'),
    above: [above(user), { path: `${userPath(user)}/alerts`, label: t('admin.users.alerts') }],
    content: html`<h1>${t(`admin.users.alert.kind.${alert.kind}`)}</h1>
<dl><dt>${t('developer.user')}</dt><dd><a href="${userPath(user)}">${untrusted(user.name ?? user.email)}</a></dd>
${alert.app !== null && html`<dt>${t('admin.users.alert.app')}</dt><dd>${appLink(view, alert.app)}</dd>`}
<dt>${t('admin.users.alert.answer')}</dt><dd>${answerOf(view, alert)}</dd></dl>
<h2>${t('alert.uses')}</h2>
${useList(view, alert, isOfApp)}
${isOfApp && html`<p>${t('developer.alert.between', { count: alert.uses_between })}</p>`}
<h2>${t('alert.ended')}</h2>
<p>${t(isOfApp ? 'developer.alert.ended' : 'admin.users.alert.ended_nothing')}</p>
${untilWords(view, alert)}
<h2>${t('admin.users.alert.next')}</h2>
<ul>
<li>${t('admin.users.alert.next.user', { user: html`<a href="${userPath(user)}#actions">${untrusted(user.name ?? user.email)}</a>` })}</li>
${isOfApp && html`<li>${t('admin.users.alert.next.app')}</li>\n`}</ul>`,
  };
};

const answerOf = (view: View, { answer, answered_at, answered_from }: AlertRecord): Html =>
  answer === null || answered_at === null
    ? view.t('admin.users.alert.unanswered')
    : html`${view.t(`alert.${answer}`)} · ${exactTime(answered_at)}${answered_from !== null && html` · ${ipAddress(answered_from)}`}`;

import { activityDays } from '../../audit/read-activity.ts';
import { accountTab } from '../../authentication/account-tab.ts';
import { alertPath } from '../../authentication/alerts/raise-alert.ts';
import { methodsInWords } from '../../authentication/sessions/page.ts';
import { numberFormat, withUnit } from '../../platform/i18n/formats.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { type ActivityRecord, activityPeriods, methodsOf } from './activity.ts';
import { type ActivityKind, activityKinds, isOfActivity, sentenceOf } from './events.ts';

export const activityPath = '/account/activity';

type Shown = {
  events: readonly ActivityRecord[];
  next: string | null;
  kind: ActivityKind | undefined;
  days: number;
};

const labels = {
  sign_ins: 'activity.kind.sign_ins',
  security: 'account.tab.security',
  apps: 'account.tab.apps',
} as const satisfies Record<ActivityKind, string>;

export const activityPage = (view: View, { events, next, kind, days }: Shown): Page => ({
  title: view.plain('activity.title'),
  tab: accountTab('activity'),
  content: html`<h1>${view.t('activity.title')}</h1>
<p class="soft">${view.t('activity.intro', { days: activityDays })}</p>
<p>${view.t('activity.advice', {
    sessions: html`<a href="/account/sessions">${view.t('account.tab.sessions')}</a>`,
    security: html`<a href="/account/security">${view.t('account.tab.security')}</a>`,
  })}</p>
${filterForm(view, kind, days)}
${
  events.length === 0
    ? emptyList(view.t('activity.none'))
    : html`<ol class="items" id="events">${events.map((event) => eventItem(view, event))}</ol>`
}
${
  next !== null &&
  html`<p class="actions"><a class="button quiet" id="activity-older" href="${pathWith(activityPath, { kind, days: String(days), before: next })}">${view.t('activity.older')}</a></p>`
}
<h2>${view.t('activity.export')}</h2>
<p class="soft">${view.t('activity.export.what')}</p>
<form method="post" action="${activityPath}/export">
<button type="submit" class="quiet" id="export">${view.t('backup_codes.download')}</button>
</form>`,
});

const filterForm = (
  view: View,
  kind: ActivityKind | undefined,
  days: number,
): Html => html`<form method="get" class="filters">
<div><label for="kind">${view.t('activity.kind')}</label>
<select id="kind" name="kind">${option('', view.t('activity.kind.all'), kind === undefined)}${activityKinds.map((one) =>
  option(one, view.t(labels[one]), one === kind),
)}</select></div>
<div><label for="days">${view.t('activity.period')}</label>
<select id="days" name="days">${activityPeriods.map((one) => option(String(one), inDays(view, one), one === days))}</select></div>
<button type="submit" class="quiet" id="activity-show">${view.t('activity.submit')}</button>
</form>`;

const option = (value: string, label: Html | string, isChosen: boolean): Html =>
  html`<option value="${value}"${isChosen && html` selected`}>${label}</option>`;

const inDays = ({ region }: View, days: number): string =>
  withUnit(region, numberFormat(region, { style: 'unit', unit: 'day', unitDisplay: 'long' }).format(days));

function eventItem(view: View, event: ActivityRecord): Html {
  const { t } = view;
  const { action, at, by, count, address, browser, provider } = event;
  const endedBy = action === 'session.ended' && provider !== null && untrusted(provider, 80);
  const times = count > 1 && ` × ${numberFormat(view.region).format(count)}`;
  const facts = [exactTime(at), browser, endedBy, address !== null && ipAddress(address)].filter((fact) => fact);
  return html`<li><div>
<p><b>${sentence(view, event)}</b>${times}${by === 'administrator' && html` ${badge(t('activity.by_administrator'), 'off')}`}</p>
<p class="soft">${facts.map((fact, index) => html`${index > 0 && ' · '}${fact}`)}</p>
</div>${linkOf(view, event)}</li>
`;
}

function linkOf({ t }: View, { action, alert_id }: ActivityRecord): Html | false {
  if (alert_id !== null) return html`<a href="${alertPath(alert_id)}">${t('activity.details')}</a>`;
  return action === 'session.started' && html`<a href="/account/sessions">${t('activity.not_you')}</a>`;
}

function sentence(view: View, event: ActivityRecord): Html {
  const { action, app, group, provider } = event;
  return isOfActivity(action)
    ? view.t(sentenceOf(action), {
        service: view.branding.name,
        when: view.ago(event.at),
        how: methodsInWords(view, methodsOf(event)),
        app: app && (app.name === null ? view.t('activity.app_gone') : untrusted(app.name, 80)),
        group: group && (group.name === null ? view.t('activity.group_gone') : untrusted(group.name, 80)),
        provider: provider && untrusted(provider, 80),
      })
    : html`${untrusted(action, 80)}`;
}

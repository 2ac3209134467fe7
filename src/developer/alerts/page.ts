import type { Client } from '../../clients/client.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { badge, exactTime, itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { untilWords, useList } from '../../self-service/alerts/page.ts';
import { aboveClient, clientPath, developerTab } from '../navigation.ts';
import { type ClientAlert, likelyFirst } from './alerts.ts';

const pathOf = (client: Client, { alert_id }: ClientAlert): string => `${clientPath(client)}/alerts/${alert_id}`;

export const clientAlertsPage = (view: View, client: Client, alerts: readonly ClientAlert[]): Page => ({
  title: view.plain('developer.alerts'),
  tab: developerTab('developer'),
  above: aboveClient(client),
  content: html`<h1>${view.t('developer.alerts')}</h1>
<p class="soft">${view.t('developer.alerts.intro')}</p>
${itemsOr(
  alerts.map((alert) => alertItem(view, client, alert)),
  view.t('developer.alerts.none'),
)}`,
});

const alertItem = (view: View, client: Client, alert: ClientAlert): Html => html`<li><div>
<h2><a href="${pathOf(client, alert)}">${view.t(`developer.alert.kind.${alert.kind}`)}</a></h2>
<p>${exactTime(alert.at)} · ${view.t('developer.user')} <code>${alert.sub}</code></p>
</div></li>
`;

export const clientAlertPage = (view: View, client: Client, alert: ClientAlert): Page => {
  const { t } = view;
  return {
    title: view.plain(`developer.alert.kind.${alert.kind}`),
    tab: developerTab('developer'),
    above: [...aboveClient(client), { path: `${clientPath(client)}/alerts`, label: t('developer.alerts') }],
    content: html`<h1>${t(`developer.alert.kind.${alert.kind}`)}</h1>
<dl><dt>${t('developer.user')}</dt><dd><code>${alert.sub}</code></dd></dl>
<h2>${t('alert.uses')}</h2>
${useList(view, alert, true)}
<p>${t('developer.alert.between', { count: alert.uses_between })}</p>
<h2>${t('alert.ended')}</h2>
<p>${t('developer.alert.ended')}</p>
${untilWords(view, alert)}
<h2>${t('developer.alert.check')}</h2>
<ol id="check">${likelyFirst(alert).map(
      (cause) =>
        html`<li>${cause === alert.likely && html`${badge(t('developer.alert.likely'), 'warn')} `}${t(`developer.alert.check.${cause}`)}</li>
`,
    )}</ol>`,
  };
};

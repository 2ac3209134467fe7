import type { Client } from '../../clients/client.ts';
import { deliveryList, stateName } from '../../deliveries/page.ts';
import type { DeliveryCounts, DeliveryState } from '../../deliveries/queue.ts';
import type { LogoutPage } from '../../oauth/logout/deliveries.ts';
import { notice } from '../../platform/pages/form.ts';
import { html, untrusted } from '../../platform/pages/html.ts';
import { pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { Names } from '../audit/names.ts';
import { entityName } from '../audit/sentence.ts';
import { adminTab, clientPath, type Shown } from '../components.ts';

/** The logout tokens for one client, all of them or those in one state, a page at a time. */
export function logoutsPage(
  view: View,
  client: Client,
  {
    state,
    found,
    counts,
    names,
  }: { state: DeliveryState | undefined; found: LogoutPage; counts: DeliveryCounts; names: Names },
  shown: Shown,
): Page {
  const path = clientPath(client);
  return {
    title: view.plain('logouts.title'),
    tab: adminTab('admin_clients'),
    above: [{ path, label: untrusted(client.name) }],
    content: html`<h1>${view.t('logouts.title')}</h1>
${shown.problem}${shown.query?.done === 'resent' && notice(view.t('logouts.resent'))}
<p class="soft">${view.t('admin.clients.logouts.intro')}</p>
<h2 class="state">${stateName(view, state)}</h2>
${deliveryList(view, found, state, {
  title: ({ sub }) => entityName(view, names, sub),
  resend: view.may('clients:write') ? `${path}/logout-deliveries/retry` : undefined,
  counts,
  pathTo: (query) => pathWith(`${path}/logout-deliveries`, query),
  none: view.t('admin.clients.logouts.none'),
})}`,
  };
}

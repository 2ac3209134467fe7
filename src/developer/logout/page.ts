import type { Client } from '../../clients/client.ts';
import { deliveryList } from '../../deliveries/page.ts';
import type { DeliveryCounts, DeliveryState } from '../../deliveries/queue.ts';
import type { LogoutPage } from '../../oauth/logout/deliveries.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { pathWith } from '../../platform/pages/lists.ts';
import type { View } from '../../platform/pages/view.ts';
import { clientPath } from '../navigation.ts';

/** Nothing for a client that is not notified, and never was. @param state undefined: all. */
export function logoutSection(
  view: View,
  client: Client,
  { found, counts, state }: { found: LogoutPage; counts: DeliveryCounts; state: DeliveryState | undefined },
): Html | false {
  const wasNotified = found.deliveries.length > 0 || state !== undefined;
  if (client.backchannel_logout_uri === null && !wasNotified) return false;
  const path = clientPath(client);
  return html`<h2 id="logouts">${view.t('logouts.title')}</h2>
<p class="soft">${view.t('developer.logout.intro')}</p>
${deliveryList(view, found, state, {
  title: ({ sub }) => html`${view.t('developer.user')}: <code>${sub}</code>`,
  resend: `${path}/logout-deliveries/retry`,
  counts,
  pathTo: (query) => `${pathWith(`${path}/activity`, query)}#logouts`,
  none: view.t('developer.logout.none'),
})}`;
}

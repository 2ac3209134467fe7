import type { Client } from '../../clients/client.ts';
import type { LogoutRecord } from '../../oauth/logout/deliveries.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { View } from '../../platform/pages/view.ts';
import { clientPath } from '../navigation.ts';

const tones = { delivered: 'badge', waiting: 'badge off', dead: 'badge warn' } as const;

/** Nothing for a client that is not notified, and never was. */
export const logoutSection = (view: View, client: Client, deliveries: readonly LogoutRecord[]): Html | false =>
  (client.backchannel_logout_uri !== null || deliveries.length > 0) &&
  html`<h2 id="logouts">${view.t('developer.logout')}</h2>
<p class="soft">${view.t('developer.logout.intro')}</p>
${
  deliveries.length === 0
    ? html`<p class="empty">${view.t('developer.logout.none')}</p>`
    : html`<ul class="items">${deliveries.map((delivery) => item(view, client, delivery))}</ul>`
}`;

const item = (view: View, client: Client, delivery: LogoutRecord): Html => html`<li><div>
<h3 id="${delivery.delivery_id}">${view.ago(delivery.created_at)} <span class="${tones[delivery.state]}">${view.t(`admin.webhooks.state.${delivery.state}`)}</span></h3>
<p>${view.t('developer.user')}: <code>${delivery.sub}</code></p>
<p>${view.t('admin.webhooks.attempts', { count: delivery.attempts })}${delivery.next_attempt_at !== null && delivery.attempts > 0 && html` ${view.t('admin.webhooks.next', { when: view.ago(delivery.next_attempt_at) })}`}</p>
${delivery.last_error !== null && html`<p lang="en">${untrusted(delivery.last_error, 300)}</p>`}
</div>
${
  delivery.dead_at !== null &&
  html`<form method="post" action="${clientPath(client)}/logout-deliveries/retry">
${hidden('delivery_id', delivery.delivery_id)}
<button type="submit" class="quiet" aria-describedby="${delivery.delivery_id}">${view.t('developer.logout.resend')}</button></form>`
}</li>
`;

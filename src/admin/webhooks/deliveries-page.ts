import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { type DeliveryPage, deliveryStates } from '../../webhooks/list-webhooks.ts';
import type { Delivery, DeliveryState } from '../../webhooks/store.ts';
import { adminTab } from '../admin-tabs.ts';
import { badge, exactTime } from '../components.ts';

type DeliveriesView = { webhook_id: string; url: string; state: DeliveryState | undefined; page: DeliveryPage };

/** What was sent to one webhook, all of it or what is in one state, a page at a time. */
export const deliveriesPage = (view: View, { webhook_id, url, state, page }: DeliveriesView): Page => ({
  title: view.plain('admin.webhooks.deliveries.all'),
  tab: adminTab('admin_webhooks'),
  content: html`<h1>${view.t('admin.webhooks.one')}</h1>
<p><a href="/admin/webhooks/${webhook_id}">${untrustedUrl(url)}</a></p>
<p class="actions">${[undefined, ...deliveryStates].map(
    (one) =>
      html`<a href="${deliveriesPath(webhook_id, one ? { state: one } : {})}"${one === state && html` aria-current="true"`}>${nameOf(view, one)}</a>\n`,
  )}</p>
<h2>${nameOf(view, state)}</h2>
${
  page.deliveries.length === 0
    ? html`<p class="empty">${view.t('admin.webhooks.deliveries.none_such')}</p>`
    : html`<ul class="items">${page.deliveries.map((delivery) => deliveryItem(view, delivery))}</ul>`
}
${page.next !== undefined && html`<p class="actions"><a class="button quiet" id="deliveries-older" href="${deliveriesPath(webhook_id, { ...(state && { state }), after: page.next })}">${view.t('admin.webhooks.deliveries.older')}</a></p>`}`,
});

const nameOf = (view: View, state: DeliveryState | undefined): Html =>
  view.t(state === undefined ? 'admin.webhooks.deliveries.all' : `admin.webhooks.state.${state}`);

export function deliveriesPath(webhook_id: string, query: Record<string, string>): string {
  const typed = new URLSearchParams(query).toString();
  return `/admin/webhooks/${webhook_id}/deliveries${typed && `?${typed}`}`;
}

export const deliveryItem = (view: View, delivery: Delivery) => html`<li><div>
<h3><code>${delivery.event_type}</code> ${stateOf(view, delivery)}</h3>
<p>${exactTime(delivery.created_at)} · <code>${delivery.delivery_id}</code></p>
<p>${view.t('admin.webhooks.attempts', { count: delivery.attempts })}${delivery.next_attempt_at !== null && delivery.attempts > 0 && html` ${view.t('admin.webhooks.next', { when: view.ago(delivery.next_attempt_at) })}`}</p>
${delivery.last_error !== null && html`<p lang="en">${untrusted(delivery.last_error, 300)}</p>`}
</div>
${
  delivery.dead_at !== null &&
  html`<form method="post" action="/admin/webhooks/${delivery.webhook_id}/replay">
<input type="hidden" name="delivery_id" value="${delivery.delivery_id}">
<button type="submit" class="quiet">${view.t('admin.webhooks.replay')}</button></form>`
}</li>
`;

function stateOf(view: View, { delivered_at, dead_at }: Delivery): Html {
  if (delivered_at !== null) return badge(view.t('admin.webhooks.state.delivered'));
  return dead_at === null
    ? badge(view.t('admin.webhooks.state.waiting'), 'off')
    : badge(view.t('admin.webhooks.state.dead'), 'warn');
}

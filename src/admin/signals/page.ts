import { deliveryItems, deliveryList, stateName } from '../../deliveries/page.ts';
import type { DeliveryState } from '../../deliveries/queue.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import { badge, emptyList, itemsOr, moreLink, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import type { findSignals, WatchedStream } from '../../signals/watch-stream.ts';
import { buttonForm, doneNotice, type Shown, step } from '../components.ts';
import { webhooksPath, webhooksTab } from '../webhooks/page-parts.ts';

export const signalsPath = '/admin/signals';
const pathOf = ({ stream_id }: WatchedStream) => `${signalsPath}/${stream_id}`;
type Found = Awaited<ReturnType<typeof findSignals>>;

const above = (view: View) => ({ path: webhooksPath, label: view.t('admin.webhooks.title') });
const statusBadge = (view: View, { status, credential_active }: WatchedStream): Html =>
  badge(view.t(`admin.signals.status.${status}`), status === 'enabled' && credential_active ? 'good' : 'warn');

export const streamsPage = (view: View, streams: readonly WatchedStream[], shown: Shown): Page => ({
  title: view.plain('admin.signals.title'),
  tab: webhooksTab,
  above: [above(view)],
  content: html`<h1>${view.t('admin.signals.title')}</h1>
<p class="soft">${view.t('admin.signals.intro', { docs: html`<a href="/docs/signals">${view.t('admin.signals.docs')}</a>` })}</p>
${doneNotice(view, shown, 'signals', ['deleted'])}
${itemsOr(
  streams.map(
    (one) => html`<li><div>
<h2><a href="${pathOf(one)}">${untrusted(one.receiver)}</a> ${statusBadge(view, one)} ${one.dead > 0 && badge(view.t('admin.webhooks.dead.count', { count: one.dead }), 'warn')}</h2>
<p>${one.endpoint_url === null ? view.t('admin.signals.polled') : untrustedUrl(one.endpoint_url)}</p>
<p class="state">${lastDelivery(view, one)}</p>
</div></li>
`,
  ),
  view.t('admin.signals.none'),
)}`,
});

const lastDelivery = (view: View, { waiting, last_delivered_at }: WatchedStream): Html =>
  html`${view.t('admin.signals.waiting', { count: waiting })} · ${
    last_delivered_at === null
      ? view.t('admin.signals.never')
      : view.t('admin.signals.last', { when: view.ago(last_delivered_at) })
  }`;

const lookOf = (view: View, one: WatchedStream) => ({
  title: ({ event_type, user_id }: Found['deliveries'][number]) =>
    html`<code>${event_type.split('/').at(-1)}</code>${user_id !== null && html` <a href="/admin/users/${user_id}">${user_id}</a>`}`,
  resend:
    one.status === 'enabled' && one.method === 'push' && view.may('webhooks:write')
      ? `${pathOf(one)}/replay`
      : undefined,
});

export const streamPage = (view: View, one: WatchedStream, { deliveries, next }: Found, shown: Shown): Page => ({
  title: visibleText(one.receiver),
  tab: webhooksTab,
  above: [above(view), { path: signalsPath, label: view.t('admin.signals.title') }],
  content: html`<h1>${untrusted(one.receiver)} ${statusBadge(view, one)}</h1>
${shown.problem}${doneNotice(view, shown, 'signals', ['paused', 'enabled', 'verified', 'replayed'])}
${!one.credential_active && html`<p class="advice">${view.t(one.client_id === null ? 'admin.signals.ended' : 'admin.signals.client_ended')}</p>`}
${one.reason !== null && html`<p class="soft" lang="en">${untrusted(one.reason, 500)}</p>`}
<dl>
${one.description !== null && html`<dt>${view.t('admin.signals.description')}</dt><dd>${untrusted(one.description)}</dd>`}
<dt>${view.t('admin.signals.endpoint')}</dt><dd>${one.endpoint_url === null ? view.t('admin.signals.polled') : untrustedUrl(one.endpoint_url)}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${one.stream_id}</code></dd>
${
  one.client_id === null
    ? html`<dt>${view.t('admin.signals.credential')}</dt><dd><a href="/admin/service-credentials/${one.credential_id}">${untrusted(one.receiver)}</a></dd>`
    : html`<dt>${view.t('admin.signals.client')}</dt><dd><a href="/admin/clients/${one.client_id}">${untrusted(one.receiver)}</a></dd>
<dt>${view.t('admin.signals.users')}</dt><dd>${view.t('admin.signals.users.own')}</dd>`
}
<dt>${view.t('admin.signals.events')}</dt><dd>${one.events.length === 0 ? view.t('admin.none') : html`<code>${one.events.map((uri) => uri.split('/').at(-1)).join(', ')}</code>`}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>
</dl>
<p class="state">${lastDelivery(view, one)}</p>
${view.may('webhooks:write') && changes(view, one)}
<h2>${view.t('admin.signals.deliveries')}</h2>
${
  deliveries.length === 0
    ? emptyList(view.t('admin.signals.deliveries.none'))
    : html`<ul class="items">${deliveryItems(view, deliveries, lookOf(view, one))}</ul>`
}
${next !== null && moreLink('signal-deliveries', listPath(one, {}), view.t('deliveries.all'))}
${view.may('webhooks:write') && step(view, 'admin.signals.delete', { path: `${pathOf(one)}/delete`, id: 'signal-delete', style: 'danger' })}
<p><a href="/admin/audit?target=${one.stream_id}">${view.t('admin.history')}</a></p>`,
});

const changes = (view: View, one: WatchedStream): Html => html`<div class="actions">
${(['verify', one.status === 'enabled' ? 'pause' : 'enable'] as const).map((name) =>
  buttonForm(view.t(`admin.signals.${name}`), {
    path: `${pathOf(one)}/${name}`,
    id: `signal-${name}`,
    style: name === 'enable' ? undefined : 'quiet',
  }),
)}
</div>`;

const listPath = (one: WatchedStream, query: { state?: DeliveryState } & Parameters) =>
  pathWith(`${pathOf(one)}/deliveries`, query);

export const signalsListPage = (
  view: View,
  one: WatchedStream,
  state: DeliveryState | undefined,
  found: Found,
): Page => ({
  title: view.plain('deliveries.all'),
  tab: webhooksTab,
  above: [
    above(view),
    { path: signalsPath, label: view.t('admin.signals.title') },
    { path: pathOf(one), label: untrusted(one.receiver) },
  ],
  content: html`<h1>${untrusted(one.receiver)}</h1>
<h2 class="state">${stateName(view, state)}</h2>
${deliveryList(view, found, state, {
  ...lookOf(view, one),
  counts: one,
  pathTo: (query) => listPath(one, query),
  none: view.t('admin.signals.deliveries.none'),
})}`,
});

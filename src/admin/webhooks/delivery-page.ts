import { type DeliveryLook, deliveryList, nextAttempt, stateName, tones } from '../../deliveries/page.ts';
import type { DeliveryCounts, DeliveryState } from '../../deliveries/queue.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { badge, exactTime, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { type AttemptRecord, maxAttemptsKept } from '../../webhooks/attempts.ts';
import { isEventType } from '../../webhooks/event-types.ts';
import type { findDeliveries, findDelivery } from '../../webhooks/list-webhooks.ts';
import type { Webhook } from '../../webhooks/statements.ts';
import { headersOf } from '../../webhooks/webhook-sender.ts';
import { buttonForm } from '../components.ts';
import { eventWords } from './event-choices.ts';
import { formOf, pathOf, webhookName, webhooksTab } from './page-parts.ts';

/** What was sent to one webhook, all of it or what is in one state, a page at a time. */
export const deliveriesPage = (
  view: View,
  webhook: Webhook,
  state: DeliveryState | undefined,
  found: WebhookDeliveries,
  counts: DeliveryCounts,
): Page => ({
  title: view.plain('deliveries.all'),
  tab: webhooksTab,
  above: [{ path: pathOf(webhook), label: webhookName(webhook) }],
  content: html`<h1>${webhookName(webhook)}</h1>
<h2 class="state">${stateName(view, state)}</h2>
${deliveryList(view, found, state, {
  ...lookOf(view, webhook),
  counts,
  pathTo: (query) => deliveriesPath(webhook, query),
  none: view.t('admin.webhooks.deliveries.none'),
})}`,
});

export const deliveriesPath = (webhook: Webhook, query: { state?: DeliveryState } & Parameters) =>
  pathWith(`${pathOf(webhook)}/deliveries`, query);

type WebhookDeliveries = Awaited<ReturnType<typeof findDeliveries>>;

export const lookOf = (view: View, one: Webhook): DeliveryLook<WebhookDeliveries['deliveries'][number]> => ({
  title: ({ delivery_id, event_type }) =>
    html`<a href="${pathOf(one)}/deliveries/${delivery_id}"><code>${event_type}</code></a>`,
  resend: one.disabled_at === null && view.may('webhooks:write') ? `${pathOf(one)}/replay` : undefined,
  answer: ({ response_status: status, duration_ms: duration }) =>
    status !== null && html` · ${view.t('deliveries.answer', { status, duration })}`,
});

/** One delivery: what was sent, and what was answered. Only administrators read it: an answer may hold secrets. */
export const deliveryPage = (view: View, webhook: Webhook, one: Awaited<ReturnType<typeof findDelivery>>): Page => ({
  title: view.plain('admin.webhooks.delivery'),
  tab: webhooksTab,
  above: [
    { path: pathOf(webhook), label: webhookName(webhook) },
    { path: deliveriesPath(webhook, {}), label: view.t('deliveries.all') },
  ],
  content: html`<h1>${view.t('admin.webhooks.delivery')} ${badge(view.t(`deliveries.state.${one.state}`), tones[one.state])}</h1>
<dl>
<dt>${view.t('admin.webhooks.event')}</dt><dd>${isEventType(one.event_type) ? eventWords(view, one.event_type) : html`<code>${one.event_type}</code>`}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${one.delivery_id}</code></dd>
<dt>${view.t('admin.created')}</dt><dd>${exactTime(one.created_at)}</dd>
<dt>${view.t('deliveries.attempts_made')}</dt><dd>${one.attempts}${nextAttempt(view, one, webhook.disabled_at !== null)}</dd>
${one.delivered_at !== null && html`<dt>${view.t('deliveries.delivered')}</dt><dd>${exactTime(one.delivered_at)}</dd>`}
${one.last_error !== null && html`<dt>${view.t('deliveries.error')}</dt><dd lang="en">${untrusted(one.last_error, 300)}</dd>`}
</dl>
${
  (one.state !== 'waiting' || one.attempts > 0) &&
  view.may('webhooks:write') &&
  (webhook.disabled_at === null
    ? html`${one.state === 'delivered' && html`<p class="soft">${view.t('deliveries.resend.what')}</p>\n`}${buttonForm(
        view.t(one.state === 'waiting' ? 'deliveries.send_now' : 'deliveries.resend'),
        {
          ...formOf(webhook, 'replay', one.state === 'delivered' ? 'quiet' : undefined),
          fields: hidden('delivery_id', one.delivery_id),
        },
      )}`
    : html`<p class="soft">${view.t('deliveries.resend.off')}</p>`)
}
<h2>${view.t('deliveries.request')}</h2>
<p class="soft">${view.t('deliveries.request.what')}</p>
${block(headersInWords(view, one.delivery_id))}
${block(JSON.stringify(JSON.parse(one.payload), undefined, 2))}
${one.attempt_list.length > 0 && attemptTable(view, one.attempt_list, one.attempts)}
<h2>${view.t('deliveries.response')}</h2>
${
  one.duration_ms === null
    ? html`<p class="empty">${view.t('deliveries.response.none')}</p>`
    : html`<dl>
<dt>${view.t('deliveries.response.status')}</dt><dd>${one.response_status ?? view.t('deliveries.response.no_status')}</dd>
<dt>${view.t('deliveries.response.duration')}</dt><dd>${one.duration_ms} ms</dd>
</dl>
${
  one.response_status !== null &&
  html`<p class="soft">${view.t('deliveries.response.what')}</p>
${one.response_body ? block(one.response_body) : html`<p class="empty">${view.t('deliveries.response.no_body')}</p>`}`
}`
}`,
});

/** The signature itself would be of use to who looks over a shoulder, and is another with each attempt. */
const headersInWords = (view: View, delivery_id: string): string =>
  [
    ...Object.entries(headersOf(delivery_id)).map(([name, value]) => `${name}: ${value}`),
    `webhook-timestamp: ${view.plain('deliveries.header.timestamp')}`,
    `webhook-signature: v1,… (${view.plain('deliveries.header.signature')})`,
  ].join('\n');

/** Newest first. @param made how many there were since it was sent last; an earlier version has kept none of them. */
const attemptTable = (
  view: View,
  attempts: readonly AttemptRecord[],
  made: number,
): Html => html`<h2>${view.t('deliveries.attempts_made')}</h2>
${(attempts.length >= maxAttemptsKept || made > attempts.length) && html`<p class="soft">${view.t('deliveries.attempts_made.latest', { count: attempts.length })}</p>`}
<table id="attempts"><thead><tr><th scope="col">${view.t('developer.when')}</th><th scope="col">${view.t('deliveries.response')}</th><th scope="col">${view.t('deliveries.response.duration')}</th></tr></thead>
<tbody>${attempts.toReversed().map(
  ({ at, status, ms, problem }) => html`<tr><td data-label="${view.plain('developer.when')}">${exactTime(at)}</td>
<td data-label="${view.plain('deliveries.response')}">${status ?? view.t('deliveries.response.no_status')}${problem !== undefined && status === null && html` <span lang="en">${untrusted(problem, 300)}</span>`}</td>
<td data-label="${view.plain('deliveries.response.duration')}">${ms} ms</td></tr>
`,
)}</tbody></table>`;

/** Text of a program, line by line. */
const block = (text: string): Html => html`<pre dir="ltr" translate="no">${visibleText(text, 100_000)}</pre>`;

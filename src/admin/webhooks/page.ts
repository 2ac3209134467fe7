import {
  type DeliveryLook,
  deliveryItems,
  deliveryList,
  nextAttempt,
  stateName,
  tones,
} from '../../deliveries/page.ts';
import type { DeliveryState } from '../../deliveries/queue.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { alert, copyScripts, describedField, hidden, problemAt } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime, itemsOr, moreLink, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import type { AttemptRecord } from '../../webhooks/attempts.ts';
import { type EventType, eventTypes, isEventType } from '../../webhooks/event-types.ts';
import {
  type findDeliveries,
  type findDelivery,
  isFailing,
  maxDeadCounted,
  nameOfWebhook,
  type Webhook,
  type webhookWithDeliveries,
} from '../../webhooks/list-webhooks.ts';
import { longestSecretOverlap, maxReplayed } from '../../webhooks/manage-webhook.ts';
import { headersOf } from '../../webhooks/webhook-sender.ts';
import { adminTab, buttonForm, doneNotice, type Shown, secretOnce, step } from '../components.ts';
import { chosenEvents, type EventGroup, eventGroups, everything } from './event-groups.ts';

type Trying = Webhook & { next_attempt_at: number | null };
type Counted = Trying & { dead: number };

const path = '/admin/webhooks';
const tab = adminTab('admin_webhooks');
/** More events than these are a number in the list. */
const maxNamed = 6;

export const webhooksPage = (view: View, webhooks: readonly Counted[], shown: Shown): Page => ({
  title: view.plain('admin.webhooks.title'),
  tab,
  content: html`<h1>${view.t('admin.webhooks.title')}</h1>
<p class="soft">${view.t('admin.webhooks.intro')}</p>
${doneNotice(view, shown, 'webhooks', ['deleted'])}
${itemsOr(
  webhooks.map((one) => webhookItem(view, one)),
  view.t('admin.webhooks.none'),
)}
<h2 id="create">${view.t('admin.webhooks.create')}</h2>
${webhookForm(view, shown, { name: null, url: '', event_types: [] }, { path, id: 'webhook-create', label: 'admin.webhooks.create.submit' })}`,
});

export const editWebhookPage = (view: View, one: Webhook, shown: Shown): Page => ({
  title: view.plain('admin.webhooks.edit'),
  tab,
  above: [{ path: pathOf(one), label: webhookName(one) }],
  content: html`<h1>${view.t('admin.webhooks.edit')}</h1>
${webhookForm(view, shown, one, { path: `${pathOf(one)}/edit`, id: 'webhook-save', label: 'admin.webhooks.edit.submit' })}`,
});

type Terms = Pick<Webhook, 'name' | 'url' | 'event_types'>;

/** As it was filled in, if that was refused. */
function webhookForm(
  view: View,
  { form, problem, refusal: { problems } = { problems: [] } }: Shown,
  stored: Terms,
  submit: { path: string; id: string; label: 'admin.webhooks.create.submit' | 'admin.webhooks.edit.submit' },
): Html {
  const { name, url, event_types }: Terms = form
    ? { name: form.name ?? null, url: form.url ?? '', event_types: chosenEvents(form) }
    : stored;
  return html`${problems.length > 0 ? alert(view.t('developer.form.problem')) : problem}
<form method="post" action="${submit.path}">
<label for="name">${view.t('admin.webhooks.name')}</label>
<input id="name" name="name" maxlength="100" autocomplete="off" value="${name}"${describedField(problems, 'name', true)}>
<p class="hint" id="name-hint">${view.t('admin.webhooks.name.hint')}</p>${problemAt(view, problems, 'name')}
<label for="url">${view.t('admin.webhooks.url')}</label>
<input id="url" name="url" type="url" required maxlength="2000" autocomplete="off" value="${url}"${describedField(problems, 'url', true)}>
<p class="hint" id="url-hint">${view.t('admin.webhooks.url.hint')}</p>${problemAt(view, problems, 'url')}
${eventChoices(view, event_types, problems)}
<button type="submit" id="${submit.id}">${view.t(submit.label)}</button>
</form>`;
}

const pathOf = ({ webhook_id }: Pick<Webhook, 'webhook_id'>) => `${path}/${webhook_id}`;

const webhookName = (one: Webhook): Html => untrusted(nameOfWebhook(one));

const webhookItem = (view: View, one: Counted) => html`<li><div>
<h2><a href="${pathOf(one)}">${webhookName(one)}</a> ${one.disabled_at !== null && badge(view.t('admin.webhooks.state.off'), 'off')} ${one.dead > 0 && badge(view.t(one.dead < maxDeadCounted ? 'admin.webhooks.dead.count' : 'admin.webhooks.dead.count_more', { count: one.dead }), 'warn')}</h2>
${failingNotice(view, one)}<p>${untrustedUrl(one.url)}</p>
<p>${one.event_types.length > maxNamed ? view.t('admin.webhooks.events.count', { count: one.event_types.length }) : one.event_types.join(', ')}</p>
</div></li>
`;

/** Since when it fails, when it is tried next, and a way to do so now. */
const failingNotice = (view: View, one: Trying): Html | false =>
  isFailing(one) &&
  html`<div class="advice failing"><p>${view.t('admin.webhooks.failing', { since: exactTime(one.failing_since ?? 0) })}${one.next_attempt_at !== null && html` ${view.t('deliveries.next', { when: exactTime(one.next_attempt_at) })}.`}</p>
${one.next_attempt_at !== null && buttonForm(view.t('deliveries.send_now'), { path: `${pathOf(one)}/replay-all`, id: `send-now-${one.webhook_id}`, style: 'quiet' })}</div>
`;

type WebhookView = Awaited<ReturnType<typeof webhookWithDeliveries>>;

export const webhookPage = (
  view: View,
  { webhook: one, latest, dead, deadInAll }: WebhookView,
  shown: Shown,
): Page => ({
  title: visibleText(nameOfWebhook(one)),
  tab,
  content: html`<h1>${webhookName(one)}${one.disabled_at !== null && html` ${badge(view.t('admin.webhooks.state.off'), 'warn')}`}</h1>
${shown.problem}${doneNotice(view, shown, 'webhooks', ['replayed', 'replayed_all', 'replayed_none', 'enabled', 'disabled', 'tested', 'edited', 'unchanged'])}
${one.disabled_at !== null && html`<p class="soft">${view.t('admin.webhooks.off', { when: view.ago(one.disabled_at) })}${one.disabled_reason !== null && html` ${view.t(`admin.webhooks.off.${one.disabled_reason}`)}`}</p>`}
${failingNotice(view, one)}<dl>
<dt>${view.t('admin.webhooks.url')}</dt><dd>${untrustedUrl(one.url)}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${one.webhook_id}</code></dd>
<dt>${view.t('admin.webhooks.events')}</dt><dd>${eventList(view, one.event_types)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>
</dl>
<div class="actions">
<a class="button quiet" id="webhook-edit" href="${pathOf(one)}/edit">${view.t('admin.webhooks.edit')}</a>
${
  one.disabled_at === null
    ? (['test', 'disable'] as const).map((name) =>
        buttonForm(view.t(`admin.webhooks.${name}.submit`), formOf(one, name, 'quiet')),
      )
    : buttonForm(view.t('admin.webhooks.enable.submit'), formOf(one, 'enable'))
}
</div>
<h2>${view.t('admin.webhooks.rotate')}</h2>
<p class="soft">${view.t('admin.webhooks.rotate.what')}</p>
<form method="post" action="${pathOf(one)}/rotate-secret">
<label for="overlap_seconds">${view.t('admin.webhooks.rotate.before')}</label>
<select id="overlap_seconds" name="overlap_seconds">
<option value="${longestSecretOverlap}" selected>${view.t('overlap.day')}</option>
<option value="3600">${view.t('overlap.hour')}</option>
<option value="0">${view.t('overlap.now')}</option>
</select>
<button type="submit" class="quiet" id="webhook-rotate-secret">${view.t('admin.webhooks.rotate.submit')}</button>
</form>
${
  dead.deliveries.length > 0 &&
  html`<h2>${view.t('admin.webhooks.dead')}</h2>
${
  one.disabled_at === null
    ? html`<p class="soft">${view.t(deadInAll < maxDeadCounted ? 'admin.webhooks.replay_all.what' : 'admin.webhooks.replay_all.what_more', { count: deadInAll, max: maxReplayed })}</p>
${buttonForm(view.t('admin.webhooks.replay_all'), formOf(one, 'replay-all', 'quiet'))}`
    : html`<p class="soft">${view.t(deadInAll < maxDeadCounted ? 'admin.webhooks.dead.off' : 'admin.webhooks.dead.off_more', { count: deadInAll })}</p>`
}
<ul class="items">${deliveryItems(view, dead.deliveries, lookOf(view, one))}</ul>
${dead.next !== null && moreLink('webhook-dead', deliveriesPath(one, { state: 'dead' }), view.t('admin.webhooks.dead.more'))}`
}
<h2>${view.t('admin.webhooks.deliveries')}</h2>
${latestDeliveries(view, one, latest)}
${step(view, 'admin.webhooks.delete', formOf(one, 'delete', 'danger'))}`,
});

/** Without the failed ones, which have a list of their own. */
function latestDeliveries(view: View, one: Webhook, { deliveries, next }: WebhookView['latest']): Html {
  if (deliveries.length === 0) return emptyList(view.t('admin.webhooks.deliveries.none'));
  const others = deliveries.filter(({ state }) => state !== 'dead');
  return html`${itemsOr(deliveryItems(view, others, lookOf(view, one)), view.t('admin.webhooks.deliveries.all_dead'))}
${next !== null && moreLink('webhook-deliveries', deliveriesPath(one, {}), view.t('deliveries.all'))}`;
}

const formOf = (one: Webhook, name: string, style?: 'quiet' | 'danger') => ({
  path: `${pathOf(one)}/${name}`,
  id: `webhook-${name}`,
  style,
});

export const webhookSecretPage = (view: View, made: { webhook_id: string; secret: string }): Page => ({
  title: view.plain('admin.webhooks.secret.title'),
  tab,
  scripts: copyScripts,
  content: html`<h1>${view.t('admin.webhooks.secret.title')}</h1>
<p class="soft">${view.t('admin.webhooks.secret.what')}</p>
${secretOnce(view, [{ label: view.t('admin.webhooks.secret'), value: made.secret }])}
<p><a class="button" href="${path}/${made.webhook_id}">${view.t('admin.go_on')}</a></p>`,
});

/** What was sent to one webhook, all of it or what is in one state, a page at a time. */
export const deliveriesPage = (
  view: View,
  webhook: Webhook,
  state: DeliveryState | undefined,
  found: WebhookDeliveries,
): Page => ({
  title: view.plain('deliveries.all'),
  tab,
  above: [{ path: pathOf(webhook), label: webhookName(webhook) }],
  content: html`<h1>${webhookName(webhook)}</h1>
<h2 class="state">${stateName(view, state)}</h2>
${deliveryList(view, found, state, {
  ...lookOf(view, webhook),
  pathTo: (query) => deliveriesPath(webhook, query),
  none: view.t('admin.webhooks.deliveries.none'),
})}`,
});

const deliveriesPath = (webhook: Webhook, query: { state?: DeliveryState } & Parameters) =>
  pathWith(`${pathOf(webhook)}/deliveries`, query);

type WebhookDeliveries = Awaited<ReturnType<typeof findDeliveries>>;

const lookOf = (view: View, one: Webhook): DeliveryLook<WebhookDeliveries['deliveries'][number]> => ({
  title: ({ delivery_id, event_type }) =>
    html`<a href="${pathOf(one)}/deliveries/${delivery_id}"><code>${event_type}</code></a>`,
  resend: one.disabled_at === null ? `${pathOf(one)}/replay` : undefined,
  answer: ({ response_status: status, duration_ms: duration }) =>
    status !== null && html` · ${view.t('deliveries.answer', { status, duration })}`,
});

/** One delivery: what was sent, and what was answered. Only administrators read it: an answer may hold secrets. */
export const deliveryPage = (view: View, webhook: Webhook, one: Awaited<ReturnType<typeof findDelivery>>): Page => ({
  title: view.plain('admin.webhooks.delivery'),
  tab,
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
${one.attempt_list.length > 0 && attemptTable(view, one.attempt_list)}
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

/** Newest first. */
const attemptTable = (
  view: View,
  attempts: readonly AttemptRecord[],
): Html => html`<h2>${view.t('deliveries.attempts_made')}</h2>
<table id="attempts"><thead><tr><th scope="col">${view.t('developer.when')}</th><th scope="col">${view.t('deliveries.response')}</th><th scope="col">${view.t('deliveries.response.duration')}</th></tr></thead>
<tbody>${attempts.toReversed().map(
  ({ at, status, ms, problem }) => html`<tr><td data-label="${view.plain('developer.when')}">${exactTime(at)}</td>
<td data-label="${view.plain('deliveries.response')}">${status ?? view.t('deliveries.response.no_status')}${problem !== undefined && status === null && html` <span lang="en">${untrusted(problem, 300)}</span>`}</td>
<td data-label="${view.plain('deliveries.response.duration')}">${ms} ms</td></tr>
`,
)}</tbody></table>`;

/** Text of a program, line by line. */
const block = (text: string): Html => html`<pre dir="ltr" translate="no">${visibleText(text, 100_000)}</pre>`;

/** An event in words, with its name on the wire. */
const eventWords = (view: View, name: EventType): Html =>
  html`${view.t(`admin.webhooks.event.${name}`)} <code>${name}</code>`;

/** The events that a webhook may receive. A box for all events of a group, and below it those of the group one by one. */
const eventChoices = (view: View, chosen: readonly EventType[], problems: readonly FieldProblem[]): Html => {
  const hasAll = (names: readonly EventType[]) => names.every((name) => chosen.includes(name));
  const box = (group: EventGroup | typeof everything, names: readonly EventType[], isChosen: boolean) =>
    html`<label><input type="checkbox" name="group:${group}" value="on"${isChosen && html` checked`}> ${view.t('admin.webhooks.group.every', { count: names.length })}</label>`;
  const eventBox = (name: EventType, isChosen: boolean) =>
    html`<label><input type="checkbox" name="event:${name}" value="on"${isChosen && html` checked`}> ${eventWords(view, name)}</label>\n`;
  const isEverything = hasAll(eventTypes);
  return html`<h2 id="event_types">${view.t('admin.webhooks.events')}</h2>
<p class="soft">${view.t('admin.webhooks.events.what')}</p>${problemAt(view, problems, 'event_types')}
<fieldset class="everything"><legend>${view.t('admin.webhooks.group.all')}</legend>
${box(everything, eventTypes, isEverything)}</fieldset>
<div class="groups">${eventGroups.map(({ group, names }) => {
    const isWhole = !isEverything && hasAll(names);
    const single = isEverything || isWhole ? [] : names.filter((name) => chosen.includes(name));
    const legend = html`<legend>${view.t(`admin.webhooks.group.${group}`)}</legend>`;
    if (names.length === 1)
      return html`<fieldset>${legend}\n${names.map((name) => eventBox(name, isWhole))}</fieldset>\n`;
    return html`<fieldset>${legend}
${box(group, names, isWhole)}
<details${single.length > 0 && html` open`}><summary>${view.t('admin.webhooks.group.single')}</summary>
${names.map((name) => eventBox(name, single.includes(name)))}</details></fieldset>\n`;
  })}</div>`;
};

/** The events that a webhook receives. One that this version does not know is shown by its name. */
const eventList = (view: View, names: readonly string[]): Html =>
  html`<ul class="scopes">${names.map(
    (name) => html`<li>${isEventType(name) ? eventWords(view, name) : html`<code>${name}</code>`}</li>\n`,
  )}</ul>`;

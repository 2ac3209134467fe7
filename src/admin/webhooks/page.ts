import type { Parameters } from '../../platform/http/parameters.ts';
import { copyScripts } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { type EventType, eventTypes, isEventType } from '../../webhooks/event-types.ts';
import { type Delivery, type DeliveryPage, type DeliveryState, deliveryStates } from '../../webhooks/list-webhooks.ts';
import { maxReplayed, type webhookRecord } from '../../webhooks/manage-webhook.ts';
import { adminTab, badge, choices, disclosure, doneNotice, exactTime, secretOnce } from '../components.ts';

type Webhook = ReturnType<typeof webhookRecord>;
export type Counted = Webhook & { dead: number };

const path = '/admin/webhooks';
const tab = adminTab('admin_webhooks');
/** More events than these are a number in the list. */
const maxNamed = 6;

export const webhooksPage = (
  view: View,
  webhooks: readonly Counted[],
  { problem, form = {}, query = {} }: { problem?: Html | false; form?: Parameters; query?: Parameters },
): Page => ({
  title: view.plain('admin.webhooks.title'),
  tab,
  content: html`<h1>${view.t('admin.webhooks.title')}</h1>
<p class="soft">${view.t('admin.webhooks.intro')}</p>
${doneNotice(view, query, { deleted: 'admin.webhooks.done.deleted' })}
${
  webhooks.length === 0
    ? html`<p class="empty">${view.t('admin.webhooks.none')}</p>`
    : html`<ul class="items">${webhooks.map((one) => webhookItem(view, one))}</ul>`
}
<h2>${view.t('admin.webhooks.create')}</h2>
${problem}
<form method="post" action="${path}">
<label for="url">${view.t('admin.webhooks.url')}</label>
<input id="url" name="url" type="url" required maxlength="2000" autocomplete="off" value="${form.url ?? ''}" aria-describedby="url-hint">
<p class="hint" id="url-hint">${view.t('admin.webhooks.url.hint')}</p>
${eventChoices(view, (name) => form[`event:${name}`] === 'on')}
<button type="submit" id="webhook-create">${view.t('admin.webhooks.create.submit')}</button>
</form>`,
});

const webhookItem = (view: View, one: Counted) => html`<li><div>
<h2><a href="${path}/${one.webhook_id}">${untrustedUrl(one.url)}</a> ${one.disabled_at !== null && badge(view.t('admin.webhooks.state.off'), 'off')} ${one.dead > 0 && badge(view.t('admin.webhooks.dead.count', { count: one.dead }), 'warn')}</h2>
<p>${one.event_types.length > maxNamed ? view.t('admin.webhooks.events.count', { count: one.event_types.length }) : one.event_types.join(', ')}</p>
</div></li>
`;

export const webhookPage = (
  view: View,
  one: Webhook,
  {
    latest,
    dead,
    deadInAll,
    problem,
    query = {},
  }: {
    latest: DeliveryPage;
    dead: DeliveryPage;
    deadInAll: number;
    problem?: Html | false;
    query?: Parameters;
  },
): Page => ({
  title: visibleText(URL.parse(one.url)?.host ?? one.webhook_id),
  tab,
  content: html`<h1>${view.t('admin.webhooks.one')}</h1>
${problem}${doneNotice(view, query, {
  replayed: 'admin.webhooks.done.replayed',
  replayed_all: 'admin.webhooks.done.replayed_all',
  enabled: 'admin.webhooks.done.enabled',
  disabled: 'admin.webhooks.done.disabled',
  tested: 'admin.webhooks.done.tested',
})}
${one.disabled_at !== null && html`<p>${badge(view.t('admin.webhooks.state.off'), 'warn')} ${view.t('admin.webhooks.off', { when: view.ago(one.disabled_at) })}</p>`}
<dl>
<dt>${view.t('admin.webhooks.url')}</dt><dd>${untrustedUrl(one.url)}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${one.webhook_id}</code></dd>
<dt>${view.t('admin.webhooks.events')}</dt><dd>${eventList(view, one.event_types)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>
</dl>
<div class="actions">
${one.disabled_at === null ? html`${step(view, one, 'test')}${step(view, one, 'disable')}` : step(view, one, 'enable')}
</div>
${disclosure(
  view.t('admin.webhooks.rotate'),
  html`<p class="soft">${view.t('admin.webhooks.rotate.what')}</p>
${step(view, one, 'rotate-secret')}`,
)}
${
  dead.deliveries.length > 0 &&
  html`<h2>${view.t('admin.webhooks.dead')}</h2>
<p class="soft">${view.t('admin.webhooks.replay_all.what', { count: deadInAll, most: maxReplayed })}</p>
<form method="post" action="${path}/${one.webhook_id}/replay-all"><button type="submit" id="webhook-replay-all">${view.t('admin.webhooks.replay_all')}</button></form>
<ul class="items">${dead.deliveries.map((delivery) => deliveryItem(view, delivery))}</ul>
${dead.next !== undefined && html`<p class="actions"><a class="button quiet" id="webhook-dead" href="${deliveriesPath(one.webhook_id, { state: 'dead' })}">${view.t('admin.webhooks.dead.more')}</a></p>`}`
}
<h2>${view.t('admin.webhooks.deliveries')}</h2>
${
  latest.deliveries.length === 0
    ? html`<p class="empty">${view.t('admin.webhooks.deliveries.none')}</p>`
    : html`<ul class="items">${latest.deliveries.filter(({ dead_at }) => dead_at === null).map((delivery) => deliveryItem(view, delivery))}</ul>
${latest.next !== undefined && html`<p class="actions"><a class="button quiet" id="webhook-deliveries" href="${deliveriesPath(one.webhook_id, {})}">${view.t('admin.webhooks.deliveries.all')}</a></p>`}`
}
${disclosure(
  view.t('admin.webhooks.delete'),
  html`<p class="soft">${view.t('admin.webhooks.delete.what')}</p>
<form method="post" action="${path}/${one.webhook_id}/delete"><button type="submit" class="danger" id="webhook-delete">${view.t('admin.webhooks.delete.submit')}</button></form>`,
)}`,
});

const stepNames = {
  test: 'admin.webhooks.test.submit',
  disable: 'admin.webhooks.disable.submit',
  enable: 'admin.webhooks.enable.submit',
  'rotate-secret': 'admin.webhooks.rotate.submit',
} as const;
const step = (view: View, { webhook_id }: Webhook, name: keyof typeof stepNames) =>
  html`<form method="post" action="${path}/${webhook_id}/${name}"><button type="submit" class="quiet" id="webhook-${name}">${view.t(stepNames[name])}</button></form>`;

export const webhookSecretPage = (view: View, made: { webhook_id: string; secret: string }): Page => ({
  title: view.plain('admin.webhooks.secret.title'),
  tab,
  scripts: copyScripts,
  content: html`<h1>${view.t('admin.webhooks.secret.title')}</h1>
<p class="soft">${view.t('admin.webhooks.secret.what')}</p>
${secretOnce(view, [{ label: view.t('admin.webhooks.secret'), value: made.secret }])}
<p><a class="button" href="${path}/${made.webhook_id}">${view.t('admin.go_on')}</a></p>`,
});

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

function deliveriesPath(webhook_id: string, query: Record<string, string>): string {
  const typed = new URLSearchParams(query).toString();
  return `/admin/webhooks/${webhook_id}/deliveries${typed && `?${typed}`}`;
}

const deliveryItem = (view: View, delivery: Delivery) => html`<li><div>
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

const groups = [
  'people',
  'factors',
  'sessions',
  'clients',
  'grants',
  'entitlements',
  'services',
  'keys',
  'other',
] as const;
type Group = (typeof groups)[number];

/** By the first word of an event. A word that is new here goes to `other`, so that no event is ever out of reach. */
const groupsByWord: Readonly<Record<string, Group>> = {
  user: 'people',
  administrator: 'people',
  email: 'factors',
  password: 'factors',
  totp: 'factors',
  backup_code: 'factors',
  backup_codes: 'factors',
  passkey: 'factors',
  identity: 'factors',
  session: 'sessions',
  client: 'clients',
  app: 'grants',
  consent: 'grants',
  grant: 'grants',
  entitlement: 'entitlements',
  service_credential: 'services',
  key: 'keys',
};

const groupOf = (name: EventType): Group => groupsByWord[name.slice(0, name.indexOf('.'))] ?? 'other';

/** An event in words, with its name on the wire. */
const eventWords = (view: View, name: EventType): Html =>
  html`${view.t(`admin.webhooks.event.${name}`)} <code>${name}</code>`;

/** What a webhook can be told of, under headings. */
const eventChoices = (view: View, isChosen: (name: EventType) => boolean): Html => {
  const byGroup = Map.groupBy(eventTypes, groupOf);
  return html`<h3>${view.t('admin.webhooks.events')}</h3>
<p class="soft">${view.t('admin.webhooks.events.what')}</p>
${groups.map((group) => {
  const names = byGroup.get(group);
  return (
    names !== undefined &&
    html`${choices(
      view.t(`admin.webhooks.group.${group}`),
      'event:',
      names.map((name) => ({ name, label: eventWords(view, name), isChosen: isChosen(name) })),
    )}\n`
  );
})}`;
};

/** What one webhook is told of. An event that is not known any more is shown by its name. */
const eventList = (view: View, names: readonly string[]): Html =>
  html`<ul class="scopes">${names.map(
    (name) => html`<li>${isEventType(name) ? eventWords(view, name) : html`<code>${name}</code>`}</li>\n`,
  )}</ul>`;

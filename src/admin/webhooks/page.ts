import type { DeliveryState } from '../../platform/db/delivery-queue.ts';
import { copyScripts } from '../../platform/pages/form.ts';
import { type Html, html, untrustedUrl } from '../../platform/pages/html.ts';
import { badge, itemsOr, moreLink, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { type DeliveryLook, deliveryItems, deliveryList, stateName } from '../../webhooks/delivery-page.ts';
import { type EventType, eventTypes, isEventType } from '../../webhooks/event-types.ts';
import type { findDeliveries, Webhook, webhookWithDeliveries } from '../../webhooks/list-webhooks.ts';
import { maxReplayed } from '../../webhooks/manage-webhook.ts';
import { adminTab, buttonForm, choices, doneNotice, type Shown, secretOnce, step } from '../components.ts';

type Counted = Webhook & { dead: number };

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
<h2>${view.t('admin.webhooks.create')}</h2>
${shown.problem}
<form method="post" action="${path}">
<label for="url">${view.t('admin.webhooks.url')}</label>
<input id="url" name="url" type="url" required maxlength="2000" autocomplete="off" value="${shown.form?.url ?? ''}" aria-describedby="url-hint">
<p class="hint" id="url-hint">${view.t('admin.webhooks.url.hint')}</p>
${eventChoices(view, (name) => shown.form?.[`event:${name}`] === 'on')}
<button type="submit" id="webhook-create">${view.t('admin.webhooks.create.submit')}</button>
</form>`,
});

const webhookItem = (view: View, one: Counted) => html`<li><div>
<h2><a href="${path}/${one.webhook_id}">${untrustedUrl(one.url)}</a> ${one.disabled_at !== null && badge(view.t('admin.webhooks.state.off'), 'off')} ${one.dead > 0 && badge(view.t('admin.webhooks.dead.count', { count: one.dead }), 'warn')}</h2>
<p>${one.event_types.length > maxNamed ? view.t('admin.webhooks.events.count', { count: one.event_types.length }) : one.event_types.join(', ')}</p>
</div></li>
`;

type WebhookView = Awaited<ReturnType<typeof webhookWithDeliveries>>;

export const webhookPage = (
  view: View,
  { webhook: one, latest, dead, deadInAll }: WebhookView,
  shown: Shown,
): Page => ({
  title: visibleText(URL.parse(one.url)?.host ?? one.webhook_id),
  tab,
  content: html`<h1>${view.t('admin.webhooks.one')}</h1>
${shown.problem}${doneNotice(view, shown, 'webhooks', ['replayed', 'replayed_all', 'enabled', 'disabled', 'tested'])}
${one.disabled_at !== null && html`<p>${badge(view.t('admin.webhooks.state.off'), 'warn')} ${view.t('admin.webhooks.off', { when: view.ago(one.disabled_at) })}</p>`}
<dl>
<dt>${view.t('admin.webhooks.url')}</dt><dd>${untrustedUrl(one.url)}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${one.webhook_id}</code></dd>
<dt>${view.t('admin.webhooks.events')}</dt><dd>${eventList(view, one.event_types)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>
</dl>
<div class="actions">
${(one.disabled_at === null ? (['test', 'disable'] as const) : (['enable'] as const)).map((name) =>
  buttonForm(view.t(`admin.webhooks.${name}.submit`), formOf(one, name, 'quiet')),
)}
</div>
${step(view, 'admin.webhooks.rotate', formOf(one, 'rotate-secret', 'quiet'))}
${
  dead.deliveries.length > 0 &&
  html`<h2>${view.t('admin.webhooks.dead')}</h2>
<p class="soft">${view.t('admin.webhooks.replay_all.what', { count: deadInAll, max: maxReplayed })}</p>
${buttonForm(view.t('admin.webhooks.replay_all'), formOf(one, 'replay-all'))}
<ul class="items">${deliveryItems(view, dead.deliveries, lookOf(one))}</ul>
${dead.next !== null && moreLink('webhook-dead', deliveriesPath(one, { state: 'dead' }), view.t('admin.webhooks.dead.more'))}`
}
<h2>${view.t('admin.webhooks.deliveries')}</h2>
${
  latest.deliveries.length === 0
    ? html`<p class="empty">${view.t('admin.webhooks.deliveries.none')}</p>`
    : html`<ul class="items">${deliveryItems(
        view,
        latest.deliveries.filter(({ state }) => state !== 'dead'),
        lookOf(one),
      )}</ul>
${latest.next !== null && moreLink('webhook-deliveries', deliveriesPath(one, {}), view.t('deliveries.all'))}`
}
${step(view, 'admin.webhooks.delete', formOf(one, 'delete', 'danger'))}`,
});

const formOf = ({ webhook_id }: Webhook, name: string, style?: 'quiet' | 'danger') => ({
  path: `${path}/${webhook_id}/${name}`,
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
  content: html`<h1>${view.t('admin.webhooks.one')}</h1>
<p><a href="${path}/${webhook.webhook_id}">${untrustedUrl(webhook.url)}</a></p>
<h2>${stateName(view, state)}</h2>
${deliveryList(view, found, state, {
  ...lookOf(webhook),
  pathTo: (query) => deliveriesPath(webhook, query),
  none: view.t('admin.webhooks.deliveries.none'),
})}`,
});

const deliveriesPath = ({ webhook_id }: Webhook, query: { state?: DeliveryState; after?: string }) =>
  pathWith(`${path}/${webhook_id}/deliveries`, query);

type WebhookDeliveries = Awaited<ReturnType<typeof findDeliveries>>;

const lookOf = ({ webhook_id }: Webhook): DeliveryLook<WebhookDeliveries['deliveries'][number]> => ({
  title: ({ event_type }) => html`<code>${event_type}</code>`,
  resend: `${path}/${webhook_id}/replay`,
});

/** The first words of the events in each group of the form. */
const groups = {
  people: ['user', 'administrator'],
  factors: ['email', 'password', 'totp', 'backup_code', 'backup_codes', 'passkey', 'identity'],
  sessions: ['session'],
  clients: ['client'],
  grants: ['app', 'consent', 'grant'],
  entitlements: ['entitlement'],
  services: ['service_credential'],
  keys: ['key'],
  other: [],
} as const satisfies Record<string, readonly string[]>;
type Group = keyof typeof groups;
const groupNames = Object.keys(groups) as Group[];

/** An event that is in no group is offered in `other`. */
const groupOf = (name: EventType): Group =>
  groupNames.find((group) => groups[group].some((word) => name.startsWith(`${word}.`))) ?? 'other';

/** An event in words, with its name on the wire. */
const eventWords = (view: View, name: EventType): Html =>
  html`${view.t(`admin.webhooks.event.${name}`)} <code>${name}</code>`;

/** The events that a webhook may receive, in groups. */
const eventChoices = (view: View, isChosen: (name: EventType) => boolean): Html => {
  const byGroup = Map.groupBy(eventTypes, groupOf);
  return html`<h3>${view.t('admin.webhooks.events')}</h3>
<p class="soft">${view.t('admin.webhooks.events.what')}</p>
${groupNames.map((group) => {
  const options = byGroup
    .get(group)
    ?.map((name) => ({ name, label: eventWords(view, name), isChosen: isChosen(name) }));
  return options && html`${choices(view.t(`admin.webhooks.group.${group}`), 'event:', options)}\n`;
})}`;
};

/** The events that a webhook receives. One that this version does not know is shown by its name. */
const eventList = (view: View, names: readonly string[]): Html =>
  html`<ul class="scopes">${names.map(
    (name) => html`<li>${isEventType(name) ? eventWords(view, name) : html`<code>${name}</code>`}</li>\n`,
  )}</ul>`;

import type { Parameters } from '../../platform/http/parameters.ts';
import { copyScripts } from '../../platform/pages/form.ts';
import { type Html, html, untrustedUrl } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text/visible-text.ts';
import type { DeliveryPage } from '../../webhooks/list-webhooks.ts';
import { maxReplayed, type webhookRecord } from '../../webhooks/manage-webhook.ts';
import { adminTab } from '../admin-tabs.ts';
import { badge, disclosure, doneNotice, secretOnce } from '../components.ts';
import { deliveriesPath, deliveryItem } from './deliveries-page.ts';
import { eventChoices, eventList } from './events.ts';

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

import { deliveryItems } from '../../deliveries/page.ts';
import { alert, copyScripts, describedField, problemAt } from '../../platform/pages/form.ts';
import { type Html, html, untrustedUrl } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime, itemsOr, moreLink } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { isFailing, nameOfWebhook, type webhookWithDeliveries } from '../../webhooks/list-webhooks.ts';
import { longestSecretOverlap } from '../../webhooks/manage-webhook.ts';
import { maxReplayed } from '../../webhooks/replay.ts';
import { maxDeadCounted, type Webhook } from '../../webhooks/statements.ts';
import { buttonForm, doneNotice, type Shown, secretOnce, step } from '../components.ts';
import { deliveriesPath, lookOf } from './delivery-page.ts';
import { eventChoices, eventList } from './event-choices.ts';
import { chosenEvents } from './event-groups.ts';
import { formOf, pathOf, webhookName, webhooksPath, webhooksTab } from './page-parts.ts';

type Trying = Webhook & { next_attempt_at: number | null };
type Counted = Trying & { dead: number };

/** More events than these are a number in the list. */
const maxNamed = 6;

export const webhooksPage = (view: View, webhooks: readonly Counted[], shown: Shown): Page => ({
  title: view.plain('admin.webhooks.title'),
  tab: webhooksTab,
  content: html`<h1>${view.t('admin.webhooks.title')}</h1>
<p class="soft">${view.t('admin.webhooks.intro')}</p>
<p><a href="/admin/signals" id="signal-streams">${view.t('admin.signals.link')}</a></p>
${doneNotice(view, shown, 'webhooks', ['deleted'])}
${itemsOr(
  webhooks.map((one) => webhookItem(view, one)),
  view.t('admin.webhooks.none'),
)}
${
  view.may('webhooks:write') &&
  html`<h2 id="create">${view.t('admin.webhooks.create')}</h2>
${webhookForm(view, shown, { name: null, url: '', event_types: [] }, { path: webhooksPath, id: 'webhook-create', label: 'admin.webhooks.create.submit' })}`
}`,
});

export const editWebhookPage = (view: View, one: Webhook, shown: Shown): Page => ({
  title: view.plain('admin.webhooks.edit'),
  tab: webhooksTab,
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
${one.next_attempt_at !== null && view.may('webhooks:write') && buttonForm(view.t('deliveries.send_now'), { path: `${pathOf(one)}/replay-all`, id: `send-now-${one.webhook_id}`, style: 'quiet' })}</div>
`;

type WebhookView = Awaited<ReturnType<typeof webhookWithDeliveries>>;

export const webhookPage = (
  view: View,
  { webhook: one, latest, dead, deadInAll }: WebhookView,
  shown: Shown,
): Page => ({
  title: visibleText(nameOfWebhook(one)),
  tab: webhooksTab,
  content: html`<h1>${webhookName(one)}${one.disabled_at !== null && html` ${badge(view.t('admin.webhooks.state.off'), 'warn')}`}</h1>
${shown.problem}${doneNotice(view, shown, 'webhooks', ['replayed', 'replayed_all', 'replayed_none', 'enabled', 'disabled', 'tested', 'edited', 'unchanged'])}
${one.disabled_at !== null && html`<p class="soft">${view.t('admin.webhooks.off', { when: view.ago(one.disabled_at) })}${one.disabled_reason !== null && html` ${view.t(`admin.webhooks.off.${one.disabled_reason}`)}`}</p>`}
${failingNotice(view, one)}<dl>
<dt>${view.t('admin.webhooks.url')}</dt><dd>${untrustedUrl(one.url)}</dd>
<dt>${view.t('admin.id')}</dt><dd><code>${one.webhook_id}</code></dd>
<dt>${view.t('admin.webhooks.events')}</dt><dd>${eventList(view, one.event_types)}</dd>
<dt>${view.t('admin.created')}</dt><dd>${view.ago(one.created_at)}</dd>
</dl>
${view.may('webhooks:write') && changes(view, one)}
${
  dead.deliveries.length > 0 &&
  html`<h2>${view.t('admin.webhooks.dead')}</h2>
${
  one.disabled_at === null
    ? html`<p class="soft">${view.t(deadInAll < maxDeadCounted ? 'admin.webhooks.replay_all.what' : 'admin.webhooks.replay_all.what_more', { count: deadInAll, max: maxReplayed })}</p>
${view.may('webhooks:write') && buttonForm(view.t('admin.webhooks.replay_all'), formOf(one, 'replay-all', 'quiet'))}`
    : html`<p class="soft">${view.t(deadInAll < maxDeadCounted ? 'admin.webhooks.dead.off' : 'admin.webhooks.dead.off_more', { count: deadInAll })}</p>`
}
<ul class="items">${deliveryItems(view, dead.deliveries, lookOf(view, one))}</ul>
${dead.next !== null && moreLink('webhook-dead', deliveriesPath(one, { state: 'dead' }), view.t('admin.webhooks.dead.more'))}`
}
<h2>${view.t('admin.webhooks.deliveries')}</h2>
${latestDeliveries(view, one, latest)}
${view.may('webhooks:write') && step(view, 'admin.webhooks.delete', formOf(one, 'delete', 'danger'))}`,
});

const changes = (view: View, one: Webhook): Html => html`<div class="actions">
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
</form>`;

/** Without the failed ones, which have a list of their own. */
function latestDeliveries(view: View, one: Webhook, { deliveries, next }: WebhookView['latest']): Html {
  if (deliveries.length === 0) return emptyList(view.t('admin.webhooks.deliveries.none'));
  const others = deliveries.filter(({ state }) => state !== 'dead');
  return html`${itemsOr(deliveryItems(view, others, lookOf(view, one)), view.t('admin.webhooks.deliveries.all_dead'))}
${next !== null && moreLink('webhook-deliveries', deliveriesPath(one, {}), view.t('deliveries.all'))}`;
}

export const webhookSecretPage = (view: View, made: { webhook_id: string; secret: string }): Page => ({
  title: view.plain('admin.webhooks.secret.title'),
  tab: webhooksTab,
  scripts: copyScripts,
  content: html`<h1>${view.t('admin.webhooks.secret.title')}</h1>
<p class="soft">${view.t('admin.webhooks.secret.what')}</p>
${secretOnce(view, [{ label: view.t('admin.webhooks.secret'), value: made.secret }])}
<p><a class="button" href="${webhooksPath}/${made.webhook_id}">${view.t('admin.go_on')}</a></p>`,
});

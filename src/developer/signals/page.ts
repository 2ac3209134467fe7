import type { Client } from '../../clients/client.ts';
import { deliveryItems } from '../../deliveries/page.ts';
import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import { badge, emptyList } from '../../platform/pages/lists.ts';
import type { View } from '../../platform/pages/view.ts';
import type { StreamOfClient } from '../../signals/watch-stream.ts';
import { clientPath } from '../navigation.ts';

/** The client's stream of security events; nothing for one that has none. */
export function signalSection(view: View, client: Client, found: StreamOfClient | undefined): Html | false {
  if (found === undefined) return false;
  const { stream, latest } = found;
  const isWell = stream.status === 'enabled' && stream.credential_active;
  const last = stream.last_delivered_at;
  return html`<h2 id="signals">${view.t('developer.signals')} ${badge(view.t(`admin.signals.status.${stream.status}`), isWell ? 'good' : 'warn')}</h2>
<p class="soft">${view.t('developer.signals.intro', { docs: html`<a href="/docs/signals">${view.t('admin.signals.docs')}</a>` })}</p>
${stream.reason !== null && html`<p class="advice" lang="en">${untrusted(stream.reason, 500)}</p>`}
<dl>
<dt>${view.t('admin.signals.endpoint')}</dt><dd>${stream.endpoint_url === null ? view.t('admin.signals.polled') : untrustedUrl(stream.endpoint_url)}</dd>
<dt>${view.t('admin.signals.events')}</dt><dd>${stream.events.length === 0 ? view.t('developer.none') : html`<code>${stream.events.map((uri) => uri.split('/').at(-1)).join(', ')}</code>`}</dd>
</dl>
<p class="state">${view.t('admin.signals.waiting', { count: stream.waiting })} · ${last === null ? view.t('admin.signals.never') : view.t('admin.signals.last', { when: view.ago(last) })}${stream.dead > 0 && html` · ${view.t('admin.webhooks.dead.count', { count: stream.dead })}`}</p>
${
  latest.length === 0
    ? emptyList(view.t('developer.signals.none'))
    : html`<ul class="items">${deliveryItems(view, latest, {
        title: ({ event_type, user_id }) =>
          html`<code>${event_type.split('/').at(-1)}</code>${user_id !== null && html` ${view.t('developer.user')}: <code>${user_id}</code>`}`,
        resend: isWell && stream.method === 'push' ? `${pathOf(client)}/replay` : undefined,
      })}</ul>`
}
${client.status === 'approved' && changes(view, client, stream.status === 'enabled')}
<details><summary>${view.t('admin.signals.delete')}</summary>
<p class="soft">${view.t('developer.signals.delete.what')}</p>
<form method="post" action="${pathOf(client)}/delete"><button type="submit" class="danger" id="signal-delete">${view.t('admin.signals.delete.submit')}</button></form>
</details>`;
}

const pathOf = (client: Client): string => `${clientPath(client)}/signals`;

const changes = (view: View, client: Client, isEnabled: boolean): Html => html`<div class="actions">
${(['verify', isEnabled ? 'pause' : 'enable'] as const).map(
  (name) =>
    html`<form method="post" action="${pathOf(client)}/${name}"><button type="submit" class="quiet" id="signal-${name}">${view.t(`admin.signals.${name}`)}</button></form>`,
)}
</div>`;

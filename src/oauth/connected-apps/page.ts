import { accountTab } from '../../authentication/sessions/account-tabs.ts';
import { isScope } from '../../clients/scopes.ts';
import { notice } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { ConnectedApp } from './list-connected-apps.ts';

export const connectedAppsPage = (view: View, apps: readonly ConnectedApp[], isDone: boolean): Page => ({
  title: view.plain('apps.title'),
  tab: accountTab('apps'),
  content: html`<h1>${view.t('apps.title')}</h1>
<p class="soft">${view.t('apps.intro')}</p>
${notice(isDone && view.t('apps.done'))}
${
  apps.length === 0
    ? html`<div class="empty"><p>${view.t('apps.none')}</p></div>`
    : html`<ul class="items">${apps.map((app) => appItem(view, app))}</ul>`
}`,
});

/** Its name and host are text, whatever is in them; nothing of the client is linked or loaded. */
function appItem(view: View, app: ConnectedApp): Html {
  const { t } = view;
  const id = `app-${app.client_id}`;
  const host = app.homepage_url !== null && URL.parse(app.homepage_url)?.host;
  const used = app.last_used_at === null ? t('apps.unused') : t('apps.used', { when: view.ago(app.last_used_at) });
  return html`<li>
<div>
<h2 id="${id}"><bdi>${app.name}</bdi></h2>
${host && html`<p><code>${host}</code></p>`}
<p>${t('apps.may')}</p>
<ul class="scopes">${app.scope.map((name) => html`<li>${isScope(name) ? t(`scope.${name}`) : name}</li>`)}</ul>
<p>${t('apps.since', { day: view.day(app.since) })} · ${used}</p>
</div>
<form method="post" action="/account/apps/disconnect">
<input type="hidden" name="client_id" value="${app.client_id}">
<button type="submit" class="danger" aria-describedby="${id}">${t('apps.disconnect')}</button>
</form>
</li>`;
}

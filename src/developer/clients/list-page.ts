import type { Client } from '../../clients/client.ts';
import { notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { clientPath, statusBadges, statusDescription } from '../client-status.ts';
import { developerTab } from '../developer-tabs.ts';

export const clientListPage = (view: View, clients: readonly Client[], wasDeleted: boolean): Page => ({
  title: view.plain('developer.list.title'),
  tab: developerTab('developer'),
  content: html`<h1>${view.t('developer.list.title')}</h1>
<p class="soft">${view.t('developer.list.intro')}</p>
${notice(wasDeleted && view.t('developer.done.deleted'))}
${
  clients.length === 0
    ? html`<div class="empty"><p>${view.t('developer.list.none')}</p></div>`
    : html`<ul class="items">${clients.map((client) => clientItem(view, client))}</ul>`
}
<p><a class="button" id="register" href="/developer/register">${view.t('developer.list.register')}</a></p>`,
});

const clientItem = (view: View, client: Client): Html => html`<li>
<div>
<h2 id="${client.client_id}">${untrusted(client.name)} ${statusBadges(view, client)}</h2>
${statusDescription(view, client)}
</div>
<a class="button quiet" href="${clientPath(client)}" aria-describedby="${client.client_id}">${view.t('developer.list.open')}</a>
</li>
`;

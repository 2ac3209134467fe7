import type { Client } from '../../clients/client.ts';
import { alert } from '../../platform/pages/form.ts';
import { html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { backLink, clientPath } from '../client-status.ts';
import { developerTab } from '../developer-tabs.ts';

export const deletePage = (view: View, client: Client, isWrong: boolean): Page => ({
  title: view.plain('developer.delete.title'),
  tab: developerTab('developer'),
  content: html`${backLink(view, client)}
<h1>${view.t('developer.delete.title')}</h1>
${client.status === 'suspended' ? html`<p>${view.t('clients.suspended_stays')}</p>` : deleteForm(view, client, isWrong)}`,
});

const deleteForm = (
  view: View,
  client: Client,
  isWrong: boolean,
) => html`<p>${view.t('developer.delete.what', { client: html`<strong>${untrusted(client.name)}</strong>` })}</p>
${alert(isWrong && view.t('developer.delete.wrong'))}
<form method="post" action="${clientPath(client)}/delete">
<label for="name">${view.t('developer.delete.type', { client: untrusted(client.name) })}</label>
<input id="name" name="name" required autocomplete="off" autocapitalize="none" spellcheck="false"${
  isWrong && html` aria-invalid="true" aria-describedby="problem"`
}>
<button type="submit" class="danger" id="delete-submit">${view.t('developer.delete.submit')}</button>
</form>`;

import type { Client } from '../../clients/client.ts';
import { type Overlap, overlaps, type SecretRecord } from '../../clients/manage-secrets.ts';
import { copyButton, copyScripts, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { backLink, clientPath, developerTab } from '../navigation.ts';
import { settings } from '../settings/settings.ts';

export type NewSecret = {
  client: Client;
  client_secret: string;
  issuer: string;
  reason: 'registered' | 'added';
  /** When the one before stops working, in Unix seconds; null or left out: when it is retired, or there was none. */
  previous_expires_at?: number | null;
};

/** The only time that anybody sees it: this page answers the form itself, and nothing leads back to it. */
export const secretPage = (
  view: View,
  { client, client_secret, issuer, reason, previous_expires_at = null }: NewSecret,
): Page => ({
  title: view.plain(`developer.secret.${reason}.title`),
  tab: developerTab('developer'),
  scripts: copyScripts,
  content: html`<h1 data-address="${clientPath(client)}">${view.t(`developer.secret.${reason}.title`)}</h1>
${notice(
  previous_expires_at === null
    ? view.t(`developer.secret.${reason}`, { client: untrusted(client.name) })
    : view.t('developer.secret.replaced', { client: untrusted(client.name), when: view.ago(previous_expires_at) }),
)}
<dl>
<dt>${view.t('developer.client_id')}</dt><dd><code id="client-id">${client.client_id}</code> ${copyButton(view, 'client-id')}</dd>
<dt>${view.t('developer.client_secret')}</dt><dd><code id="client-secret">${client_secret}</code> ${copyButton(view, 'client-secret')}</dd>
</dl>
<p><strong>${view.t('developer.secret.once')}</strong></p>
<p><a class="button" id="secret-kept" href="${clientPath(client)}">${view.t('developer.secret.kept')}</a></p>
<h2>${view.t('developer.settings.title')}</h2>
${settings(view, client, issuer)}`,
});

export type SecretList = {
  client: Client;
  /** Those that work, oldest first. */
  secrets: readonly SecretRecord[];
  problem?: Html | false;
  isRetired?: boolean;
};

export function secretsPage(view: View, { client, secrets, problem, isRetired = false }: SecretList): Page {
  const canRetire = (secret: SecretRecord) =>
    secrets.some((other) => other.secret_id !== secret.secret_id && other.expires_at === null);
  return {
    title: view.plain('developer.secrets.title'),
    tab: developerTab('developer'),
    content: html`${backLink(view, client)}
<h1>${view.t('developer.secrets.title')}</h1>
<p class="soft">${view.t(client.client_type === 'public' ? 'developer.secrets.public' : 'developer.secrets.intro')}</p>
${problem}${notice(isRetired && view.t('developer.done.retired'))}
<ul class="items">${secrets.map((secret, place) => secretItem(view, client, { secret, place, canRetire: canRetire(secret) }))}</ul>
${
  client.client_type === 'confidential' &&
  (secrets.length < 2
    ? html`<h2>${view.t('developer.secrets.add')}</h2>
<form method="post" action="${clientPath(client)}/secrets">
<label for="ends">${view.t('developer.secrets.before')}</label>
<select id="ends" name="ends"><option value="later" selected>${view.t('overlap.later')}</option>${overlapOptions(view)}</select>
<button type="submit" id="secret-add">${view.t('developer.secrets.add')}</button>
</form>`
    : html`<p class="soft">${view.t('developer.secrets.full')}</p>`)
}`,
  };
}

type Item = { secret: SecretRecord; place: number; canRetire: boolean };

const secretItem = (view: View, client: Client, { secret, place, canRetire }: Item): Html => html`<li>
<div>
<h2 id="secret-${place + 1}">${view.t('developer.secrets.number', { number: place + 1 })}${
  secret.expires_at !== null && html` <span class="badge warn">${view.t('developer.secrets.ending')}</span>`
}</h2>
<p>${view.t('developer.secrets.created', { when: view.ago(secret.created_at) })}${
  secret.expires_at !== null && html` · ${view.t('developer.secrets.ends', { when: view.ago(secret.expires_at) })}`
}</p>
</div>
${canRetire ? retireForm(view, client, secret, place) : html`<p class="hint">${view.t('developer.secrets.last')}</p>`}
</li>
`;

const retireForm = (
  view: View,
  client: Client,
  { secret_id }: SecretRecord,
  place: number,
): Html => html`<form method="post"
 action="${clientPath(client)}/secrets/${secret_id}/retire">
<label for="ends-${place + 1}">${view.t('developer.secrets.ends.label')}</label>
<select id="ends-${place + 1}" name="ends">${overlapOptions(view, 'day')}</select>
<button type="submit" class="danger" aria-describedby="secret-${place + 1}">${view.t('developer.secrets.retire')}</button>
</form>`;

const overlapOptions = (view: View, chosen?: Overlap): readonly Html[] =>
  (Object.keys(overlaps) as Overlap[]).map(
    (overlap) =>
      html`<option value="${overlap}"${overlap === chosen && html` selected`}>${view.t(`overlap.${overlap}`)}</option>`,
  );

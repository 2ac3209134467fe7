import type { Client } from '../../clients/client.ts';
import {
  mayHaveSecret,
  type Overlap,
  overlaps,
  reasonForNone,
  type SecretRecord,
} from '../../clients/manage-secrets.ts';
import { copyButton, copyScripts, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { aboveClient, type ClientArea, clientPath } from '../navigation.ts';
import { setup } from '../setup/setup.ts';

type NewSecret = {
  area: ClientArea;
  client: Client;
  client_secret: string;
  issuer: string;
  reason: 'registered' | 'added';
  /** When the previous secret ends, in Unix seconds; null: when it is retired, or there was none. */
  previous_expires_at?: number | null;
};

/** The answer to a form: the secret is not readable afterwards. */
export const secretPage = (
  view: View,
  { area, client, client_secret, issuer, reason, previous_expires_at = null }: NewSecret,
): Page => ({
  title: view.plain(`developer.secret.${reason}.title`),
  tab: area.tab,
  scripts: copyScripts,
  content: html`<h1 data-address="${clientPath(client, area)}">${view.t(`developer.secret.${reason}.title`)}</h1>
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
<p><a class="button" id="secret-kept" href="${clientPath(client, area)}">${view.t('developer.secret.kept')}</a></p>
<h2>${view.t('developer.setup')}</h2>
${setup(view, { client, issuer, area })}`,
});

type SecretList = {
  area: ClientArea;
  client: Client;
  /** The active ones, oldest first. */
  secrets: readonly SecretRecord[];
  problem?: Html | false;
  isRetired: boolean;
};

export const secretsPage = (view: View, { area, client, secrets, problem, isRetired }: SecretList): Page => ({
  title: view.plain('developer.secrets.title'),
  tab: area.tab,
  above: aboveClient(client, area),
  content: html`<h1>${view.t('developer.secrets.title')}</h1>
<p class="soft">${view.t(mayHaveSecret(client) ? 'developer.secrets.intro' : `developer.secrets.${reasonForNone(client)}`)}</p>
${problem}${notice(isRetired && view.t('developer.done.retired'))}
<ul class="items">${secrets.map((_, place) => secretItem(view, client, clientPath(client, area), secrets, place))}</ul>
${
  mayHaveSecret(client) &&
  (secrets.length < 2
    ? html`<h2>${view.t('developer.secrets.add')}</h2>
<form method="post" action="${clientPath(client, area)}/secrets">
<label for="name">${view.t('developer.secrets.name')}</label>
<input id="name" name="name" maxlength="100" autocomplete="off" aria-describedby="name-hint">
<p class="hint" id="name-hint">${view.t('developer.secrets.name.hint')}</p>
<label for="ends">${view.t('developer.secrets.before')}</label>
<select id="ends" name="ends"><option value="later" selected>${view.t('overlap.later')}</option>${overlapOptions(view)}</select>
<button type="submit" id="secret-add">${view.t('developer.secrets.add')}</button>
</form>`
    : html`<p class="soft">${view.t('developer.secrets.full')}</p>`)
}`,
});

function secretItem(view: View, client: Client, path: string, secrets: readonly SecretRecord[], place: number): Html {
  const { secret_id, created_at, expires_at, name, last_four, last_used_at } = secrets[place]!;
  const isLast = !secrets.some((other) => other.secret_id !== secret_id && other.expires_at === null);
  const canRetire = !isLast || !mayHaveSecret(client);
  const number = place + 1;
  return html`<li>
<div>
<h2 id="secret-${number}">${name === null ? view.t('developer.secrets.number', { number }) : untrusted(name)}${last_four !== null && html` <code>cs_…${last_four}</code>`}${
    expires_at !== null && html` <span class="badge warn">${view.t('developer.secrets.ending')}</span>`
  }</h2>
<p>${view.t('developer.secrets.created', { when: view.ago(created_at) })} · ${last_used_at === null ? view.t('secret.unused') : view.t('secret.used', { when: view.ago(last_used_at) })}${
    expires_at !== null && html` · ${view.t('developer.secrets.ends', { when: view.until(expires_at) })}`
  }</p>
</div>
${
  canRetire
    ? html`<form method="post" action="${path}/secrets/${secret_id}/retire">
<label for="ends-${number}">${view.t('developer.secrets.ends.label')}</label>
<select id="ends-${number}" name="ends">${overlapOptions(view, 'day')}</select>
<button type="submit" class="danger" aria-describedby="secret-${number}">${view.t('developer.secrets.retire')}</button>
</form>`
    : html`<p class="hint">${view.t('developer.secrets.last')}</p>`
}
</li>
`;
}

const overlapOptions = (view: View, chosen?: Overlap): readonly Html[] =>
  (Object.keys(overlaps) as Overlap[]).map(
    (overlap) =>
      html`<option value="${overlap}"${overlap === chosen && html` selected`}>${view.t(`overlap.${overlap}`)}</option>`,
  );

import { type Client, type ReviewedFields, reviewedFields } from '../../clients/client.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { copyButton, copyScripts, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text/visible-text.ts';
import type { ClientAction, HistoryEvent } from '../activity/activity.ts';
import { clientPath, statusBadges, statusDescription } from '../client-status.ts';
import { developerTab } from '../developer-tabs.ts';

/** What was done just now; the query names it, and whatever else it says is ignored. */
const done = {
  registered: 'developer.done.registered',
  saved: 'developer.done.saved',
  staged: 'developer.done.staged',
  withdrawn: 'developer.done.withdrawn',
} as const satisfies Record<string, MessageKey>;

const doneNotice = (view: View, what: string | undefined): Html | false =>
  notice(what !== undefined && Object.hasOwn(done, what) && view.t(done[what as keyof typeof done]));

export type ClientView = { client: Client; history: readonly HistoryEvent[]; done?: string };

export const clientPage = (view: View, { client, history, done }: ClientView): Page => ({
  title: visibleText(client.name),
  tab: developerTab('developer'),
  scripts: copyScripts,
  content: html`<h1>${untrusted(client.name)} ${statusBadges(view, client)}</h1>
${doneNotice(view, done)}
${statusDescription(view, client)}
<dl>
<dt>${view.t('developer.client_id')}</dt><dd><code id="client-id">${client.client_id}</code> ${copyButton(view, 'client-id')}</dd>
</dl>
<p class="actions">
<a class="button quiet" href="${clientPath(client)}/edit">${view.t('developer.edit')}</a>
<a class="button quiet" href="${clientPath(client)}/settings">${view.t('developer.settings')}</a>
${client.client_type === 'confidential' && html`<a class="button quiet" href="${clientPath(client)}/secrets">${view.t('developer.secrets')}</a>`}
<a class="button quiet" href="${clientPath(client)}/activity">${view.t('developer.activity')}</a>
</p>
<h2>${view.t('developer.registered')}</h2>
${values(view, client)}
<h2>${view.t('developer.history')}</h2>
<ul class="items">${history.map((event) => historyItem(view, event))}</ul>
<p>${
    client.status === 'suspended'
      ? view.t('clients.suspended_stays')
      : html`<a href="${clientPath(client)}/delete">${view.t('developer.delete.link')}</a>`
  }</p>`,
});

/** What is in force, or entered and not reviewed yet, and beside it what waits. */
export function values(view: View, client: Client): Html {
  const { pending_change, status } = client;
  const label =
    status === 'approved' || status === 'suspended' ? 'developer.current_version' : 'developer.registered_version';
  return html`<table class="compare">
<thead><tr><th scope="col">${view.t('developer.field')}</th><th scope="col">${view.t(label)}</th>${
    pending_change !== null && html`<th scope="col">${view.t('developer.waiting')}</th>`
  }</tr></thead>
<tbody>${reviewedFields.map(
    (field) => html`<tr><th scope="row">${view.t(`developer.field.${field}`)}</th>
<td data-label="${view.plain(label)}">${value(view, client[field])}</td>${
      pending_change !== null &&
      html`<td data-label="${view.plain('developer.waiting')}">${Object.hasOwn(pending_change, field) ? value(view, pending_change[field]) : view.t('developer.unchanged')}</td>`
    }</tr>
`,
  )}</tbody>
</table>`;
}

/** Text, whatever is in it: no address that somebody registered is linked or loaded. */
function value(view: View, value: ReviewedFields[keyof ReviewedFields] | undefined): Html {
  if (value === null || value === undefined) return view.t('developer.none');
  if (typeof value === 'string') return textOf(value);
  return html`<ul class="scopes">${value.map((entry) => html`<li>${textOf(entry)}</li>`)}</ul>`;
}

const textOf = (text: string): Html => (text.includes('://') ? untrustedUrl(text) : untrusted(text));

const historyItem = (view: View, { action, at, reason }: HistoryEvent): Html => html`<li><div>
<h3>${view.t(actionKey(action))}</h3>
<p>${view.ago(at)}${reason !== null && html` · ${view.t('developer.state.reason', { reason: html`<q>${untrusted(reason, 500)}</q>` })}`}</p>
</div></li>
`;

const actionKey = (action: ClientAction) => `developer.history.${action}` as const;

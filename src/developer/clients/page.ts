import type { ClientStatus } from '../../clients/choices.ts';
import { type Client, proposalOf, type ReviewedFields, reviewedFields } from '../../clients/client.ts';
import type { Kind } from '../../clients/libraries/library.ts';
import { type LogoState, logoProblemText } from '../../clients/logos.ts';
import { hasSecrets } from '../../clients/manage-secrets.ts';
import { guidesPath } from '../../platform/guides/guides.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { alert, copyButton, copyScripts, notice } from '../../platform/pages/form.ts';
import { type Html, html, looksLikeUrl, untrusted, untrustedUrl } from '../../platform/pages/html.ts';
import { pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import type { ClientWeek } from '../../statistics/read-statistics.ts';
import type { History, HistoryEvent } from '../activity/activity.ts';
import { aboveClient, type ClientArea, clientPath, developerTab } from '../navigation.ts';
import { librarySelect, setup } from '../setup/setup.ts';
import { fieldEntries, fieldText } from './field-text.ts';
import { type ClientForm, clientForm, formAlerts, shortClientForm } from './form.ts';

/** What was just done, by the name that the query has for it; other values are ignored. */
const done = ['registered', 'saved', 'resubmitted', 'staged', 'withdrawn', 'unchanged'] as const;

const classOf: Readonly<Record<ClientStatus, string>> = {
  pending_review: 'badge off',
  approved: 'badge',
  rejected: 'badge warn',
  suspended: 'badge warn',
};

const statusBadges = ({ t }: View, client: Client): Html =>
  html`<span class="${classOf[client.status]}">${t(`developer.state.${client.status}`)}</span>${
    client.pending_change !== null && html` <span class="badge off">${t('developer.state.change')}</span>`
  }`;

/** With the reviewer's comment. */
function statusDescription(view: View, client: Client): Html {
  const { status, status_reason, pending_change, note_to_reviewer: note } = client;
  const when = view.ago(client.updated_at);
  const reason = status_reason === null ? undefined : html`<q>${untrusted(status_reason, 500)}</q>`;
  const isChangeRejected = status === 'approved' && reason !== undefined;
  return html`<p>${view.t(`developer.state.${status}.what`, { when })}${
    reason && !isChangeRejected && html` ${view.t('developer.state.reason', { reason })}`
  }</p>
${isChangeRejected && html`<p>${view.t('developer.state.change_rejected', { reason })}</p>`}
${pending_change !== null && html`<p>${view.t('developer.state.change.what', { when })}</p>`}
${note !== null && html`<p>${view.t('developer.state.note', { note: html`<q>${untrusted(note, 500)}</q>` })}</p>`}`;
}

type ClientView = {
  client: Client;
  logo: LogoState | undefined;
  issuer: string;
  history: History;
  query: Parameters;
};

export const clientPage = (view: View, { client, logo, issuer, history, query }: ClientView): Page => ({
  title: visibleText(client.name),
  tab: developerTab('developer'),
  scripts: copyScripts,
  content: html`<h1>${untrusted(client.name)} ${statusBadges(view, client)}</h1>
${done.filter((name) => name === query.done).map((name) => notice(view.t(`developer.done.${name}`)))}
${statusDescription(view, client)}
${logo !== undefined && logo.problem !== null && !logo.is_shown && logoProblem(view, client, logo)}
<dl>
<dt>${view.t('developer.client_id')}</dt><dd><code id="client-id">${client.client_id}</code> ${copyButton(view, 'client-id')}</dd>
<dt>${view.t('developer.issuer')}</dt><dd><code id="issuer">${issuer}</code> ${copyButton(view, 'issuer')}</dd>
<dt>${view.t('developer.discovery')}</dt><dd><code id="discovery">${issuer}/.well-known/openid-configuration</code> ${copyButton(view, 'discovery')}</dd>
<dt>${view.t('developer.key_set')}</dt><dd><code id="key-set">${issuer}/.well-known/jwks.json</code> ${copyButton(view, 'key-set')}</dd>
</dl>
<p class="actions">
<a class="button quiet" href="${clientPath(client)}/edit">${view.t('developer.edit')}</a>
<a class="button quiet" href="#setup">${view.t('developer.setup')}</a>
${hasSecrets(client) && html`<a class="button quiet" href="${clientPath(client)}/secrets">${view.t('developer.secrets')}</a>`}
<a class="button quiet" href="${clientPath(client)}/activity">${view.t('developer.activity')}</a>
<a class="button quiet" href="${clientPath(client)}/test">${view.t('developer.test')}</a>
</p>
<h2>${view.t('developer.registered')}</h2>
${values(view, client)}
<h2 id="setup">${view.t('developer.setup')}</h2>
${librarySelect(view, client, query.library)}
${setup(view, { client, issuer, library: query.library })}
<h2>${view.t('developer.history')}</h2>
<ul class="items">${history.events.map((event) => historyItem(view, event))}</ul>
${history.hasOlder && html`<p class="soft">${view.t('developer.history.older', { count: history.events.length })}</p>`}
<p>${
    client.status === 'suspended'
      ? view.t('clients.suspended_stays')
      : html`<a href="${clientPath(client)}/delete">${view.t('developer.delete.link')}</a>`
  }</p>`,
});

function logoProblem(view: View, { logo_id }: Client, logo: LogoState): Html {
  const { key, values } = logoProblemText(logo);
  const what = logo_id === null ? 'developer.logo.failed' : 'developer.logo.failed_new';
  return html`<div class="advice" id="logo-problem"><p>${view.t(what)} ${view.t(key, values)}</p></div>`;
}

/** The current values, and beside them the pending change. */
function values(view: View, client: Client): Html {
  const { pending_change, status } = client;
  const label =
    status === 'approved' || status === 'suspended' ? 'developer.current_version' : 'developer.registered_version';
  return html`<table class="compare">
<thead><tr><th scope="col">${view.t('developer.field')}</th><th scope="col">${view.t(label)}</th>${
    pending_change !== null && html`<th scope="col">${view.t('developer.waiting')}</th>`
  }</tr></thead>
<tbody>${reviewedFields.map(
    (field) => html`<tr><th scope="row">${view.t(`clients.field.${field}`)}</th>
<td${pending_change !== null && html` data-label="${view.plain(label)}"`}>${value(view, client, field)}</td>${
      pending_change !== null &&
      html`<td data-label="${view.plain('developer.waiting')}">${Object.hasOwn(pending_change, field) ? value(view, proposalOf(client), field) : view.t('developer.unchanged')}</td>`
    }</tr>
`,
  )}</tbody>
</table>`;
}

/** URLs that owners have entered are neither linked nor loaded. */
function value(view: View, client: Client, field: keyof ReviewedFields): Html {
  const value = client[field];
  const fixed = fieldText(view, field, value, client);
  if (fixed !== undefined) return html`${fixed}`;
  const entries = fieldEntries(value);
  if (entries.length === 0) return view.t('developer.none');
  if (typeof value !== 'object') return textOf(entries[0]!);
  return html`<ul class="scopes">${entries.map((entry) => html`<li>${textOf(entry)}</li>`)}</ul>`;
}

const textOf = (text: string): Html => (looksLikeUrl(text) ? untrustedUrl(text) : untrusted(text));

/** What the owner did with a reason is what was said to the reviewer; other reasons are the reviewer's. */
const noted: readonly HistoryEvent['action'][] = ['registered', 'edited', 'change_requested'];

const historyItem = (view: View, { action, at, reason }: HistoryEvent): Html => html`<li><div>
<h3>${view.t(`developer.history.${action}`)}</h3>
<p>${view.ago(at)}${reason !== null && html` · ${view.t(noted.includes(action) ? 'developer.history.note' : 'developer.state.reason', { reason: html`<q>${untrusted(reason, 500)}</q>` })}`}</p>
</div></li>
`;

export const deletePage = (view: View, client: Client, isWrong: boolean): Page => ({
  title: view.plain('developer.delete.title'),
  tab: developerTab('developer'),
  above: aboveClient(client),
  content: html`<h1>${view.t('developer.delete.title')}</h1>
${
  client.status === 'suspended'
    ? html`<p>${view.t('clients.suspended_stays')}</p>`
    : html`<p>${view.t('developer.delete.what', { client: html`<strong>${untrusted(client.name)}</strong>` })}</p>
${alert(isWrong && view.t('developer.delete.wrong'))}
<form method="post" action="${clientPath(client)}/delete">
<label for="name">${view.t('developer.delete.type', { client: untrusted(client.name) })}</label>
<input id="name" name="name" required autocomplete="off" autocapitalize="none" spellcheck="false"${
        isWrong && html` aria-invalid="true" aria-describedby="problem"`
      }>
<button type="submit" class="danger" id="delete-submit">${view.t('developer.delete.submit')}</button>
</form>`
}`,
});

export function editPage(view: View, area: ClientArea, client: Client, form: ClientForm): Page {
  const isStaged = client.status === 'approved' || client.status === 'suspended';
  const path = clientPath(client, area);
  const unstaged = client.status === 'rejected' ? 'developer.edit.submit.again' : 'developer.edit.submit';
  const label = isStaged ? 'developer.edit.submit.staged' : unstaged;
  return {
    title: view.plain('developer.edit.title'),
    tab: area.tab,
    scripts: ['developer'],
    above: aboveClient(client, area),
    content: html`<h1>${view.t('developer.edit.title')}</h1>
<p class="soft">${view.t(isStaged ? 'developer.edit.staged' : 'developer.edit.direct')}</p>
${client.status === 'rejected' && statusDescription(view, client)}
${formAlerts(view, form)}
${
  client.pending_change !== null &&
  html`<h2>${view.t('developer.edit.compare')}</h2>
${values(view, client)}
<form method="post" action="${path}/withdraw"><button type="submit" class="quiet" id="withdraw">${view.t('developer.edit.withdraw')}</button></form>`
}
${clientForm(view, form, { action: `${path}/edit`, id: 'edit-submit', label }, client.revision)}`,
  };
}

/** @param asked the kind as it was chosen, if known, and whether the form asks for everything. */
export const registrationPage = (
  view: View,
  area: ClientArea,
  form: ClientForm,
  { kind, isWhole }: { kind: Kind | undefined; isWhole: boolean },
): Page => ({
  title: view.plain('developer.register.title'),
  tab: area.registerTab,
  scripts: ['developer'],
  content: html`<h1>${view.t('developer.register.title')}</h1>
<p class="soft">${view.t(area.intro)}</p>
<p><a href="${area.registerPath}">${view.t('developer.choice.back')}</a></p>
${kind === 'mcp' && html`<div class="advice" id="mcp-advice"><p>${view.t('developer.kind.mcp.advice')} <a href="${guidesPath}/resource-servers/mcp">${view.t('developer.setup.guides.mcp')}</a></p></div>`}
${kind === 'service' && html`<div class="advice"><p>${view.t('developer.kind.service.advice')} <a href="${guidesPath}/resource-servers">${view.t('developer.setup.guides.apis')}</a></p></div>`}
${formAlerts(view, form)}
${kind === undefined || isWhole ? clientForm(view, form, registration(area)) : shortClientForm(view, form, { ...registration(area), kind, all: wholeForm(area, kind, form) })}`,
});

const registration = ({ registerPath: action }: ClientArea) =>
  ({ action, id: 'register-submit', label: 'developer.register.submit' }) as const;

const wholeForm = ({ registerPath }: ClientArea, kind: Kind, { formValues: { library } }: ClientForm): string =>
  pathWith(registerPath, { kind, library, settings: 'all' });

type ListedClient = { client: Client; week: ClientWeek | undefined };

export const clientListPage = (
  view: View,
  { listed, issuer, wasDeleted }: { listed: readonly ListedClient[]; issuer: string; wasDeleted: boolean },
): Page => ({
  title: view.plain('developer.list.title'),
  tab: developerTab('developer'),
  scripts: copyScripts,
  content: html`<h1>${view.t('developer.list.title')}</h1>
<p class="soft">${view.t('developer.list.intro')}</p>
${notice(wasDeleted && view.t('developer.done.deleted'))}
${
  listed.length === 0
    ? html`<p>${view.t('developer.list.none')}</p>
<ol>${firstSteps.map(({ name, path }) => html`<li>${view.t(`developer.list.step.${name}`, { link: html`<a href="${path}">${view.t(`developer.list.step.${name}.link`)}</a>` })}</li>`)}</ol>`
    : html`<ul class="items">${listed.map((one) => clientItem(view, one))}</ul>`
}
<p><a class="button" id="register" href="/developer/register">${view.t('developer.list.register')}</a></p>
<h2>${view.t('developer.list.server')}</h2>
${serverAddresses(view, issuer)}`,
});

const firstSteps = [
  { name: 'register', path: '/developer/register' },
  { name: 'review', path: '/account/email' },
  { name: 'connect', path: '/reference' },
] as const;

/** What every library asks for, whichever client it is. */
const serverAddresses = (view: View, issuer: string): Html => html`<dl>
<dt>${view.t('developer.issuer')}</dt><dd><code id="issuer">${issuer}</code> ${copyButton(view, 'issuer')}</dd>
<dt>${view.t('developer.discovery')}</dt><dd><code id="discovery">${issuer}/.well-known/openid-configuration</code> ${copyButton(view, 'discovery')}</dd>
</dl>`;

const clientItem = (view: View, { client, week }: ListedClient): Html => html`<li>
<div>
<h2><a href="${clientPath(client)}">${untrusted(client.name)}</a> ${statusBadges(view, client)}${
  week !== undefined &&
  week.failures > 0 &&
  html` <span class="badge warn">${view.t('developer.list.failures', { failures: week.failures })}</span>`
}</h2>
${week === undefined || client.pending_change !== null || client.status_reason !== null ? statusDescription(view, client) : ''}
${week && html`<p><a href="${clientPath(client)}/activity">${view.t('developer.list.week', week)}</a></p>`}
</div>
</li>
`;

import type { findHosts } from '../../clients/from-outside/approved-hosts.ts';
import type { ScopeRegister } from '../../clients/scopes.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { itemsOr } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { adminTab, buttonForm, choices, doneNotice, type Shown } from '../components.ts';

export const hostsPath = '/admin/client-hosts';

type Host = Awaited<ReturnType<typeof findHosts>>[number];

/** Hosts whose clients are approved in advance. To approve one again replaces its scopes. */
export const hostsPage = (view: View, hosts: readonly Host[], scopes: ScopeRegister, shown: Shown): Page => ({
  title: view.plain('admin.hosts.title'),
  tab: adminTab('admin_clients'),
  content: html`<h1>${view.t('admin.hosts.title')}</h1>
<p class="soft">${view.t('admin.hosts.intro')}</p>
${doneNotice(view, shown, 'hosts', ['approved', 'removed', 'unchanged'])}
${itemsOr(
  hosts.map((one) => hostItem(view, one)),
  view.t('admin.hosts.none'),
)}
${view.may('clients:approve') && approval(view, scopes, shown)}`,
});

const approval = (
  view: View,
  scopes: ScopeRegister,
  shown: Shown,
): Html => html`<h2 id="approve">${view.t('admin.hosts.approve')}</h2>
${shown.problem}
<form method="post" action="${hostsPath}">
<label for="host">${view.t('admin.hosts.host')}</label>
<input id="host" name="host" required maxlength="255" autocomplete="off" autocapitalize="none" spellcheck="false" value="${shown.form?.host ?? ''}" aria-describedby="host-hint">
<p class="hint" id="host-hint">${view.t('admin.hosts.host.hint')}</p>
${choices(
  view.t('admin.clients.scopes'),
  'scope:',
  scopes.list().map((scope) => ({
    name: scope.name,
    label: scopeLabel(view, scope),
    isChosen: shown.form?.[`scope:${scope.name}`] === 'on',
  })),
)}
<button type="submit" id="host-approve">${view.t('admin.hosts.approve.submit')}</button>
</form>`;

const scopeLabel = (view: View, { name, api, describe }: ReturnType<ScopeRegister['list']>[number]): Html =>
  html`${api && html`${untrusted(api.name)}: `}${api ? untrusted(describe(view.locale)) : describe(view.locale)} <code>${name}</code>`;

const hostItem = (view: View, { host, allowed_scopes, updated_at }: Host): Html => html`<li><div>
<h2><code>${host}</code></h2>
<p>${allowed_scopes.map((name, place) => html`${place > 0 && ', '}<code>${name}</code>`)}</p>
<p class="state">${view.t('admin.changed')}: ${view.ago(updated_at)}</p>
</div>
${view.may('clients:approve') && buttonForm(view.t('admin.hosts.remove'), { path: `${hostsPath}/${encodeURIComponent(host)}/remove`, id: `remove-${host}`, style: 'danger' })}
</li>
`;

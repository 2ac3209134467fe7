import {
  overflowReason,
  refusalReasons,
  type UnauthenticatedList,
  type UnauthenticatedRecord,
} from '../../audit/unauthenticated.ts';
import type { Provider } from '../../authentication/credentials/providers.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { emptyList, exactTime, moreLink, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab } from '../components.ts';
import type { Names } from './names.ts';
import { entityName } from './sentence.ts';

type Query = { target: string; address: string };

export type UnauthenticatedView = {
  /** As it was typed. */
  query: Query;
  list: UnauthenticatedList;
  keptDays: number;
  /** Those that are switched on, for what they are called. */
  providers: readonly Provider[];
  /** Of the accounts in the list. */
  names: Names;
};

const path = '/admin/audit/unauthenticated';

/** What was tried without being signed in, a page at a time, newest first. */
export const unauthenticatedPage = (view: View, shown: UnauthenticatedView): Page => ({
  title: view.plain('admin.unauthenticated.title'),
  tab: adminTab('admin_audit'),
  content: html`<h1>${view.t('admin.unauthenticated.title')}</h1>
<p class="soft">${view.t('admin.unauthenticated.intro')} ${view.t('admin.unauthenticated.kept', { days: shown.keptDays })}</p>
${filterForm(view, shown.query)}
${items(view, shown)}
${shown.list.next !== undefined && moreLink('unauthenticated-older', pathWith(path, { ...shown.query, before: shown.list.next }), view.t('admin.unauthenticated.older'))}`,
});

const filterForm = (view: View, { target, address }: Query) => html`<form method="get" action="${path}" class="fields">
<div><label for="target">${view.t('admin.unauthenticated.target')}</label>
<input id="target" name="target" type="search" maxlength="100" autocomplete="off" value="${target}"></div>
<div><label for="address">${view.t('admin.unauthenticated.address')}</label>
<input id="address" name="address" type="search" maxlength="100" autocomplete="off" value="${address}" aria-describedby="address-hint">
<p class="hint" id="address-hint">${view.t('admin.unauthenticated.address.hint')}</p></div>
<button type="submit" class="quiet" id="unauthenticated-find">${view.t('admin.audit.find.submit')}</button>
</form>
${(target !== '' || address !== '') && html`<p class="actions"><a href="${path}" id="unauthenticated-clear">${view.t('admin.audit.all')}</a></p>`}`;

function items(view: View, { query, list, ...known }: UnauthenticatedView): Html {
  if (list.events.length > 0)
    return html`<ul class="items">${list.events.map((event) => eventItem(view, event, known))}</ul>`;
  const isFiltered = query.target !== '' || query.address !== '';
  return emptyList(view.t(isFiltered ? 'admin.audit.none' : 'admin.unauthenticated.none'));
}

function eventItem(
  view: View,
  event: UnauthenticatedRecord,
  { providers, names }: Pick<UnauthenticatedView, 'providers' | 'names'>,
): Html {
  const { target, address, first_at, last_at, count } = event;
  const problem = textIn(event, 'problem');
  return html`<li><div>
<h2>${sentence(view, event, providers)}</h2>
<p>${exactTime(first_at)}${last_at !== first_at && html` – ${exactTime(last_at)}`} · ${view.t('admin.unauthenticated.times', { count })}</p>
${target !== null && html`<p>${view.t('admin.unauthenticated.of', { target: entityName(view, names, target) })}</p>`}
${address !== null && html`<p>${view.t('admin.unauthenticated.from', { address: html`<code>${untrusted(address)}</code>` })}</p>`}
${problem !== undefined && html`<p>${view.t('admin.unauthenticated.problem')}: <code>${untrusted(problem)}</code></p>`}
</div></li>
`;
}

/** What happened, in words: an action or reason that this version does not know is shown by its kind alone. */
function sentence(view: View, event: UnauthenticatedRecord, providers: readonly Provider[]): Html {
  const { action, target } = event;
  const isRest = event.reason === overflowReason;
  if (action === 'sign_up.asked')
    return view.t(isRest ? 'admin.unauthenticated.more.sign_up' : 'admin.unauthenticated.sign_up');
  if (action === 'password.reset_asked') {
    if (isRest) return view.t('admin.unauthenticated.more.reset');
    return view.t(target === null ? 'admin.unauthenticated.reset_unknown_account' : 'admin.unauthenticated.reset');
  }
  if (isRest) return view.t('admin.unauthenticated.more.sign_in');
  const reason = refusalReasons.find((one) => one === event.reason);
  if (reason === undefined) return view.t('admin.unauthenticated.refused');
  if (reason === 'wrong_password' && target === null) return view.t('admin.unauthenticated.refused.no_account');
  const id = textIn(event, 'provider') ?? '';
  const provider = visibleText(providers.find((one) => one.id === id)?.label ?? id);
  return view.t(`admin.unauthenticated.refused.${reason}`, { provider });
}

function textIn({ detail }: UnauthenticatedRecord, member: 'provider' | 'problem'): string | undefined {
  const value = (detail as Readonly<Record<string, unknown>> | null)?.[member];
  return typeof value === 'string' ? value : undefined;
}

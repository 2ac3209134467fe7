import {
  overflowReason,
  refusalReasons,
  type UnauthenticatedList,
  type UnauthenticatedRecord,
} from '../../audit/unauthenticated.ts';
import type { Provider } from '../../authentication/credentials/providers.ts';
import { failureWords } from '../../authentication/federation/failure-words.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import { badge, emptyList, exactTime, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab } from '../components.ts';
import type { Candidates } from './filter.ts';
import type { Names } from './names.ts';
import { candidateList } from './page.ts';
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
  /** Of a name that means no one user: nothing was looked for. */
  choice?: Candidates;
};

const path = '/admin/audit/unauthenticated';

/** What was tried without being signed in, a page at a time, newest first. */
export const unauthenticatedPage = (view: View, shown: UnauthenticatedView): Page => ({
  title: view.plain('admin.unauthenticated.title'),
  tab: adminTab('admin_audit'),
  content: html`<h1>${view.t('admin.unauthenticated.title')}</h1>
<p class="soft">${view.t('admin.unauthenticated.intro')} ${view.t('admin.unauthenticated.kept', { days: shown.keptDays })}</p>
${filterForm(view, shown.query, shown.names)}
${shown.choice ? choiceOf(view, shown.query, shown.choice) : items(view, shown)}
${pager(view, {
  id: 'unauthenticated-older',
  next: shown.list.next,
  label: view.t('admin.unauthenticated.older'),
  cursor: 'before',
  pathTo: (at) => pathWith(path, { ...shown.query, ...at }),
})}`,
});

const filterForm = (
  view: View,
  { target, address }: Query,
  names: Names,
) => html`<form method="get" action="${path}" class="fields">
<div><label for="target">${view.t('admin.unauthenticated.target')}</label>
<input id="target" name="target" type="search" maxlength="254" autocomplete="off" value="${names.get(target)?.email ?? target}" aria-describedby="target-hint">
<p class="hint" id="target-hint">${view.t('admin.unauthenticated.target.hint')}</p></div>
<div><label for="address">${view.t('admin.unauthenticated.address')}</label>
<input id="address" name="address" type="search" maxlength="100" autocomplete="off" value="${address}" aria-describedby="address-hint">
<p class="hint" id="address-hint">${view.t('admin.unauthenticated.address.hint')}</p></div>
<button type="submit" class="quiet" id="unauthenticated-find">${view.t('admin.audit.find.submit')}</button>
</form>
${(target !== '' || address !== '') && html`<p class="actions"><a href="${path}" id="unauthenticated-clear">${view.t('admin.audit.all')}</a></p>`}`;

function items(view: View, { query, list, ...known }: UnauthenticatedView): Html {
  if (list.events.length > 0)
    return html`<ol class="log">${list.events.map((event) => eventItem(view, event, known))}</ol>`;
  const isFiltered = query.target !== '' || query.address !== '';
  return emptyList(view.t(isFiltered ? 'admin.audit.none' : 'admin.unauthenticated.none'));
}

function eventItem(
  view: View,
  event: UnauthenticatedRecord,
  { providers, names }: Pick<UnauthenticatedView, 'providers' | 'names'>,
): Html {
  const { target, address, first_at, last_at, count } = event;
  const said = sentence(view, event, providers);
  const code = textIn(event, 'problem');
  const provider = providerIn(event, providers);
  const row = (label: MessageKey, value: Html) => html`<dt>${view.t(label)}</dt><dd>${value}</dd>\n`;
  return html`<li>
<span class="log-time">${exactTime(first_at)}</span>
<span class="log-what">${target !== null && html`${entityName(view, names, target)} · `}${said}${count > 1 && html` ${badge(view.t('admin.unauthenticated.times', { count }), 'off')}`}</span>
<span class="log-address">${address !== null && ipAddress(address)}</span>
<details><summary>${view.t('admin.audit.details')}<span class="unseen">: ${said}</span></summary>
<dl>
${code !== undefined && row('admin.unauthenticated.problem', html`${view.t(failureWords(code), { provider })} <code>${untrusted(code)}</code>`)}
${last_at !== first_at && html`${row('admin.unauthenticated.first', exactTime(first_at))}${row('admin.unauthenticated.last', exactTime(last_at))}`}
${target !== null && row('admin.id', html`<code>${untrusted(target)}</code>`)}
</dl></details></li>
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
  if (action === 'sign_in.code_asked') {
    if (isRest) return view.t('admin.unauthenticated.more.code');
    return view.t(target === null ? 'admin.unauthenticated.code_unknown_account' : 'admin.unauthenticated.code');
  }
  if (isRest) return view.t('admin.unauthenticated.more.sign_in');
  const reason = refusalReasons.find((one) => one === event.reason);
  if (reason === undefined) return view.t('admin.unauthenticated.refused');
  if (reason === 'wrong_password' && target === null) return view.t('admin.unauthenticated.refused.no_account');
  return view.t(`admin.unauthenticated.refused.${reason}`, { provider: providerIn(event, providers) });
}

function providerIn(event: UnauthenticatedRecord, providers: readonly Provider[]): string {
  const id = textIn(event, 'provider') ?? '';
  return visibleText(providers.find((one) => one.id === id)?.label ?? id);
}

const choiceOf = (view: View, query: Query, choice: Candidates): Html => {
  const typed = html`<bdi>${visibleText(query.target, 100)}</bdi>`;
  if (choice.candidates.length === 0)
    return emptyList(view.t('admin.unauthenticated.target.none', { query: typed }), {
      path,
      label: view.t('admin.audit.all'),
    });
  return html`<p>${view.t('admin.unauthenticated.target.several', { query: typed })}</p>
${candidateList(view, query.target, choice, (id) => pathWith(path, { ...query, target: id }))}`;
};

function textIn({ detail }: UnauthenticatedRecord, member: 'provider' | 'problem'): string | undefined {
  const value = (detail as Readonly<Record<string, unknown>> | null)?.[member];
  return typeof value === 'string' ? value : undefined;
}

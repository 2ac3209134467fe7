import { type ActionGroup, actionGroupNames, actionGroups, isAuditAction } from '../../audit/actions.ts';
import { textOfPlace } from '../../audit/all-chains.ts';
import { type LogReport, textOfHead } from '../../audit/audit-log.ts';
import { type AuditRecord, exportFormats, type FilterWarning, type LogPage } from '../../audit/read-log.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { alert, notice } from '../../platform/pages/form.ts';
import { type Html, html, ipAddress, untrusted } from '../../platform/pages/html.ts';
import { emptyList, exactTime, pager, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab } from '../components.ts';
import { isEventGroup } from '../webhooks/event-groups.ts';
import {
  type AuditQuery,
  byAdministrators,
  type Candidates,
  groupIn,
  groupMark,
  isPeriod,
  isRequest,
  periods,
} from './filter.ts';
import { idOf, type Names } from './names.ts';
import { actionLabel, actorName, entityName, eventSentence } from './sentence.ts';

const path = '/admin/audit';

export type AuditView = {
  query: AuditQuery;
  names: Names;
  /** Undefined for a filter that was refused: nothing was looked for. */
  log?: LogPage;
  /** Of a name that means no one user or client. */
  choice?: Candidates;
  /** For a log that is empty. */
  warning?: FilterWarning;
  problem?: Html | false;
  reports?: LogReport;
  /** Those whose changes one may look at alone, by their ids. */
  administrators?: readonly string[];
};

export const auditPage = (
  view: View,
  { query, names, log, choice, warning, problem, reports, administrators = [] }: AuditView,
): Page => ({
  title: view.plain('admin.audit.title'),
  tab: adminTab('admin_audit'),
  content: html`<h1>${view.t('admin.audit.title')}</h1>
${reports?.map((report) => verdict(view, report))}
${problem}
${filterForm(view, query, names)}
${chips(view, query, names)}
${administrators.length > 0 && byWhom(view, query, names, administrators)}
${choice && choiceOf(view, query, choice)}
${log && found(view, query, { names, log, warning })}
<div class="log-about"><p class="soft">${view.t('admin.audit.intro')}</p>
<form method="post" action="${path}/verify"><button type="submit" class="quiet" id="audit-verify">${view.t('admin.audit.verify')}</button></form>
<p><a href="${path}/unauthenticated" id="audit-unauthenticated">${view.t('admin.unauthenticated.link')}</a></p></div>`,
});

/** Who has changed something as an administrator, each with a way to what they alone have. */
function byWhom(view: View, query: AuditQuery, names: Names, administrators: readonly string[]): Html {
  const link = (actor: string, label: Html) =>
    html`<a href="${pathWith(path, { ...query, actor })}"${query.actor === actor && html` aria-current="true"`}>${label}</a>\n`;
  const known = administrators.flatMap((id) => {
    const name = names.get(id)?.name;
    return name === undefined ? [] : [link(`${id.startsWith('svc_') ? 'service' : 'user'}:${id}`, untrusted(name, 80))];
  });
  return html`<nav aria-label="${view.plain('admin.audit.by_whom')}"><p class="actions">${link('', view.t('admin.audit.by_whom.all'))}${known}${link('cli', view.t('admin.audit.actor.cli'))}</p></nav>`;
}

const found = (
  view: View,
  query: AuditQuery,
  { names, log, warning }: { names: Names; log: LogPage; warning?: FilterWarning },
) => html`${
  log.events.length === 0
    ? emptyList(
        html`${view.t(log.next === undefined ? 'admin.audit.none' : 'admin.audit.none.here')}${warning && html` ${view.t(`admin.audit.filter_warning.${warning}`)}`}`,
        { path, label: view.t('admin.audit.all') },
      )
    : eventList(view, names, log.events)
}
${pager(view, {
  id: 'audit-older',
  next: log.next && textOfPlace(log.next),
  label: view.t('admin.audit.older'),
  cursor: 'before',
  pathTo: (at) => pathWith(path, { ...query, ...at }),
})}
<p class="actions">${exportFormats.map((format) => html`<a href="${exportPath(query, format)}" id="audit-${format}">${view.t('admin.audit.export', { format: format.toUpperCase() })}</a>\n`)}</p>`;

/** A client_id may be a URL. */
const isActor = (who: string) => /^(?:cli|system|(?!https:)\w+:.+)$/.test(who);

function exportPath({ who, ...query }: AuditQuery, format: string): string {
  const meant = isActor(who) ? { actor: who } : isRequest(who) ? { request_id: who } : { about: who };
  return pathWith(`${path}/export`, { ...query, ...meant, format });
}

/** A line for each event, newest first. */
export const eventList = (view: View, names: Names, events: readonly AuditRecord[]): Html =>
  html`<ol class="log" reversed start="${events[0]?.seq}">${events.map((event) => eventItem(view, names, event))}</ol>`;

const eventItem = (view: View, names: Names, row: AuditRecord) => html`<li value="${row.seq}">
<span class="log-time">${exactTime(row.at)}</span>
<span class="log-what">${eventSentence(view, names, row)}</span>
<span class="log-address">${row.address !== null && ipAddress(row.address)}</span>
<details><summary aria-label="${view.plain('admin.audit.details.of', { seq: row.seq })}">${view.t('admin.audit.details')}</summary>
<dl>
<dt>${view.t('admin.audit.action')}</dt><dd><code>${untrusted(row.action, 100)}</code></dd>
<dt>${view.t('admin.audit.actor')}</dt><dd><code>${untrusted(row.actor, 200)}</code></dd>
${row.target !== null && html`<dt>${view.t('admin.audit.target')}</dt><dd><code>${untrusted(row.target, 200)}</code></dd>`}
${row.reason !== null && html`<dt>${view.t('admin.audit.reason')}</dt><dd>${untrusted(row.reason, 500)}</dd>`}
${state(view.t('admin.audit.before'), row.before)}${state(view.t('admin.audit.after'), row.after)}
${row.request_id !== null && html`<dt>${view.t('admin.audit.request')}</dt><dd><a href="${pathWith(path, { who: row.request_id })}"><code>${row.request_id}</code></a></dd>`}
<dt>${view.t('admin.audit.id')}</dt><dd><code>${row.event_id}</code></dd>
<dt>${view.t('admin.audit.seal')}</dt><dd><code>${textOfHead(row)}</code></dd>
</dl></details></li>
`;

const state = (label: Html, value: unknown) =>
  value !== null && html`<dt>${label}</dt><dd><code>${visibleText(JSON.stringify(value), 4000)}</code></dd>\n`;

const filterForm = (
  view: View,
  query: AuditQuery,
  names: Names,
) => html`<form method="get" action="${path}" class="filters">
<div><label for="action">${view.t('admin.audit.action')}</label>
<select id="action" name="action">${option('', view.t('admin.audit.action.any'), query.action)}${actionOptions(view, query.action)}</select></div>
<div><label for="who">${view.t('admin.audit.who')}</label>
<input id="who" name="who" type="search" maxlength="254" autocomplete="off" value="${typedName(query.who, names)}" aria-describedby="who-hint"></div>
<div><label for="period">${view.t('admin.audit.period')}</label>
<select id="period" name="period">${option('', view.t('admin.audit.period.any'), query.period)}${periodNames.map((name) => option(name, view.t(`admin.audit.period.${name}`), query.period))}</select></div>
<button type="submit" class="quiet" id="audit-find">${view.t('admin.audit.find.submit')}</button>
<p class="hint" id="who-hint">${view.t('admin.audit.who.hint')}</p>
<label><input type="checkbox" name="by" value="${byAdministrators}"${query.by === byAdministrators && html` checked`}> ${view.t('admin.audit.by_administrators')}</label>
<details${(query.since || query.until || query.address) && html` open`}><summary>${view.t('admin.audit.dates')}</summary>
<div class="fields"><div><label for="address">${view.t('admin.unauthenticated.address')}</label>
<input id="address" name="address" type="search" maxlength="45" autocomplete="off" autocapitalize="none" spellcheck="false" value="${query.address}" aria-describedby="address-hint">
<p class="hint" id="address-hint">${view.t('admin.audit.address.hint')}</p></div>
<div><label for="since">${view.t('admin.audit.since')}</label>
<input id="since" name="since" type="date" value="${query.since}"></div>
<div><label for="until">${view.t('admin.audit.until')}</label>
<input id="until" name="until" type="date" value="${query.until}"></div></div></details>
</form>`;

const periodNames = Object.keys(periods) as (keyof typeof periods)[];

/** A user is shown by the address, which means the same user when the form is sent again. */
const typedName = (who: string, names: Names): string => names.get(who)?.email ?? who;

const option = (value: string, label: Html, current: string): Html =>
  html`<option value="${value}"${value === current && html` selected`}>${label}</option>\n`;

function actionOptions(view: View, current: string): Html {
  // A link may name an action of another version, or the first word of several.
  const isOffered = current === '' || isAuditAction(current) || groupIn(current) !== undefined;
  return html`${!isOffered && option(current, html`${visibleText(current, 100)}`, current)}${actionGroupNames.map(
    (group) => {
      const label = view.plain(groupLabel(group));
      const actions = actionGroups[group];
      return html`<optgroup label="${label}">${actions.length > 1 && option(`${groupMark}${group}`, view.t('admin.audit.group.all', { group: label }), current)}${actions.map((action) => option(action, view.t(actionLabel(action)), current))}</optgroup>\n`;
    },
  )}`;
}

const groupLabel = (group: ActionGroup) =>
  isEventGroup(group) ? (`admin.webhooks.group.${group}` as const) : (`admin.audit.group.${group}` as const);

/** Each filter that is active, with a way to leave it out. */
function chips(view: View, query: AuditQuery, names: Names): Html | false {
  const { action, who, actor, target, period, since, until } = query;
  const group = groupIn(action);
  const active: (readonly [name: keyof AuditQuery, label: Html])[] = [];
  const add = (name: keyof AuditQuery, label: (value: string) => Html) => {
    if (query[name]) active.push([name, label(query[name])]);
  };
  add('action', () => {
    if (group) return view.t(groupLabel(group));
    return isAuditAction(action) ? view.t(actionLabel(action)) : html`${visibleText(action, 100)}`;
  });
  add('who', () =>
    isRequest(who)
      ? view.t('admin.audit.filter.request', { id: who })
      : isActor(who)
        ? actorName(view, names, who)
        : entityName(view, names, who),
  );
  add('actor', () =>
    view.t('admin.audit.filter.by', {
      who: names.has(idOf(actor)) ? actorName(view, names, actor) : visibleText(actor, 100),
    }),
  );
  add('target', () =>
    view.t('admin.audit.filter.on', {
      what: names.has(target) ? entityName(view, names, target) : visibleText(target, 100),
    }),
  );
  if (query.by === byAdministrators) add('by', () => view.t('admin.audit.by_administrators'));
  add('address', (address) => view.t('admin.audit.filter.from_address', { address: visibleText(address, 45) }));
  if (since === '' && until === '' && isPeriod(period)) add('period', () => view.t(`admin.audit.period.${period}`));
  add('since', (day) => view.t('admin.audit.filter.since', { day: visibleText(day, 30) }));
  add('until', (day) => view.t('admin.audit.filter.until', { day: visibleText(day, 30) }));
  if (active.length === 0) return false;
  const without = (name: keyof AuditQuery): Parameters => ({ ...query, [name]: '' });
  return html`<ul class="chips" aria-label="${view.plain('admin.audit.filters')}">${active.map(
    ([name, label]) =>
      html`<li>${label} <a href="${pathWith(path, without(name))}" id="without-${name}" aria-label="${view.plain('admin.audit.filter.remove', { filter: view.plain(chipName[name]) })}">×</a></li>\n`,
  )}<li class="clear"><a href="${path}" id="audit-clear">${view.t('admin.audit.filter.clear')}</a></li></ul>`;
}

const chipName = {
  action: 'admin.audit.action',
  who: 'admin.audit.who',
  actor: 'admin.audit.actor',
  target: 'admin.audit.target',
  by: 'admin.audit.by_administrators',
  address: 'admin.unauthenticated.address',
  period: 'admin.audit.period',
  since: 'admin.audit.since',
  until: 'admin.audit.until',
} as const;

const choiceOf = (view: View, query: AuditQuery, choice: Candidates) => {
  const typed = html`<bdi>${visibleText(query.who, 100)}</bdi>`;
  if (choice.candidates.length === 0)
    return emptyList(view.t('admin.audit.who.none', { query: typed }), { path, label: view.t('admin.audit.all') });
  return html`<p>${view.t('admin.audit.who.several', { query: typed })}</p>
${candidateList(view, query.who, choice, (id) => pathWith(path, { ...query, who: id }))}`;
};

export const candidateList = (
  view: View,
  typed: string,
  { candidates, hasMore }: Candidates,
  pathTo: (id: string) => string,
): Html =>
  html`<ul class="items">${candidates.map(
    ({ id, name, detail }) =>
      html`<li><div><a href="${pathTo(id)}">${untrusted(name, 100)}</a><p>${untrusted(detail, 254)}</p></div></li>\n`,
  )}</ul>
${hasMore && html`<p class="advice" id="more-candidates">${view.t('admin.audit.who.more')} <a href="${pathWith('/admin/users', { q: typed })}">${view.t('admin.audit.who.more.users')}</a></p>`}`;

function verdict(view: View, { part, verified, head, unsealed, set_back, broken, stopped }: LogReport[number]) {
  const of = part !== undefined && html`<strong>${part}</strong>: `;
  if (broken) {
    const what = view.t(`admin.audit.broken.${broken.why}`, { seq: broken.seq, verified });
    return alert(html`${of}${what}${stopped && html` ${view.t('admin.audit.stopped')}`}`);
  }
  if (part !== undefined && head.seq === 0) return undefined; // a part without events has no seal to keep
  const { times, last_seq } = set_back;
  const dates = last_seq !== null && html` ${view.t('admin.audit.set_back', { times, seq: last_seq })}`;
  return notice(
    html`${of}${view.t('admin.audit.intact', { verified, unsealed })} <code>${textOfHead({ part, ...head })}</code>${dates}`,
  );
}

import type { ChainReport } from '../../audit/chain.ts';
import { type AuditRecord, exportFormats, type FilterWarning, type LogPage } from '../../audit/read-log.ts';
import { alert, notice } from '../../platform/pages/form.ts';
import { type Html, html, untrusted } from '../../platform/pages/html.ts';
import { exactTime, pathWith } from '../../platform/pages/lists.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { visibleText } from '../../platform/text.ts';
import { adminTab, entityLink } from '../components.ts';

/** What the form says, as it was typed: days for `since` and `until`. */
export type AuditQuery = { action: string; actor: string; target: string; since: string; until: string };

export type AuditView = {
  query: AuditQuery;
  /** Undefined for a filter that was refused: nothing was looked for. */
  log: LogPage | undefined;
  /** For a log that is empty. */
  warning?: FilterWarning;
  problem?: Html | false;
  report?: ChainReport;
};

export const auditPage = (view: View, { query, log, warning, problem, report }: AuditView): Page => ({
  title: view.plain('admin.audit.title'),
  tab: adminTab('admin_audit'),
  content: html`<h1>${view.t('admin.audit.title')}</h1>
<p class="soft">${view.t('admin.audit.intro')}</p>
<p><a href="/admin/audit/unauthenticated" id="audit-unauthenticated">${view.t('admin.unauthenticated.link')}</a></p>
${report && verdict(view, report)}
<form method="post" action="/admin/audit/verify"><button type="submit" class="quiet" id="audit-verify">${view.t('admin.audit.verify')}</button></form>
<h2>${view.t('admin.audit.find')}</h2>
${problem}
${filterForm(view, query)}
${log && found(view, query, { log, warning })}`,
});

const found = (view: View, query: AuditQuery, { log, warning }: { log: LogPage; warning?: FilterWarning }) => html`${
  log.events.length === 0
    ? html`<div class="empty"><p>${view.t('admin.audit.none')}</p>${warning && html`<p>${view.t(`admin.audit.filter_warning.${warning}`)}</p>`}</div>`
    : html`<ol class="items" reversed start="${log.events[0]?.seq}">${log.events.map((event) => eventItem(view, event))}</ol>`
}
<p class="actions">
${log.next !== undefined && html`<a class="button quiet" id="audit-older" href="${pathWith('/admin/audit', { ...query, before: String(log.next) })}">${view.t('admin.audit.older')}</a>`}
${exportFormats.map((format) => html`<a href="${pathWith('/admin/audit/export', { ...query, format })}" id="audit-${format}">${view.t('admin.audit.export', { format: format.toUpperCase() })}</a>\n`)}</p>`;

const filterForm = (view: View, query: AuditQuery) => html`<form method="get" action="/admin/audit" class="fields">
<div><label for="action">${view.t('admin.audit.action')}</label>
<input id="action" name="action" maxlength="100" autocomplete="off" value="${query.action}" aria-describedby="action-hint">
<p class="hint" id="action-hint">${view.t('admin.audit.action.hint')}</p></div>
<div><label for="actor">${view.t('admin.audit.actor')}</label>
<input id="actor" name="actor" maxlength="100" autocomplete="off" value="${query.actor}" aria-describedby="actor-hint">
<p class="hint" id="actor-hint">${view.t('admin.audit.actor.hint')}</p></div>
<div><label for="target">${view.t('admin.audit.target')}</label>
<input id="target" name="target" maxlength="100" autocomplete="off" value="${query.target}"></div>
<div class="fields"><div><label for="since">${view.t('admin.audit.since')}</label>
<input id="since" name="since" type="date" value="${query.since}"></div>
<div><label for="until">${view.t('admin.audit.until')}</label>
<input id="until" name="until" type="date" value="${query.until}"></div></div>
<button type="submit" id="audit-find">${view.t('admin.audit.find.submit')}</button>
</form>`;

const eventItem = (view: View, row: AuditRecord) => html`<li value="${row.seq}"><div>
<h3><code>${row.action}</code></h3>
<p>${exactTime(row.at)} · ${view.t('admin.audit.by', { actor: entityLink(row.actor) })}${row.target !== null && html` · ${view.t('admin.audit.on', { target: entityLink(row.target) })}`}</p>
${row.reason !== null && html`<p>${view.t('admin.audit.reason', { reason: untrusted(row.reason, 500) })}</p>`}
${
  (row.before !== null || row.after !== null) &&
  html`<details><summary>${view.t('admin.audit.details')}</summary>
${state(view.t('admin.audit.before'), row.before)}${state(view.t('admin.audit.after'), row.after)}</details>`
}
</div></li>
`;

const state = (label: Html, value: unknown) =>
  value !== null && html`<p>${label}: <code>${visibleText(JSON.stringify(value), 4000)}</code></p>`;

function verdict(view: View, { verified, head, unsealed, unsealed_late, broken, stopped }: ChainReport) {
  if (broken) {
    const what = view.t(`admin.audit.broken.${broken.why}`, { seq: broken.seq, verified });
    return alert(stopped ? html`${what} ${view.t('admin.audit.stopped')}` : what);
  }
  if (unsealed_late > 0) return alert(view.t('admin.audit.late', { count: unsealed_late, verified }));
  return notice(html`${view.t('admin.audit.intact', { verified, unsealed })} <code>${head.seq}:${head.seal}</code>`);
}

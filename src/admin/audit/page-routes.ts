import type { FastifyInstance } from 'fastify';
import {
  type AuditFilter,
  exportFormats,
  exportLog,
  filterWarningOf,
  parseTime,
  readLog,
} from '../../audit/read-log.ts';
import { listUnauthenticated } from '../../audit/unauthenticated.ts';
import { administratorPage } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { alert } from '../../platform/pages/form.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { auditOperations } from './operations.ts';
import { type AuditQuery, auditPage } from './page.ts';
import { unauthenticatedPage } from './unauthenticated-page.ts';

const path = '/admin/audit';
const perPage = 50;
const types = { jsonl: 'application/jsonl; charset=utf-8', csv: 'text/csv; charset=utf-8; header=present' } as const;

export async function auditPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, administratorPage);

  pages.show(path, async ({ view, query: parameters }) => {
    const query = trimmed(parameters);
    const filter = filterOf(query, parameters.before);
    if (!filter) {
      const problem = alert(view.t('admin.audit.filter_problem'));
      return { ...auditPage(view, { query, log: undefined, problem }), status: 400 };
    }
    const log = await readLog(deps, filter, perPage);
    const warning = log.events.length === 0 ? await filterWarningOf(deps, filter) : undefined;
    return auditPage(view, { query, log, warning });
  });

  pages.show(`${path}/unauthenticated`, async ({ view, query: { target = '', address = '', before } }) => {
    const query = { target: target.trim(), address: address.trim() };
    const list = await listUnauthenticated(deps, { ...query, before, limit: perPage });
    const keptDays = deps.config.limits.unauthenticatedEventDays;
    const { providers } = deps.config;
    return unauthenticatedPage(view, { query, list, keptDays, providers });
  });

  pages.download(`${path}/export`, ({ query }) => {
    const format = exportFormats.find((one) => one === query.format);
    const filter = filterOf(trimmed(query), query.before);
    if (!format || !filter) throw refusal('invalid_request', { key: 'admin.audit.filter_problem' });
    return { name: `audit-log.${format}`, type: types[format], content: exportLog(deps, filter, format) };
  });

  pages.run(auditOperations.verify, {
    page: path,
    done: async ({ broken, ...report }, { view }) => {
      const log = await readLog(deps, {}, perPage);
      return auditPage(view, { query: trimmed({}), log, report: { ...report, broken: broken ?? undefined } });
    },
  });
}

const trimmed = ({ action = '', actor = '', target = '', since = '', until = '' }: Parameters): AuditQuery => ({
  action: action.trim(),
  actor: actor.trim(),
  target: target.trim(),
  since,
  until,
});

/** @returns undefined for days and places that are none. */
function filterOf({ since, until, ...texts }: AuditQuery, before: string | undefined): AuditFilter | undefined {
  const from = parseTime(since, 'first');
  const to = parseTime(until, 'last');
  const isPlace = before === undefined || /^\d{1,15}$/.test(before);
  if ((since && from === undefined) || (until && to === undefined) || !isPlace) return undefined;
  return { ...texts, since: from, until: to, before: before === undefined ? undefined : Number(before) };
}

import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { exportFormats, exportLog, filterWarningOf, parseTime, readLog } from '../../audit/read-log.ts';
import type { AuditFilter } from '../../audit/store.ts';
import { listUnauthenticated } from '../../audit/unauthenticated.ts';
import { administratorContext } from '../../authentication/sessions/administrator.ts';
import type { Deps } from '../../oauth/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { alert } from '../../platform/pages/form.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { type AuditQuery, auditPage } from './page.ts';
import { unauthenticatedPage } from './unauthenticated-page.ts';

const perPage = 50;
const types = { jsonl: 'application/jsonl; charset=utf-8', csv: 'text/csv; charset=utf-8; header=present' } as const;

export async function auditPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/admin/audit', { config: { page: true } }, async (request, reply) => {
    const { view, query: parameters } = await administratorContext(deps, request);
    const query = typedInto(parameters);
    const filter = filterOf(query, parameters.before);
    if (!filter) {
      const problem = alert(view.t('admin.audit.filter_problem'));
      return sendPage(reply, view, auditPage(view, { query, log: undefined, problem }), 400);
    }
    const log = await readLog(deps, filter, perPage);
    const doubt = log.events.length === 0 ? await filterWarningOf(deps, filter) : undefined;
    return sendPage(reply, view, auditPage(view, { query, log, doubt }));
  });

  app.get('/admin/audit/unauthenticated', { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    const { target = '', address = '', before } = query;
    const typed = { target: target.trim(), address: address.trim() };
    const list = await listUnauthenticated(deps, { ...typed, before, limit: perPage });
    const keptDays = deps.config.limits.unauthenticatedEventDays;
    const { providers } = deps.config;
    return sendPage(reply, view, unauthenticatedPage(view, { query: typed, list, keptDays, providers }));
  });

  app.get('/admin/audit/export', { config: { page: true }, exposeHeadRoute: false }, async (request, reply) => {
    const { query } = await administratorContext(deps, request);
    const format = exportFormats.find((one) => one === query.format);
    const filter = filterOf(typedInto(query), query.before);
    if (!format || !filter) throw refusal('invalid_request', { key: 'admin.audit.filter_problem' });
    return reply
      .headers({ 'content-disposition': `attachment; filename="audit-log.${format}"` })
      .type(types[format])
      .send(Readable.from(exportLog(deps, filter, format)));
  });

  app.post('/admin/audit/verify', { config: { page: true, form: '/admin/audit' } }, async (request, reply) => {
    const { view } = await administratorContext(deps, request);
    const report = await deps.auditLog.verify();
    const log = await readLog(deps, {}, perPage);
    return sendPage(reply, view, auditPage(view, { query: typedInto({}), log, report }));
  });
}

const typedInto = ({ action = '', actor = '', target = '', since = '', until = '' }: Parameters): AuditQuery => ({
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

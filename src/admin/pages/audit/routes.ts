import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { exportFormats, exportLog, readLog, verifyLog } from '../../../audit/read-log.ts';
import type { AuditFilter } from '../../../audit/store.ts';
import type { Deps } from '../../../deps.ts';
import { invalidRequest } from '../../../errors.ts';
import { administratorAt } from '../../../http/administrator.ts';
import { alert } from '../../../http/form.ts';
import { sendPage } from '../../../http/page.ts';
import type { Parameters } from '../../../http/parameters.ts';
import { type AuditQuery, auditPage } from './page.ts';

const perPage = 50;
const types = { jsonl: 'application/jsonl; charset=utf-8', csv: 'text/csv; charset=utf-8; header=present' } as const;

export async function auditPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/admin/audit', { config: { page: true } }, async (request, reply) => {
    const { view, query: parameters } = await administratorAt(deps, request);
    const query = typedInto(parameters);
    const filter = filterOf(query, parameters.before);
    if (!filter) {
      const problem = alert(view.t('admin.audit.filter_problem'));
      return sendPage(reply, view, auditPage(view, { query, log: { events: [], next: undefined }, problem }), 400);
    }
    return sendPage(reply, view, auditPage(view, { query, log: await readLog(deps, filter, perPage) }));
  });

  app.get('/admin/audit/export', { config: { page: true }, exposeHeadRoute: false }, async (request, reply) => {
    const { query } = await administratorAt(deps, request);
    const format = exportFormats.find((one) => one === query.format);
    const filter = filterOf(typedInto(query), query.before);
    if (!format || !filter) throw invalidRequest('format must be jsonl or csv, and days must be days.');
    return reply
      .headers({ 'cache-control': 'no-store', 'content-disposition': `attachment; filename="audit-log.${format}"` })
      .type(types[format])
      .send(Readable.from(exportLog(deps, filter, format)));
  });

  app.post('/admin/audit/verify', { config: { page: true, form: '/admin/audit' } }, async (request, reply) => {
    const { view } = await administratorAt(deps, request);
    const report = await verifyLog(deps);
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
  const from = secondOf(since, 0);
  const to = secondOf(until, 86_399); // the day that is named is part of what is asked for
  const isPlace = before === undefined || /^\d{1,15}$/.test(before);
  if (from === null || to === null || !isPlace) return undefined;
  return { ...texts, since: from, until: to, before: before === undefined ? undefined : Number(before) };
}

/** @returns Unix seconds; undefined for no day, null for one that there is not. */
function secondOf(day: string, more: number): number | undefined | null {
  if (day === '') return undefined;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  return Number.isNaN(at) ? null : at / 1000 + more;
}

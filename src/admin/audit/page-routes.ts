import type { FastifyInstance } from 'fastify';
import { exportFormats, exportLog, exportName, filterWarningOf, readLog } from '../../audit/read-log.ts';
import type { AuditFilter } from '../../audit/statements.ts';
import { listUnauthenticated } from '../../audit/unauthenticated.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { csvType } from '../../platform/csv.ts';
import { refusal } from '../../platform/errors.ts';
import { alert } from '../../platform/pages/form.ts';
import { pagesOf } from '../page-access.ts';
import { type AuditQuery, filterOf, queryOf, userMeant, whoIsMeant } from './filter.ts';
import { idOf, namesIn } from './names.ts';
import { auditOperations } from './operations.ts';
import { type AuditView, auditPage } from './page.ts';
import { unauthenticatedPage } from './unauthenticated-page.ts';

const path = '/admin/audit';
/** With the details of each event, a page of them weighs less than 60 KB. */
const eventsPerPage = 12;
const unauthenticatedPerPage = 25;
/** Others are found by their name. */
const administratorsShown = 20;
const types = { jsonl: 'application/jsonl; charset=utf-8', csv: csvType } as const;

export async function auditPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'audit:read');

  pages.show(path, async ({ view, query: parameters }) => {
    const query = queryOf(parameters);
    const filter = await filterOf(deps, query, parameters.before);
    if ('key' in filter) {
      const problem = alert(view.t(filter.key));
      return { ...auditPage(view, { query, names: new Map(), problem }), status: 400 };
    }
    const meant = await whoIsMeant(deps, query.who);
    if ('candidates' in meant) return auditPage(view, { query, names: new Map(), choice: meant });
    return auditPage(view, await found(query, { ...filter, ...meant }));
  });

  pages.show(`${path}/unauthenticated`, async ({ view, query: { target = '', address = '', before } }) => {
    const typed = { target: target.trim(), address: address.trim() };
    const keptDays = deps.config.limits.unauthenticatedEventDays;
    const { all: providers } = await deps.providers.read();
    const meant = await userMeant(deps, typed.target);
    if ('candidates' in meant) {
      const list = { events: [], next: undefined };
      return unauthenticatedPage(view, { query: typed, list, keptDays, providers, names: new Map(), choice: meant });
    }
    const query = { ...typed, target: meant.user_id };
    const list = await listUnauthenticated(deps, { ...query, before, limit: unauthenticatedPerPage });
    const accounts = [...list.events.map(({ target }) => target), query.target];
    const names = await namesIn(deps, [], accounts.filter((one) => one !== null && one !== '') as string[]);
    return unauthenticatedPage(view, { query, list, keptDays, providers, names });
  });

  pages.download(`${path}/export`, async ({ query: { about, request_id, ...parameters } }) => {
    const format = exportFormats.find((one) => one === parameters.format);
    const found = await filterOf(deps, queryOf(parameters), parameters.before);
    if (!format) throw refusal('invalid_request', { key: 'admin.audit.filter_problem' });
    if ('key' in found) throw refusal('invalid_request', found);
    // The links of the page name a user or a client by the id.
    const filter = { ...found, about, request_id };
    const name = exportName(filter, format, now(deps));
    return { name, type: types[format], content: exportLog(deps, filter, format) };
  });

  pages.run(auditOperations.verify, {
    page: path,
    done: async ({ parts, ...whole }, { view }) => {
      const shown = await found(queryOf({}), {});
      const reports = (parts ?? [whole]).map(({ broken, ...report }) => ({ ...report, broken: broken ?? undefined }));
      return auditPage(view, { ...shown, reports });
    },
  });

  async function found(query: AuditQuery, filter: AuditFilter): Promise<AuditView> {
    const log = await readLog(deps, filter, eventsPerPage);
    const warning = log.events.length === 0 ? await filterWarningOf(deps, filter) : undefined;
    const filteredBy = [filter.about ?? '', query.target, idOf(query.actor)].filter((id) => id !== '');
    const administrators = Array.isArray(filter.administrators)
      ? filter.administrators.slice(0, administratorsShown)
      : [];
    const names = await namesIn(deps, log.events, [...filteredBy, ...administrators]);
    // Links to other pages of the list name who was meant by the id: the name may have become another's.
    return { query: { ...query, who: filter.about ?? query.who }, names, log, warning, administrators };
  }
}

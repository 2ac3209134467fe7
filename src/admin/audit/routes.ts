import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { exportFormats, exportLog, parseTime, readLog } from '../../audit/read-log.ts';
import type { AuditFilter } from '../../audit/store.ts';
import { listUnauthenticated } from '../../audit/unauthenticated.ts';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { invalidFields } from '../../platform/errors.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { readChoice, readLimit, readNumber, readQuery } from '../../platform/http/query.ts';
import { exportAll, list, listUnauthenticated as listUnauthenticatedOperation, verify } from './operations.ts';

const mediaTypes = { jsonl: 'application/jsonl', csv: 'text/csv; charset=utf-8' } as const;

/** What has happened here. */
export async function adminAuditRoutes(app: FastifyInstance, deps: Deps) {
  const queryOf = async (request: FastifyRequest): Promise<Parameters> => {
    await administratorCaller(deps, request);
    return readQuery(request);
  };

  app.get('/v1/admin/audit', { config: { operation: list } }, async (request) => {
    const query = await queryOf(request);
    const { events, next } = await readLog(deps, filterOf(query), readLimit(query));
    return { events, next: next ?? null };
  });

  app.get(
    '/v1/admin/audit/unauthenticated',
    { config: { operation: listUnauthenticatedOperation } },
    async (request) => {
      const query = await queryOf(request);
      const { target, address, before } = query;
      const { events, next } = await listUnauthenticated(deps, { target, address, before, limit: readLimit(query) });
      return { events, next: next ?? null };
    },
  );

  // Without HEAD, for which the whole log would be read and thrown away.
  const exporting = { config: { operation: exportAll }, exposeHeadRoute: false };
  app.get('/v1/admin/audit/export', exporting, async (request, reply) => {
    const query = await queryOf(request);
    const format = readChoice(query, 'format', exportFormats) ?? 'jsonl';
    const text = exportLog(deps, filterOf(query), format);
    return reply
      .header('content-disposition', `attachment; filename="audit-log.${format}"`)
      .type(mediaTypes[format])
      .send(Readable.from(text));
  });

  app.post('/v1/admin/audit/verify', { config: { operation: verify } }, async (request) => {
    await administratorCaller(deps, request);
    readNoBody(request.body);
    const { broken = null, ...report } = await deps.auditLog.verify();
    return { ...report, broken };
  });
}

const filterOf = (query: Parameters): AuditFilter => ({
  action: query.action,
  actor: query.actor,
  target: query.target,
  since: readTime(query, 'since', 'first'),
  until: readTime(query, 'until', 'last'),
  before: readNumber(query, 'before', { least: 1, most: Number.MAX_SAFE_INTEGER }),
});

/** @throws {RequestError} `invalid_request` for what is no moment. */
function readTime(query: Parameters, name: 'since' | 'until', edge: 'first' | 'last'): number | undefined {
  const text = query[name];
  const at = text === undefined ? undefined : parseTime(text, edge);
  if (text === undefined || at !== undefined) return at;
  throw invalidFields([{ path: name, message: 'Must be Unix seconds, or a date such as 2027-01-31.' }]);
}

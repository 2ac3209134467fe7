import { placeOfText, textOfPlace } from '../../audit/all-chains.ts';
import { reportOfAll } from '../../audit/audit-log.ts';
import { chainFaults } from '../../audit/chain.ts';
import { exportFormats, exportLog, exportName, parseTime, readLog, timePattern } from '../../audit/read-log.ts';
import type { AuditFilter, LogPlace } from '../../audit/statements.ts';
import { listUnauthenticated } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { unknownCursor } from '../../platform/db/slices.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { invalidFields } from '../../platform/errors.ts';
import { inCode, nullable, operation, Time } from '../../platform/http/operation.ts';
import { cursor, limit } from '../../platform/http/paging.ts';
import { type AddressQuery, addressQuery } from '../../platform/ip-address.ts';
import { list, time } from '../../platform/report.ts';
import { type Static, type TObject, Type } from '../../platform/schema.ts';
import { administration } from '../operation-parts.ts';
import { knownAdministrators } from './filter.ts';

const part = Type.String({ description: 'The part of a store in several parts, each of which has a log of its own.' });

const AuditRecord = Type.Object({
  part: Type.Optional(part),
  seq: Type.Integer({ minimum: 1, description: 'Sequence number in the audit log.' }),
  event_id: Type.String(),
  at: Time,
  action: Type.String(),
  actor: Type.String(),
  target: nullable(Type.String()),
  reason: nullable(Type.String()),
  before: Type.Unknown(),
  after: Type.Unknown(),
  address: nullable(Type.String()),
  seal: Type.String(),
  request_id: nullable(
    Type.String({
      description: 'The request that caused it, as in `x-request-id` and in the log, if requests were logged.',
    }),
  ),
});

export const auditFilters = {
  action: Type.Optional(Type.String({ description: 'An action such as client.approved, or its first word.' })),
  actor: Type.Optional(Type.String({ description: 'user:<id>, client:<id>, service:<id>, cli or system.' })),
  target: Type.Optional(Type.String({ description: 'The ID of the affected object.' })),
  about: Type.Optional(
    Type.String({
      description: 'The ID of a user, client or service credential: events that it caused or that affected it.',
    }),
  ),
  request_id: Type.Optional(
    Type.String({ description: 'Only events of the request with this ID, which its answer has in `x-request-id`.' }),
  ),
  address: Type.Optional(
    Type.String({
      description:
        'Only events of requests from this IP address, or from addresses that begin with these numbers: `203.0.113.` or `2001:db8:`.',
      ...inCode({ maxLength: 45 }),
    }),
  ),
  changes_by: Type.Optional(
    Type.Enum(['administrators'], {
      description:
        'Only what administrators and the command line have changed, apart from their own accounts and clients.',
    }),
  ),
  since: Type.Optional(
    Type.String({
      description: 'Unix seconds, or a day or time such as 2027-01-31T08:00:00Z.',
      ...inCode({ pattern: timePattern }),
    }),
  ),
  until: Type.Optional(
    Type.String({ description: 'In the same form; a day is included entirely.', ...inCode({ pattern: timePattern }) }),
  ),
  before: Type.Optional(
    Type.String({
      description: 'Only events with a lower `seq`, or before `next` of the previous page.',
      ...inCode({ pattern: '^[1-9][0-9]{0,14}(\\.[1-9][0-9]{0,14})*$' }),
    }),
  ),
};

/** @throws {RequestError} `invalid_request` for a time, an address or a place that is none. */
async function filterOf(
  deps: StoreDeps,
  { since, until, address, changes_by, before, ...same }: Static<TObject<typeof auditFilters>>,
): Promise<AuditFilter> {
  return {
    ...same,
    since: readTime('since', since, 'first'),
    until: readTime('until', until, 'last'),
    address: readAddress(address),
    before: readPlace(deps, before),
    administrators: changes_by && (await knownAdministrators(deps)),
  };
}

function readPlace({ db }: StoreDeps, text: string | undefined): LogPlace | undefined {
  const place = text === undefined ? undefined : placeOfText(db, text);
  if (text === undefined || place) return place;
  throw unknownCursor('before');
}

function readAddress(text: string | undefined): AddressQuery | undefined {
  const address = text === undefined ? undefined : addressQuery(text);
  if (text === undefined || address) return address;
  throw invalidFields([
    { path: 'address', message: 'Must be an IP address, or its first numbers, such as 203.0.113.' },
  ]);
}

function readTime(path: string, text: string | undefined, edge: 'first' | 'last'): number | undefined {
  const at = text === undefined ? undefined : parseTime(text, edge);
  if (text === undefined || at !== undefined) return at;
  throw invalidFields([{ path, message: 'Must be Unix seconds, or a date such as 2027-01-31.' }]);
}

const UnauthenticatedRecord = Type.Object({
  action: Type.String(),
  reason: nullable(
    Type.String({ description: '`more`: events of that hour that exceeded the number of separate entries.' }),
  ),
  target: nullable(Type.String({ description: 'The account concerned.' })),
  detail: Type.Unknown(),
  address: nullable(Type.String({ description: 'Where the first of them came from.' })),
  first_at: Time,
  last_at: Time,
  count: Type.Integer({ minimum: 1 }),
});

const reportMembers = {
  verified: Type.Integer({ minimum: 0 }),
  head: Type.Object({ seq: Type.Integer({ minimum: 0 }), seal: Type.String() }),
  unsealed: Type.Integer({ minimum: 0 }),
  set_back: Type.Object(
    {
      times: Type.Integer({ minimum: 0, description: 'How often.' }),
      last_seq: nullable(Type.Integer({ minimum: 1, description: 'Where last; null if nowhere.' })),
    },
    {
      description:
        'Where an event is dated more than ten minutes before the one that was sealed before it: a clock was set, or the event was written directly to the database.',
    },
  ),
  stopped: Type.Boolean({
    description:
      'Whether the end of the log is lost: no events are sealed and no webhooks are sent until an operator acknowledges it.',
  }),
  broken: nullable(Type.Object({ seq: Type.Integer(), why: Type.Enum([...chainFaults]) })),
};

const mediaTypes = { jsonl: 'application/jsonl', csv: 'text/csv; charset=utf-8' } as const;

export const auditOperations = {
  list: operation({
    ...administration('audit:read'),
    id: 'listAuditEvents',
    method: 'GET',
    path: '/v1/admin/audit',
    summary: 'List the events of the audit log',
    query: { ...auditFilters, limit },
    answer: {
      description:
        'Newest first. `next` is `before` of the next page, which may have fewer events than the limit, even none: the list ends where `next` is null.',
      schema: Type.Object({
        events: Type.Array(AuditRecord),
        next: Type.Union([Type.Integer({ minimum: 1 }), Type.String(), Type.Null()], {
          description: 'A number, or in a store in several parts a text.',
        }),
      }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query: { limit, ...filters } }) {
      const { events, next } = await readLog(deps, await filterOf(deps, filters), limit);
      return { events, next: next === undefined ? null : next.length === 1 ? next[0]! : textOfPlace(next) };
    },
  }),

  listUnauthenticated: operation({
    ...administration('audit:read'),
    id: 'listUnauthenticatedEvents',
    method: 'GET',
    path: '/v1/admin/audit/unauthenticated',
    summary: 'List refused sign-ins and requested links',
    description:
      'Refused sign-ins, and requested links to sign up or to reset a password. Identical events within an hour are ' +
      'one entry with a count. They are deleted after a retention period and are not part of the audit log.',
    query: {
      target: Type.Optional(Type.String({ description: 'Only events about the user with this ID.' })),
      address: Type.Optional(Type.String({ description: 'Only events from this address, as it is listed.' })),
      before: cursor,
      limit,
    },
    answer: {
      description: 'Newest first. `next` is `before` of the next page.',
      schema: Type.Object({ events: Type.Array(UnauthenticatedRecord), next: nullable(Type.String()) }),
    },
    refusals: ['invalid_request'],
    async run(deps, { query }) {
      const { events, next = null } = await listUnauthenticated(deps, query);
      return { events, next };
    },
    command: {
      name: 'audit unauthenticated',
      summary: 'List refused sign-ins and requested links, newest first. Identical ones within an hour share a line.',
      fixed: { before: undefined },
      json: ({ events }) => ({ events }),
      text: ({ events }) =>
        events.length === 0
          ? 'None.'
          : list([
              ['FIRST', 'LAST', 'COUNT', 'ACTION', 'TARGET', 'REASON', 'ADDRESS'],
              ...events.map(({ first_at, last_at, count, action, target, reason, address }) => [
                time(first_at),
                time(last_at),
                count,
                action,
                target,
                reason,
                address,
              ]),
            ]),
    },
  }),

  export: operation({
    ...administration('audit:read'),
    id: 'exportAuditLog',
    method: 'GET',
    path: '/v1/admin/audit/export',
    summary: 'Export the audit log as a file',
    query: {
      format: Type.Optional(Type.Enum([...exportFormats], { description: 'Default: JSON Lines.' })),
      ...auditFilters,
    },
    answer: { description: 'Newest first, as an attachment.', media: ['application/jsonl', 'text/csv'] },
    refusals: ['invalid_request'],
    async run(deps, { query: { format = 'jsonl', ...filters } }) {
      const filter = await filterOf(deps, filters);
      const name = exportName(filter, format, now(deps));
      return { name, type: mediaTypes[format], content: exportLog(deps, filter, format) };
    },
  }),

  verify: operation({
    ...administration('audit:read'),
    id: 'verifyAuditLog',
    method: 'POST',
    path: '/v1/admin/audit/verify',
    summary: 'Verify that no event of the audit log was changed or removed',
    answer: {
      description: '`broken` names the first event that is not intact; null if all are.',
      schema: Type.Object({
        ...reportMembers,
        parts: Type.Optional(
          Type.Array(Type.Object({ part, ...reportMembers }), {
            description: 'Of a store in several parts, each of which has a log of its own.',
          }),
        ),
      }),
    },
    async run(deps) {
      const { broken = null, parts, ...whole } = reportOfAll(await deps.auditLog.verify());
      const each = parts?.map(({ broken = null, part = '', ...one }) => ({ ...one, broken, part }));
      return { ...whole, broken, ...(each && { parts: each }) };
    },
  }),
};

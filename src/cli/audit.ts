import { once } from 'node:events';
import { knownAdministrators } from '../admin/audit/filter.ts';
import { idOf, namesIn } from '../admin/audit/names.ts';
import { nameOfPart } from '../audit/all-chains.ts';
import { type ExpectedHead, type LogReport, reportOfAll, textOfHead } from '../audit/audit-log.ts';
import type { Deps } from '../audit/deps.ts';
import {
  type AnyRecord,
  exportFormats,
  exportLogWithoutSealing,
  filterWarningOf,
  followLog,
  parseTime,
  readLogWithoutSealing,
} from '../audit/read-log.ts';
import type { AuditFilter } from '../audit/statements.ts';
import { type AddressQuery, addressQuery } from '../platform/ip-address.ts';
import { list, table, time } from '../platform/report.ts';
import { command, type Terminal, UsageError } from './command.ts';

const filters = {
  action: { value: 'action', help: 'only this action, such as client.approved, or all of one kind, such as client' },
  actor: { value: 'actor', help: 'only events caused by user:<id>, client:<id>, service:<id>, cli or system' },
  target: { value: 'id', help: 'only events about the user, client or other object with this ID' },
  about: { value: 'id', help: 'only events caused by or about the user, client or service credential with this ID' },
  request: { value: 'id', help: 'only events of the request with this ID, as in x-request-id and in the log' },
  address: {
    value: 'ip',
    help: 'only events of requests from this IP address, or from those that begin so: 203.0.113.',
  },
  'changes-by': {
    oneOf: ['administrators'],
    help: 'only what administrators and commands have changed, apart from their own accounts and clients',
  },
  since: { value: 'time', help: 'from this day or time on: 2027-01-31 or 2027-01-31T08:00 (UTC)' },
  until: { value: 'time', help: 'up to this time, or to the end of this day' },
} as const;
type Filters = { [Name in keyof typeof filters]: string | undefined };

export const auditCommands = {
  'audit list': command({
    onlyShows: true,
    summary: 'List the events of the audit log, newest first. With --follow, prints new events as they happen.',
    options: {
      ...filters,
      limit: { value: 'n', integer: [1, 10_000], help: 'maximum number of events', default: 50 },
      follow: { help: 'oldest first, then each new event until interrupted; with --json one event per line' },
    },
    async run(deps, { limit = 50, follow, ...given }, { stdout }, json) {
      const filter = await filterOf(deps, given);
      if (follow) return printFollowed(deps, filter, limit, { stdout, json });
      const events = await readLogWithoutSealing(deps, filter, limit);
      if (events.length === 0) {
        const warning = await filterWarningOf(deps, filter);
        return { json: { events }, text: `No events match the filter.${warning ? ` ${filterHints[warning]}` : ''}` };
      }
      return { json: { events }, text: list([headings, ...(await linesOf(deps, events))]) };
    },
  }),
  'audit export': command({
    summary: 'Export the audit log, newest first. Prints to standard output; redirect it to a file.',
    options: { ...filters, format: { oneOf: exportFormats, help: 'file format', default: 'jsonl' } },
    async run(deps, { format = 'jsonl', ...given }, { stdout }) {
      for await (const text of exportLogWithoutSealing(deps, await filterOf(deps, given), format)) {
        if (!stdout.write(text)) await once(stdout, 'drain'); // no more than a page in memory
      }
      return undefined;
    },
  }),
  'audit verify': command({
    summary: 'Verify the audit log. Exits with 1 if an event was changed or removed.',
    options: {
      expect: {
        value: 'seq:seal',
        help: 'an event that must be in the log unchanged: the newest one, as an earlier check or the server log printed it',
      },
    },
    async run(deps, { expect }) {
      const reports = await deps.auditLog.verify(readExpected(deps, expect));
      const whole = reportOfAll(reports);
      const text = reports.map((report) => describe(deps, report)).join('\n\n');
      return { json: whole, text, failed: whole.broken !== undefined };
    },
  }),
  'audit accept-loss': command({
    summary:
      'Accept that the end of the audit log is lost, for example after restoring a backup. Sealing then continues after the last remaining event.',
    confirm: 'Events after the last remaining one are given up. It cannot be undone.',
    options: { reason: { value: 'text', help: 'what happened; recorded in the audit log', required: true } },
    async run(deps, { reason }) {
      const accepted = await deps.auditLog.acceptLoss({ actor: 'cli' }, reason);
      const [first] = accepted;
      return {
        json: { ...first, ...(first?.part !== undefined && { parts: accepted }) },
        text: `Acknowledged. ${accepted.map(({ part, head }) => `The log${part === undefined ? '' : ` of ${part}`} continues after event ${head.seq}`).join('. ')}; servers resume sealing within a minute.`,
      };
    },
  }),
};

function describe(deps: Pick<Deps, 'witness'>, report: LogReport[number]): string {
  const { part, verified, head, unsealed, set_back, broken, stopped } = report;
  const of = part === undefined ? '' : `${part}: `;
  if (broken) {
    const { path } = deps.witness.of(part === 'public' ? undefined : part);
    return `${of}The audit log is not intact: event ${broken.seq} ${whatIs[broken.why]}. Intact events before it: ${verified}.${stopped ? remedyFor(path, broken.why) : ''}`;
  }
  const waiting = unsealed > 0 ? ` Not sealed by the server yet: ${unsealed}.` : '';
  const { times, last_seq } = set_back;
  const setBack =
    times > 0
      ? `\n\nThe dates go back by more than ten minutes ${times === 1 ? 'once' : `${times} times`}, last at event ${last_seq}: a clock was set, or\nevents were written directly to the database.`
      : '';
  if (head.seq === 0) return `${of}No events are sealed yet.${waiting}`;
  return `${of}${verified} events are intact.${waiting}${setBack}\n\n  newest  ${textOfHead({ part, ...head })}\n\nStore this line outside the system: --expect checks whether a later log still contains it.`;
}

const headings = ['SEQ', 'WHEN', 'ACTION', 'ACTOR', 'TARGET', 'REASON', 'REQUEST'];

/** Until a signal, or until its reader has gone. */
async function printFollowed(
  deps: Pick<Deps, 'db'>,
  filter: AuditFilter,
  limit: number,
  { stdout, json }: Pick<Terminal, 'stdout'> & { json: boolean },
): Promise<undefined> {
  const ending = new AbortController();
  const end = () => ending.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  stdout.once('close', end);
  if (!json) stdout.write(`${table([headings])}\n`);
  try {
    for await (const events of followLog(deps, filter, { limit, signal: ending.signal })) {
      const text = json ? events.map((event) => JSON.stringify(event)).join('\n') : table(await linesOf(deps, events));
      if (!stdout.write(`${text}\n`)) await once(stdout, 'drain', { signal: ending.signal }).catch(end);
    }
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
    stdout.off('close', end);
  }
}

const remedyFor = (path: string, why: string) =>
  why === 'file'
    ? `\n\nThe server seals no events and sends no webhooks until ${path} is readable or removed.`
    : `\n\nThe server seals no events and sends no webhooks until you acknowledge this. A likely cause is a database restored\nfrom a backup, or a failover to a standby without the latest changes. Otherwise the log was truncated with\nwrite access to the database: keep a copy and investigate first. Then run: signet audit accept-loss --reason "..."`;

const filterHints = {
  action: 'No such action has been logged. Actions look like client.approved.',
  actor: 'That is not a valid actor. Use user:, client: or service: followed by an ID; cli; or system.',
  request: 'Events carry request IDs only with SIGNET_LOG_REQUESTS=on or with traces. Neither is set here.',
} as const;

const whatIs = {
  missing: 'is missing',
  altered: 'was altered',
  head: 'cannot be verified: the record of the newest event is missing or forged',
  file: 'cannot be verified: the file with the newest event outside the database cannot be read',
  unexpected: 'does not have the expected seal',
} as const;

function readExpected({ db }: Pick<Deps, 'db'>, value: string | undefined): ExpectedHead | undefined {
  if (value === undefined) return undefined;
  const [, part, seq, seal] = /^(?:(\w{1,63}):)?(\d{1,15}):([\w-]{43})$/.exec(value) ?? [];
  const isKnown = part === undefined || db.parts.some((one) => nameOfPart(db, one) === part);
  if (seq === undefined || seal === undefined || !isKnown)
    throw new UsageError('--expect requires <seq>:<seal> as printed by a check.');
  return { part, seq: Number(seq), seal };
}

/** Events whose names are read together. */
const namedAtOnce = 100;

/** Users by their addresses, which commands take, and the others by their names; an id stands where there is neither. */
async function linesOf(deps: Pick<Deps, 'db'>, events: readonly AnyRecord[]): Promise<string[][]> {
  const lines: string[][] = [];
  for (let at = 0; at < events.length; at += namedAtOnce) {
    const some = events.slice(at, at + namedAtOnce);
    const names = await namesIn(deps, some);
    const called = (id: string) => {
      const name = names.get(idOf(id));
      return name?.email ?? name?.name ?? id;
    };
    lines.push(...some.map((event) => line(event, called)));
  }
  return lines;
}

const line = (row: AnyRecord, called: (id: string) => string): string[] => [
  row.seq === null ? '-' : row.part === undefined ? String(row.seq) : `${row.part}:${row.seq}`,
  time(row.at),
  row.action,
  called(row.actor),
  row.target === null ? '-' : called(row.target),
  row.reason ?? '-',
  row.request_id ?? '-',
];

async function filterOf(
  deps: Pick<Deps, 'db'>,
  { since, until, request, address, 'changes-by': changesBy, ...same }: Filters,
): Promise<AuditFilter> {
  return {
    ...same,
    request_id: request,
    address: readAddress(address),
    administrators: changesBy === undefined ? undefined : await knownAdministrators(deps),
    since: readTime('since', since, 'first'),
    until: readTime('until', until, 'last'),
  };
}

function readAddress(text: string | undefined): AddressQuery | undefined {
  const address = text === undefined ? undefined : addressQuery(text);
  if (text === undefined || address) return address;
  throw new UsageError('--address requires an IP address, or its first numbers, such as 203.0.113.');
}

function readTime(name: string, text: string | undefined, edge: 'first' | 'last'): number | undefined {
  const at = text === undefined ? undefined : parseTime(text, edge);
  if (text === undefined || at !== undefined) return at;
  throw new UsageError(`--${name} requires a day such as 2027-01-31, or a time such as 2027-01-31T08:00:00Z.`);
}

import { once } from 'node:events';
import type { ExpectedHead } from '../audit/chain.ts';
import {
  type AnyRecord,
  exportFormats,
  exportLogWithoutSealing,
  filterWarningOf,
  parseTime,
  readLogWithoutSealing,
} from '../audit/read-log.ts';
import type { AuditFilter } from '../audit/store.ts';
import { listed, time } from '../platform/cli/report.ts';
import { command, UsageError } from './command.ts';

const filters = {
  action: { value: 'action', help: 'an action such as client.approved, or its first word' },
  actor: { value: 'actor', help: 'who did it: user:<id>, client:<id>, service:<id>, cli, system' },
  target: { value: 'id', help: 'the id of what it happened to' },
  since: { value: 'date', help: 'from a day such as 2027-01-31 on, or a time in it, UTC' },
  until: { value: 'date', help: 'up to such a day or time, that day included' },
} as const;
type Filters = { [Name in keyof typeof filters]: string | undefined };

export const auditCommands = {
  'audit list': command({
    summary: 'Shows the audit log, newest first.',
    options: { ...filters, limit: { value: 'n', integer: [1, 10_000], help: 'how many at most; 50 without it' } },
    async run(deps, { limit = 50, ...given }) {
      const filter = filterOf(given);
      const events = await readLogWithoutSealing(deps, filter, limit);
      if (events.length === 0) {
        const doubt = await filterWarningOf(deps, filter);
        return { json: { events }, text: `No event matches the filter.${doubt ? ` ${filterHints[doubt]}` : ''}` };
      }
      return listed('events', events, ['SEQ', 'WHEN', 'ACTION', 'ACTOR', 'TARGET', 'REASON'], line);
    },
  }),
  'audit export': command({
    summary: 'Prints the audit log, newest first, however long it is: redirect it to a file.',
    options: { ...filters, format: { oneOf: exportFormats, help: 'jsonl without it' } },
    async run(deps, { format = 'jsonl', ...given }, { stdout }) {
      for await (const text of exportLogWithoutSealing(deps, filterOf(given), format)) {
        if (!stdout.write(text)) await once(stdout, 'drain'); // no more than a page in memory
      }
      return undefined;
    },
  }),
  'audit verify': command({
    summary:
      'Proves that nothing in the audit log was changed or taken out, and changes nothing itself. Exit code 1 if something was.',
    options: {
      expect: { value: 'seq:seal', help: 'what an earlier check, or the log of the service, gave as the newest' },
    },
    async run(deps, { expect }) {
      const report = await deps.auditLog.verify(readExpected(expect));
      if (report.broken) {
        const { seq, why } = report.broken;
        return {
          json: report,
          text: `The audit log is not what it was: event ${seq} ${whatIs[why]}. Intact before it: ${report.verified}.${report.stopped ? remedyFor(deps.witness.path, why) : ''}`,
          failed: true,
        };
      }
      if (report.unsealed_late > 0) {
        const text = `${report.unsealed_late} events claim to be from long ago and were never sealed: somebody may have written them into the database.`;
        return { json: report, text, failed: true };
      }
      const { seq, seal } = report.head;
      const waiting = report.unsealed > 0 ? ` Waiting for the server to seal them: ${report.unsealed}.` : '';
      if (seq === 0) return { json: report, text: `No event is sealed yet.${waiting}` };
      return {
        json: report,
        text: `${report.verified} events, all intact.${waiting}\n\n  newest  ${seq}:${seal}\n\nKeep that line elsewhere: --expect finds out whether a later log still holds it.`,
      };
    },
  }),
  'audit accept-loss': command({
    summary:
      'Acknowledges that the end of the audit log is lost, as after a restore of a backup. Events are sealed again, after what is left.',
    options: { reason: { value: 'text', help: 'what happened; kept in the audit log', required: true } },
    async run(deps, { reason }) {
      const { lost, head } = await deps.auditLog.acceptLoss({ actor: 'cli' }, reason);
      return {
        json: { lost, head },
        text: `Acknowledged. The log goes on after event ${head.seq}; servers seal again within a minute.`,
      };
    },
  }),
};

const remedyFor = (path: string, why: 'file' | string) =>
  why === 'file'
    ? `\n\nThe server seals nothing and sends no webhooks until ${path} can be read, or is removed.`
    : `\n\nThe server seals nothing and sends no webhooks until you acknowledge this. If the database was restored from a\nbackup, or a standby took over that lacked the newest changes, that is why. If not, somebody who can write the database has cut the log: keep a copy of it and look into it\nfirst. Then: signet audit accept-loss --reason "..."`;

const filterHints = {
  action: 'No such action has been logged. Actions read like client.approved.',
  actor: 'That is no actor: it is user:, client: or service: with an id, or cli, or system.',
} as const;

const whatIs = {
  missing: 'is missing',
  altered: 'is altered',
  head: 'is not vouched for: the record of the newest one is gone or forged',
  file: 'is not vouched for: the file that keeps the newest one outside the database cannot be read',
  unexpected: 'has another seal than expected',
} as const;

function readExpected(value: string | undefined): ExpectedHead | undefined {
  if (value === undefined) return undefined;
  const [, seq, seal] = /^(\d{1,15}):([\w-]{43})$/.exec(value) ?? [];
  if (seq === undefined || seal === undefined) throw new UsageError('--expect takes <seq>:<seal>, as a check gave it.');
  return { seq: Number(seq), seal };
}

const line = (row: AnyRecord): string[] => [
  row.seq === null ? '-' : String(row.seq),
  time(row.at),
  row.action,
  row.actor,
  row.target ?? '-',
  row.reason ?? '-',
];

const filterOf = ({ since, until, ...same }: Filters): AuditFilter => ({
  ...same,
  since: readTime('since', since, 'first'),
  until: readTime('until', until, 'last'),
});

function readTime(name: string, text: string | undefined, edge: 'first' | 'last'): number | undefined {
  const at = text === undefined ? undefined : parseTime(text, edge);
  if (text !== undefined && at === undefined)
    throw new UsageError(`--${name} takes a day such as 2027-01-31, or 2027-01-31T08:00:00Z.`);
  return at;
}

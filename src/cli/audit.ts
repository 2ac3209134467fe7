import { once } from 'node:events';
import type { Expected } from '../audit/chain.ts';
import { type AuditRecord, exportFormats, exportLog, readLog, verifyLog } from '../audit/read-log.ts';
import type { AuditFilter } from '../audit/store.ts';
import { type Command, table, time, UsageError } from './command.ts';

const filters = {
  action: { type: 'string', help: 'an action such as client.approved, or its first word' },
  actor: { type: 'string', help: 'who did it: user:<id>, client:<id>, service:<id>, cli, system' },
  target: { type: 'string', help: 'the id of what it happened to' },
  since: { type: 'string', help: 'a date such as 2027-01-31, or a time with it' },
  until: { type: 'string', help: 'the same' },
} as const;

export const auditCommands: Record<string, Command> = {
  'audit list': {
    usage:
      'audit list [--action <action>] [--actor <actor>] [--target <id>] [--since <date>] [--until <date>] [--limit <n>]',
    summary: 'Shows the audit log, newest first.',
    options: { ...filters, limit: { type: 'string', help: 'how many at most; 50 without it' } },
    async run(deps, values) {
      const limit = values.limit === undefined ? 50 : Number(values.limit);
      if (!Number.isInteger(limit) || limit < 1 || limit > 10_000) throw new UsageError('--limit takes 1 to 10000.');
      const { events } = await readLog(deps, filterOf(values), limit);
      return {
        json: { events },
        text: table([['SEQ', 'WHEN', 'ACTION', 'ACTOR', 'TARGET', 'REASON'], ...events.map(line)]),
      };
    },
  },
  'audit export': {
    usage:
      'audit export [--format jsonl|csv] [--action <action>] [--actor <actor>] [--target <id>] [--since <date>] [--until <date>]',
    summary: 'Prints the audit log, newest first, however long it is: redirect it to a file.',
    options: { ...filters, format: { type: 'string', help: 'jsonl (default) or csv' } },
    async run(deps, values) {
      const format = exportFormats.find((one) => one === (values.format ?? 'jsonl'));
      if (!format) throw new UsageError('--format takes jsonl or csv.');
      for await (const text of exportLog(deps, filterOf(values), format)) {
        if (!process.stdout.write(text)) await once(process.stdout, 'drain'); // no more than a page in memory
      }
      return 'printed';
    },
  },
  'audit verify': {
    usage: 'audit verify [--expect <seq>:<seal>]',
    summary: 'Proves that nothing in the audit log was changed or taken out. Exit code 1 if something was.',
    options: {
      expect: { type: 'string', help: 'what an earlier check, or the log of the service, gave as the newest' },
    },
    async run(deps, values) {
      const report = await verifyLog(deps, readExpected(values.expect));
      if (report.broken) {
        const { seq, why } = report.broken;
        const intact = `The ${report.verified} events before it are intact.`;
        return {
          json: report,
          text: `The audit log is not what it was: event ${seq} ${whatIs[why]}. ${intact}`,
          failed: true,
        };
      }
      if (report.unsealed_late > 0) {
        const text = `${report.unsealed_late} events claim to be from long ago and were never sealed: somebody may have written them into the database.`;
        return { json: report, text, failed: true };
      }
      const { seq, seal } = report.head;
      return {
        json: report,
        text: `${report.verified} events, all intact.\n\n  newest  ${seq}:${seal}\n\nKeep that line elsewhere: --expect finds out whether a later log still holds it.`,
      };
    },
  },
};

const whatIs = {
  missing: 'is missing',
  altered: 'is altered',
  head: 'is not vouched for: the record of the newest one is gone or forged',
  unexpected: 'has another seal than expected',
} as const;

function readExpected(value: string | boolean | undefined): Expected | undefined {
  if (value === undefined) return undefined;
  const [, seq, seal] = /^(\d{1,15}):([\w-]{43})$/.exec(String(value)) ?? [];
  if (seq === undefined || seal === undefined) throw new UsageError('--expect takes <seq>:<seal>, as a check gave it.');
  return { seq: Number(seq), seal };
}

const line = (row: AuditRecord): string[] => [
  String(row.seq),
  time(row.at),
  row.action,
  row.actor,
  row.target ?? '-',
  row.reason ?? '-',
];

const filterOf = (values: Record<string, string | boolean | undefined>): AuditFilter => ({
  action: values.action as string | undefined,
  actor: values.actor as string | undefined,
  target: values.target as string | undefined,
  since: readDate('since', values.since),
  until: readDate('until', values.until),
});

function readDate(name: string, value: string | boolean | undefined): number | undefined {
  if (value === undefined) return undefined;
  const at = Date.parse(String(value));
  if (Number.isNaN(at)) throw new UsageError(`--${name} takes a date such as 2027-01-31.`);
  return Math.floor(at / 1000);
}

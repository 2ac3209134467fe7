import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import type { Caller } from '../audit/audit.ts';
import { pace } from '../platform/pace.ts';
import { type Adapter, type AdapterSettings, isMembers, withoutUndefined } from './adapters/adapter.ts';
import type { ImportDeps } from './deps.ts';
import { openImportFile } from './files/read-file.ts';
import { FileDamaged, type FileRecord } from './files/records.ts';
import { importUsers, type Outcome } from './import-users.ts';
import { type CheckedUser, type Omissions, type Problem, readUser } from './read-user.ts';

export type FileImport = {
  path: string;
  adapter: Adapter;
  settings: AdapterSettings;
  source: string;
  caller: Caller;
  omissions: Omissions;
  /** The id in the other product becomes the subject, of users whose `sub` the file does not say. */
  keepSubjects: boolean;
  dryRun: boolean;
  /** Gets a line of JSON for each user who was refused, or of whom something was left out. */
  reportPath: string;
};

export type Counts = {
  imported: number;
  unchanged: number;
  refused: number;
  /** Users who were imported without something that cannot be used here. */
  reduced: number;
  /** How many times each problem was found. */
  reasons: Record<string, number>;
};

export type Progress = Readonly<Counts> & { bytes: number; read: number };

/** Of changes in flight: the next is made while the disk flushes the one before. */
const concurrent = 2;
/** Users of one change, which holds the only lock of SQLite. */
const usersAtOnce = 100;
/** More different problems are counted as one. */
const maxReasons = 200;

type Located = { at: number; external_id?: string };

/**
 * Imports the users of a file, a slice at a time. What was imported stays if it ends early, and the same import again continues: it
 * finds the users who are there.
 * @throws {FileDamaged} for a file whose rest cannot be read.
 */
export async function importFile(
  deps: ImportDeps,
  given: FileImport,
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<Counts> {
  const file = await openImportFile(given.path, given.adapter.paths);
  const counts: Counts = { imported: 0, unchanged: 0, refused: 0, reduced: 0, reasons: {} };
  const report = openReport(given.reportPath, counts);
  const next = batchesOf(file.records);
  const work = async () => {
    const runSlice = pace.slices(usersAtOnce);
    let isLeft = true;
    while (isLeft) {
      isLeft = await runSlice(async (rows) => {
        const records = await next(rows);
        await importRecords(deps, given, records, { counts, report });
        return records.length > 0;
      });
      await report.drained();
      onProgress({ ...counts, bytes: file.bytes, read: file.read });
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrent }, work));
  } finally {
    await report.close();
  }
  if (counts.imported + counts.unchanged + counts.refused === 0) {
    throw new FileDamaged('There are no users in the file where the export of this product has them.');
  }
  return counts;
}

type Tally = { counts: Counts; report: ReturnType<typeof openReport> };

async function importRecords(deps: ImportDeps, given: FileImport, records: readonly FileRecord[], tally: Tally) {
  const users: CheckedUser[] = [];
  const located: (Located & { dropped: readonly Problem[] })[] = [];
  for (const record of records) {
    const { user, external_id, problems, dropped } = readRecord(deps, given, record);
    const { at } = record;
    if (!user) {
      tally.counts.refused += 1;
      tally.report.write({ at, external_id }, 'refused', problems);
      continue;
    }
    users.push(user);
    located.push({ at, external_id, dropped });
  }
  const outcomes = await importUsers(deps, given, users);
  for (const [place, outcome] of outcomes.entries()) note(located[place]!, outcome, tally);
}

function note(of: Located & { dropped: readonly Problem[] }, outcome: Outcome, { counts, report }: Tally): void {
  counts[outcome.status] += 1;
  if (outcome.status === 'refused') report.write(of, 'refused', outcome.problems);
  if (outcome.status !== 'imported') return;
  const dropped = [...of.dropped, ...outcome.dropped];
  if (dropped.length === 0) return;
  counts.reduced += 1;
  report.write(of, 'imported_without', dropped);
}

function readRecord(deps: ImportDeps, { adapter, settings, keepSubjects, omissions }: FileImport, record: FileRecord) {
  const refused = (message: string) => ({
    user: undefined,
    external_id: undefined,
    problems: [{ path: '', message }],
    dropped: [],
  });
  if ('problem' in record) return refused(record.problem);
  if (!isMembers(record.value)) return refused('Is not a JSON object.');
  const given = withoutUndefined(adapter.toUser(record.value, settings)) as { external_id?: unknown; sub?: unknown };
  const sub = given.sub ?? given.external_id;
  return readUser(deps, keepSubjects ? { ...given, sub } : given, omissions);
}

/** @returns a function that resolves to so many records as are asked for; to none at the end of the file. */
function batchesOf(records: AsyncIterable<readonly FileRecord[]>) {
  const pieces = records[Symbol.asyncIterator]();
  let waiting: FileRecord[] = [];
  let taken = 0;
  let turn: Promise<unknown> = Promise.resolve();

  async function take(rows: number): Promise<FileRecord[]> {
    while (waiting.length - taken < rows) {
      const { value, done } = await pieces.next();
      if (done) break;
      waiting = [...waiting.slice(taken), ...value];
      taken = 0;
    }
    const batch = waiting.slice(taken, taken + rows);
    taken += batch.length;
    return batch;
  }

  return (rows: number): Promise<FileRecord[]> => {
    const batch = turn.then(() => take(rows));
    turn = batch.catch(() => undefined);
    return batch;
  };
}

/** A new file, which its owner alone may read: it has the ids of users. */
function openReport(path: string, counts: Counts) {
  const stream = createWriteStream(path, { mode: 0o600 });
  const isDone = finished(stream);
  isDone.catch(() => undefined); // close() throws it
  let isFull = false;
  return {
    write({ at, external_id }: Located, outcome: 'refused' | 'imported_without', problems: readonly Problem[]): void {
      isFull = !stream.write(`${JSON.stringify({ at, external_id, outcome, problems })}\n`);
      for (const { path, message } of problems) {
        const reason = `${path.replaceAll(/\/\d+/g, '')}: ${message}`.replace(/^: /, '');
        const known = reason in counts.reasons || Object.keys(counts.reasons).length < maxReasons;
        const name = known ? reason : 'other problems';
        counts.reasons[name] = (counts.reasons[name] ?? 0) + 1;
      }
    },
    async drained(): Promise<void> {
      if (isFull && stream.writableNeedDrain) await Promise.race([once(stream, 'drain'), isDone]);
      isFull = false;
    },
    async close(): Promise<void> {
      stream.end();
      await isDone;
    },
  };
}

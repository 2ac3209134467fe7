import { type ImportDeps, type ReadingDeps, readingDeps } from './deps.ts';
import { type ImportFile, openImportFile } from './files/read-file.ts';
import { FileDamaged, type FileRecord } from './files/records.ts';
import { type Import, importUsers, type Outcome } from './import-users.ts';
import { type ExportReading, readExported, refusedReading } from './read-export.ts';
import type { CheckedUser, Problem, Reading } from './read-user.ts';
import { type ImportReport, openReport, type Place } from './report.ts';
import { turns } from './turns.ts';

export type FileImport = Import &
  ExportReading & {
    path: string;
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

/** One batch is read while the change of another is made. */
const workers = 2;

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
  try {
    return await importFrom(file, deps, given, onProgress);
  } finally {
    file.close();
  }
}

async function importFrom(
  file: ImportFile,
  deps: ImportDeps,
  given: FileImport,
  onProgress: (progress: Progress) => void,
): Promise<Counts> {
  const counts: Counts = { imported: 0, unchanged: 0, refused: 0, reduced: 0, reasons: {} };
  const report = await openReport(given.reportPath, counts.reasons);
  const next = batchesOf(file.records);
  const inTurn = turns();
  const work = async () => {
    for (;;) {
      const records = await next(inTurn.rows);
      if (records.length === 0) return;
      await importRecords(deps, given, records, { counts, report, inTurn });
      await report.drained();
      onProgress({ ...counts, bytes: file.bytes, read: file.read });
    }
  };
  try {
    await Promise.all(Array.from({ length: workers }, work));
  } finally {
    await report.close();
  }
  if (counts.imported + counts.unchanged + counts.refused === 0) {
    throw new FileDamaged('There are no users in the file where the export of this product has them.');
  }
  return counts;
}

type Tally = { counts: Counts; report: ImportReport; inTurn: ReturnType<typeof turns> };

async function importRecords(deps: ImportDeps, given: FileImport, records: readonly FileRecord[], tally: Tally) {
  const reading = await readingDeps(deps);
  const users: CheckedUser[] = [];
  const located: (Place & { dropped: readonly Problem[] })[] = [];
  for (const record of records) {
    const { user, external_id, problems, dropped } = readRecord(reading, given, record);
    const { at } = record;
    if (!user) {
      tally.counts.refused += 1;
      tally.report.write({ at, external_id }, 'refused', problems);
      continue;
    }
    users.push(user);
    located.push({ at, external_id, dropped });
  }
  const outcomes = await tally.inTurn.run(() => importUsers(deps, given, users));
  for (const [place, outcome] of outcomes.entries()) note(located[place]!, outcome, tally);
}

function note(of: Place & { dropped: readonly Problem[] }, outcome: Outcome, { counts, report }: Tally): void {
  counts[outcome.status] += 1;
  if (outcome.status === 'refused') report.write(of, 'refused', outcome.problems);
  if (outcome.status !== 'imported') return;
  const dropped = [...of.dropped, ...outcome.dropped];
  if (dropped.length === 0) return;
  counts.reduced += 1;
  report.write(of, 'imported_without', dropped);
}

const readRecord = (deps: ReadingDeps, given: FileImport, record: FileRecord): Reading =>
  'problem' in record ? refusedReading(record.problem) : readExported(deps, given, record.value);

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

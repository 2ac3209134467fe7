import type { Omissions, Problem } from '../imports/read-user.ts';
import { openReport } from '../imports/report.ts';
import { turns } from '../imports/turns.ts';
import type { TransferDeps } from './deps.ts';
import type { Header } from './format.ts';
import { type Importing, importBatch, type RecordOutcome } from './import-batch.ts';
import { importUserBatch } from './import-user-batch.ts';
import type { Kind } from './kinds/kind.ts';
import { type RecordOfFile, readTransfer } from './read-transfer.ts';

export type TransferOptions = Omit<Importing, 'source' | 'trial'> & {
  omissions: Omissions;
  /** Gets a line of JSON for each record that was refused or left out, or of which something was. */
  reportPath: string;
  /** The file need not be what was exported. */
  isEdited: boolean;
};

type Sums = { imported: number; unchanged: number; left_out: number; refused: number };
export type TransferCounts = Sums & {
  /** Records that were imported without something that cannot be used here. */
  reduced: number;
  kinds: Record<string, Sums>;
  /** How many times each problem was found. */
  reasons: Record<string, number>;
};

/**
 * Reads a file as a whole, and changes nothing.
 * @throws {FileDamaged} for one that cannot be imported.
 */
export async function checkTransfer(chunks: AsyncIterable<Uint8Array>, isEdited: boolean): Promise<Header> {
  const reading: { header?: Header; isEdited: boolean } = { isEdited };
  for await (const _ of readTransfer(chunks, reading)); // the records are checked once they are stored
  return reading.header!;
}

/**
 * Imports the records of an export, a slice at a time. What was imported stays if it ends early, and the same import again continues: it
 * finds the records that it has had.
 * @param onProgress is called after each slice.
 * @throws {FileDamaged} for a file whose rest cannot be read.
 */
export async function importTransfer(
  deps: TransferDeps,
  chunks: AsyncIterable<Uint8Array>,
  { omissions, reportPath, isEdited, ...options }: TransferOptions,
  onProgress: (counts: TransferCounts) => void = () => undefined,
): Promise<TransferCounts> {
  const none = (): Sums => ({ imported: 0, unchanged: 0, left_out: 0, refused: 0 });
  const counts: TransferCounts = { ...none(), reduced: 0, kinds: {}, reasons: {} };
  const reading: { header?: Header; isEdited: boolean } = { isEdited };
  const report = await openReport(reportPath, counts.reasons);
  const inTurn = turns();
  const trial = { stored: new Set<string>(), refusedUsers: new Set<string>(), attributes: [] };

  function note(kind: Kind, { at, record }: RecordOfFile, outcome: RecordOutcome): void {
    const ofKind = counts.kinds[kind.name] ?? none();
    counts.kinds[kind.name] = ofKind;
    counts[outcome.status] += 1;
    ofKind[outcome.status] += 1;
    const place = { at, kind: kind.name, id: kind.idOf(record).slice(0, 600).replaceAll('\n', ' ') };
    const problems: readonly Problem[] = 'problems' in outcome ? outcome.problems : [];
    if (outcome.status === 'refused' || outcome.status === 'left_out') report.write(place, outcome.status, problems);
    if (outcome.status !== 'imported' || outcome.dropped.length === 0) return;
    counts.reduced += 1;
    report.write(place, 'imported_without', outcome.dropped);
  }

  async function importSlice(slice: readonly RecordOfFile[]): Promise<void> {
    const { kind } = slice[0]!;
    const importing: Importing = { ...options, trial, source: reading.header!.issuer };
    const records = slice.map(({ record }) => record);
    const outcomes = await inTurn.run(() =>
      kind.stored
        ? importBatch(deps, importing, kind, records)
        : importUserBatch(deps, { ...importing, omissions }, records),
    );
    for (const [index, outcome] of outcomes.entries()) note(kind, slice[index]!, outcome);
    await report.drained();
    onProgress(counts);
  }

  try {
    for await (const records of readTransfer(chunks, reading)) {
      for (let first = 0; first < records.length; ) {
        const slice = records.slice(first, first + inTurn.rows);
        first += slice.length;
        await importSlice(slice);
      }
    }
  } finally {
    await report.close();
  }
  return counts;
}

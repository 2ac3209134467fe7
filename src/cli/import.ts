import type { Readable } from 'node:stream';
import { FileDamaged } from '../imports/files/records.ts';
import { invalidRequest } from '../platform/errors.ts';
import { table } from '../platform/report.ts';
import type { TransferDeps } from '../transfer/deps.ts';
import type { TransferCounts, TransferOptions } from '../transfer/import-transfer.ts';
import { command, UsageError } from './command.ts';
import { openProgress } from './import-progress.ts';
import { members, setOf } from './import-users.ts';

const standardInput = '-';

export const importStoreCommand = {
  import: command({
    summary:
      'Import what signet export has written, into a new Signet or one that is in use. The same command again continues an import that ended early. Exits with 1 if a record was refused.',
    operands: { file: { value: 'file' } },
    options: {
      identity: { value: 'file', help: 'the secret key (age) of an encrypted file, as age-keygen writes it' },
      roles: {
        help: 'import what gives power over others, too: roles, service credentials that administer, and providers; only for a file of your own',
      },
      'drop-unusable': members('leaves this of a user out where it cannot be used here, instead of refusing the user'),
      edited: { help: 'the file was changed after the export, on purpose' },
      report: {
        value: 'file',
        help: 'where each refused record is listed; by default <file>.report.jsonl, or import.report.jsonl',
      },
      'dry-run': { help: 'say what would be imported, and change nothing' },
    },
    async run(deps, { file, identity, roles, edited, report, ...given }, { stderr, stdin }) {
      const dryRun = given['dry-run'];
      if (file === standardInput && identity !== undefined)
        throw new UsageError('--identity takes a file; on standard input, let age decrypt it.');
      const reportPath = report ?? (file === standardInput ? 'import.report.jsonl' : `${file}.report.jsonl`);
      const omissions = { without: new Set<never>(), dropUnusable: setOf(given['drop-unusable']) };
      const options = { caller: { actor: 'cli' }, roles, dryRun, omissions, reportPath, isEdited: edited } as const;
      const progress = openProgress(stderr, deps.clock);
      try {
        const counts =
          file === standardInput
            ? await importStream(deps, stdin, options)
            : await importFile(deps, { file, identity }, options, progress.show);
        const json = { ...counts, dry_run: dryRun, report: reportPath };
        return { json, text: describe(counts, { reportPath, dryRun, roles }), failed: counts.refused > 0 };
      } finally {
        progress.end();
      }
    },
  }),
};

/** The file is read as a whole before anything is changed. */
async function importFile(
  deps: TransferDeps,
  { file, identity }: { file: string; identity: string | undefined },
  options: TransferOptions,
  onProgress: ReturnType<typeof openProgress>['show'],
): Promise<TransferCounts> {
  const { checkTransfer, importTransfer } = await import('../transfer/import-transfer.ts');
  const { openTransferFile } = await import('../transfer/open-file.ts');
  const source = await openTransferFile(file, identity);
  try {
    await checkTransfer(source.chunks(), options.isEdited).catch(refuse('Nothing was changed.'));
    const show = (counts: TransferCounts) => onProgress({ ...counts, bytes: source.bytes, read: source.read });
    return await importTransfer(deps, source.chunks(), options, show).catch(refuse(whatStays));
  } finally {
    await source.close();
  }
}

async function importStream(deps: TransferDeps, stdin: Readable, options: TransferOptions): Promise<TransferCounts> {
  const { importTransfer } = await import('../transfer/import-transfer.ts');
  return importTransfer(deps, piecesOf(stdin), options).catch(refuse(whatStays));
}

async function* piecesOf(stdin: Readable): AsyncGenerator<Uint8Array> {
  for await (const piece of stdin) yield Buffer.from(piece);
}

const whatStays = 'What was read before is imported; repeat the command with the whole file.';

const refuse =
  (consequence: string) =>
  (error: unknown): never => {
    if (!(error instanceof FileDamaged)) throw error;
    throw invalidRequest(`${error.message} ${consequence}`, error);
  };

function describe(
  counts: TransferCounts,
  { reportPath, dryRun, roles }: { reportPath: string; dryRun: boolean; roles: boolean },
): string {
  const number = (count: number) => count.toLocaleString('en');
  const { imported, unchanged, left_out, refused, reduced, reasons } = counts;
  const rows = Object.entries(counts.kinds).map(([kind, of]) => [
    kind,
    number(of.imported),
    number(of.unchanged),
    number(of.left_out),
    number(of.refused),
  ]);
  const most = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  return [
    ...(rows.length > 0 ? [table([['', 'imported', 'unchanged', 'left out', 'refused'], ...rows]), ''] : []),
    `${number(imported)} ${dryRun ? 'would be imported' : 'imported'}, ${number(unchanged)} unchanged, ${number(left_out)} left out, ${number(refused)} refused.`,
    reduced > 0 && `${number(reduced)} of the imported lack something that cannot be used here.`,
    ...most.slice(0, 20).map(([reason, count]) => `  ${number(count).padStart(9)}  ${reason}`),
    refused + reduced + left_out > 0 && `Each is listed in ${reportPath}`,
    left_out > 0 && !roles && 'What gives power over others is imported by the same command with --roles.',
  ]
    .filter((line) => line !== false)
    .join('\n');
}

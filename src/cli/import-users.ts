import { adapters, products } from '../imports/adapters/products.ts';
import { commonFirebaseHash, readFirebaseHash, readSource } from '../imports/choices.ts';
import { FileDamaged } from '../imports/files/records.ts';
import { type Member, optionalMembers } from '../imports/format.ts';
import { type Counts, importFile } from '../imports/import-file.ts';
import { invalidRequest } from '../platform/errors.ts';
import { command, UsageError } from './command.ts';
import { openProgress } from './import-progress.ts';
import { requireFile } from './read-operand.ts';

export const members = (help: string) =>
  ({ value: 'member', help, separator: /[\s,]+/, oneOf: optionalMembers }) as const;

export const importCommand = {
  'users import': command({
    summary:
      'Import users from a file: JSON Lines of our own format, or the export of another product. The same command again continues an import that ended early. Exits with 1 if a user was refused.',
    operands: { file: { value: 'file' } },
    options: {
      from: { value: 'product', oneOf: products, help: 'whose export the file is', default: 'signet' },
      source: { value: 'name', help: 'remembers the IDs of the file under this name; by default that of the product' },
      'rp-id': {
        value: 'host',
        help: 'the RP ID of the passkeys in the file, of products whose export does not say it',
      },
      'firebase-hash': {
        value: 'parameters',
        help: 'memory cost, rounds and salt separator of the Firebase project',
        default: commonFirebaseHash,
      },
      'keep-subjects': { help: 'the ID of a user in the file becomes the user_id here, which apps receive as sub' },
      without: members('imports no user with this'),
      'drop-unusable': members('leaves this out where it cannot be used here, instead of refusing the user'),
      report: { value: 'file', help: 'where each refused user is listed; by default <file>.report.jsonl' },
      'dry-run': { help: 'say what would be imported, and change nothing' },
    },
    async run(deps, { file, from = 'signet', source = from, report, ...given }, { stderr }) {
      await requireFile(file);
      const progress = openProgress(stderr, deps.clock);
      const reportPath = report ?? `${file}.report.jsonl`;
      try {
        const counts = await importFile(
          deps,
          {
            path: file,
            adapter: adapters[from],
            settings: { rpId: given['rp-id'] ?? '', firebaseHash: readFirebaseHash(given['firebase-hash']) },
            source: readSource(source),
            caller: { actor: 'cli' },
            omissions: { without: setOf(given.without), dropUnusable: setOf(given['drop-unusable']) },
            keepSubjects: given['keep-subjects'],
            dryRun: given['dry-run'],
            reportPath,
          },
          progress.show,
        );
        progress.end();
        const json = { ...counts, dry_run: given['dry-run'], report: reportPath };
        return { json, text: describe(counts, { reportPath, dryRun: given['dry-run'] }), failed: counts.refused > 0 };
      } catch (error) {
        progress.end();
        if (!(error instanceof FileDamaged)) throw error;
        throw invalidRequest(
          `${error.message} What was read before is imported; mend the file and repeat the command.`,
        );
      }
    },
  }),
};

/** Every value was compared with `oneOf`, or is refused here. */
export function setOf(typed: readonly string[] | undefined): ReadonlySet<Member> {
  const unknown = typed?.find((name) => !optionalMembers.some((member) => member === name));
  if (unknown !== undefined) throw new UsageError(`No user can do without this member: ${unknown.slice(0, 40)}.`);
  return new Set(typed as readonly Member[] | undefined);
}

function describe(counts: Counts, { reportPath, dryRun }: { reportPath: string; dryRun: boolean }): string {
  const { imported, unchanged, refused, reduced, reasons } = counts;
  const number = (count: number) => count.toLocaleString('en');
  const most = Object.entries(reasons).sort(([, one], [, other]) => other - one);
  return [
    `${number(imported)} ${dryRun ? 'would be imported' : 'imported'}, ${number(unchanged)} unchanged, ${number(refused)} refused.`,
    reduced > 0 && `${number(reduced)} of the imported lack something that cannot be used here.`,
    ...most.slice(0, 20).map(([reason, count]) => `  ${number(count).padStart(9)}  ${reason}`),
    (refused > 0 || reduced > 0) && `Each is listed in ${reportPath}`,
  ]
    .filter(Boolean)
    .join('\n');
}

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * The files that a run in cells leaves to `npm test` and `npm run test:long`, since they would be the same there, by why. A test holds them to it.
 * Within the others, a test skips what a store in cells does not have, and says so.
 */
export const notInCells: Readonly<Record<string, readonly string[]>> = {
  'their servers are on SQLite, whatever the run says': [
    'src/platform/db/sqlite-log.test.ts',
    'src/platform/db/sqlite.test.ts',
    'test/operations/crash-images.test.ts',
    'test/operations/disks.test.ts',
    'test/operations/exceptions.test.ts',
    'test/operations/moved-folder.test.ts',
    'test/operations/power-loss.test.ts',
    'test/operations/slow-clients.test.ts',
    'test/operations/stopping.test.ts',
    'test/operations/unread-log.test.ts',
  ],
  'they start servers with cells, or a standby, of their own': [
    'test/operations/cells.test.ts',
    'test/operations/failover.test.ts',
    'test/operations/lists-of-lost-cells.test.ts',
    'test/operations/lost-cells.test.ts',
  ],
};

const root = join(import.meta.dirname, '../..');
const known = new Map<string, readonly string[]>();

/** Files of the kit, of scripts and of benches that a file imports. */
function importsOf(file: string): readonly string[] {
  const found = known.get(file);
  if (found) return found;
  const text = readFileSync(join(root, file), 'utf8');
  const paths = [...text.matchAll(/(?:from |import\(|^import )'(\.[^']+\.ts)'/gm)].map(([, path = '']) =>
    relative(root, join(root, dirname(file), path)),
  );
  const imports = paths.filter((path) => /^(?:test|scripts|bench)\//.test(path) && existsSync(join(root, path)));
  known.set(file, imports);
  return imports;
}

/** Whether a test file can open a store that the run chooses: those that cannot have nothing that could be in cells. */
export function mayOpenStore(file: string): boolean {
  const seen = new Set([file]);
  for (const one of seen) for (const imported of importsOf(one)) seen.add(imported);
  return seen.has('test/support/databases.ts');
}

/** Divides the files of a run in cells into those that it runs, and those that it leaves out, by why. */
export function filesInCells(files: readonly string[]): { run: string[]; leftOut: Record<string, readonly string[]> } {
  const storeless = files.filter((file) => !mayOpenStore(file));
  const leftOut = { ...notInCells, 'they open no store': storeless };
  const all = new Set(Object.values(leftOut).flat());
  return { run: files.filter((file) => !all.has(file)), leftOut };
}

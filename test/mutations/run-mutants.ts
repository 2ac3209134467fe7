import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type FileRun, runFile } from '../support/run-file.ts';
import { scratchFolder } from '../support/scratch.ts';

/** A test file, and the beginnings of the names of those of its tests that are run; else all are. */
export type Tests = { file: string; names?: readonly string[] };

export type Mutant = {
  name: string;
  /** What it breaks: the beginning of a promise in docs/reliability.md, or a requirement of docs/security-requirements.md. */
  breaks: string;
  file: string;
  /** Stands in the file once. */
  text: string;
  instead: string;
  /** At least one of them must fail. */
  tests: readonly Tests[];
};

export type Verdict = {
  mutant: Mutant;
  /** `gone`: its text is not in the file, or more than once. `unfounded`: its tests fail without it, or there are none. */
  is: 'killed' | 'hung' | 'survived' | 'gone' | 'unfounded';
  /** The test that failed, or was under way. */
  by: string;
  seconds: number;
};

export type Circumstances = {
  root: string;
  /** Of silence in a test, in milliseconds. */
  patienceMs: number;
  /** How many are tried at a time, each in a copy of its own. */
  jobs: number;
  onVerdict(verdict: Verdict): void;
};

const sharedStores = ['TEST_POSTGRES_URL', 'TEST_SQLITE_TEMPLATE'];

/** What a copy of the tree does without. */
const left = new Set(['node_modules', '.git', 'dist', 'data']);

/** A copy of the tree with the same packages. Times of files are kept: the server then starts as fast as in the tree. */
async function copyTree(root: string): Promise<string> {
  const parent = await scratchFolder('mutants');
  chmodSync(parent, 0o711); // a test starts the program as another user
  const folder = join(parent, 'tree');
  mkdirSync(folder);
  const filter = (path: string) => path === root || !left.has(basename(path));
  cpSync(root, folder, { recursive: true, filter, preserveTimestamps: true, verbatimSymlinks: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

export const occurrences = (text: string, part: string): number => text.split(part).length - 1;

/** Tries each mutant in a copy of the tree, which itself is only read. */
export async function runMutants(mutants: readonly Mutant[], circumstances: Circumstances): Promise<Verdict[]> {
  const { root, jobs, onVerdict } = circumstances;
  const waiting = mutants.values();
  const verdicts: Verdict[] = [];
  /** Of the tests without any mutant, by what they are. */
  const unmutated = new Map<string, Promise<FileRun>>();
  const work = async () => {
    const tree = await copyTree(root);
    try {
      for (const mutant of waiting) {
        const verdict = await tryMutant(mutant, tree, unmutated, circumstances);
        verdicts.push(verdict);
        onVerdict(verdict);
      }
    } finally {
      await rm(join(tree, '..'), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  };
  await Promise.all(Array.from({ length: Math.min(jobs, mutants.length) }, work));
  return verdicts;
}

async function tryMutant(
  mutant: Mutant,
  tree: string,
  unmutated: Map<string, Promise<FileRun>>,
  { patienceMs }: Circumstances,
): Promise<Verdict> {
  const startedAt = performance.now();
  const verdict = (is: Verdict['is'], by = ''): Verdict => ({
    mutant,
    is,
    by,
    seconds: (performance.now() - startedAt) / 1000,
  });
  // What waits for what never comes says so before its silence is taken for a hang.
  const env: NodeJS.ProcessEnv = { ...process.env, TEST_PATIENCE: String(patienceMs / 4000) };
  // The stores that the tests of a run share were made by the migrations of the tree.
  if (mutant.file.endsWith('.sql')) for (const shared of sharedStores) delete env[shared];
  const run = ({ file, names }: Tests) => runFile(file, { cwd: tree, env, names, patienceMs, stderr: 'ignore' });
  const path = join(tree, mutant.file);
  const original = readFileSync(path, 'utf8');
  if (occurrences(original, mutant.text) !== 1) return verdict('gone');
  for (const tests of mutant.tests) {
    const { passed, failed, why, hung } = await unmutated.getOrInsertComputed(
      JSON.stringify([tests, env.TEST_POSTGRES_URL]),
      () => run(tests),
    );
    if (passed === 0 || failed.length > 0 || hung !== undefined) {
      const fault = failed[0] === undefined ? (hung ?? 'no such test') : `${failed[0]}: ${why}`;
      return verdict('unfounded', `${tests.file}: ${fault}`);
    }
  }
  writeFileSync(
    path,
    original.replace(mutant.text, () => mutant.instead),
  );
  try {
    for (const tests of mutant.tests) {
      const { failed, hung } = await run(tests);
      if (failed.length > 0) return verdict('killed', `${tests.file}: ${failed[0]}`);
      if (hung !== undefined) return verdict('hung', `${tests.file}: ${hung}`);
    }
    return verdict('survived');
  } finally {
    writeFileSync(path, original);
  }
}

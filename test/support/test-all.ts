/**
 * `npm test`: the test files, and some in a store of eight cells, too, without those that take long; these with `--long`. With `--cells` all
 * of them that can differ there, on PostgreSQL alone, in a store of eight cells. Or those that are named.
 *
 * Loading Signet and its libraries takes a process as long as the tests of a small file take. Node gives each file a
 * process of its own; here several files share one, one after the other, which halves the time of a run.
 */
import { globSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { globalSetup, globalTeardown } from './global-setup.ts';
import { inCells } from './in-cells.ts';
import { longTests } from './long-tests.ts';
import { filesInCells } from './not-in-cells.ts';
import { scratchFolder } from './scratch.ts';
import { watchForSilence } from './watch-for-silence.ts';

/** Four on two cores: a test waits now and then for a browser, a database or another process. */
const concurrency = 4;
/** Few, since loading costs each of them half a second. */
const processes = 14;
/** So many of them get less and less to do: while the last one works alone, a core is idle. */
const shorter = 6;
const execArgv = ['--import', new URL('untracked-promises.ts', import.meta.url).href];

/**
 * How long files take for their size, as measured: where a browser or server processes work for them, longer; without a
 * server, shorter. The files with a browser share three processes, and so three browsers.
 */
const folders: readonly { path: string; weight: number; processes?: number }[] = [
  { path: 'test/browser/', weight: 5, processes: 3 },
  { path: 'test/operations/', weight: 2.5 },
  { path: 'src/', weight: 0.3 },
  { path: 'packages/', weight: 0.6 },
];

/** Deals the files out, the longest first, each where the least waits. @returns a module for each process. */
async function dealOut(files: string[]): Promise<string[]> {
  const folder = await scratchFolder('test-all');
  const jobs = files.map((file) => {
    const { weight = 1, processes: among = processes } = folders.find(({ path }) => file.startsWith(path)) ?? {};
    return { file, work: statSync(file).size * weight, among };
  });
  const hands = Array.from({ length: Math.min(processes, files.length) }, (_, place) => ({
    files: [] as string[],
    work: 0,
    share: Math.min(1, (processes - place) / shorter),
  }));
  for (const { file, work, among } of jobs.sort((a, b) => b.work - a.work)) {
    const fill = (hand: (typeof hands)[number]) => (hand.work + work) / hand.share;
    const hand = hands.slice(0, among).reduce((least, one) => (fill(one) < fill(least) ? one : least));
    hand.files.push(file);
    hand.work += work;
  }
  const dealt = hands.filter((hand) => hand.files.length > 0).sort((a, b) => b.work - a.work);
  return Promise.all(dealt.map((hand, number) => moduleOf(join(folder, `${number}.mjs`), hand.files)));
}

async function moduleOf(path: string, files: readonly string[]): Promise<string> {
  await writeFile(path, files.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};\n`).join(''));
  return path;
}

/** A line of our log at the level `error` or above. */
const errorLine = /^\{"level":[56]0,.*$/m;

type RunOptions = NonNullable<Parameters<typeof run>[0]>;
type Run = { modules: string[]; only?: readonly string[]; env?: RunOptions['env'] };

/** @param write gets what the terminal is to show. @returns whether all has passed, and all of `only` was there. */
async function runTests({ modules, only, env }: Run, write: (text: string) => void): Promise<boolean> {
  let passed = false;
  let quiet = true;
  const missing = new Set(only);
  async function* watched(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
    for await (const event of events) {
      // Whatever a test expects to be logged it reads itself. What reaches the terminal was not expected.
      if (event.type === 'test:stdout' || event.type === 'test:stderr') quiet &&= !errorLine.test(event.data.message);
      if (event.type === 'test:summary' && event.data.file === undefined) passed = event.data.success;
      if (event.type === 'test:pass') missing.delete(event.data.name);
      yield event;
    }
  }
  const abort = new AbortController();
  const { signal } = abort;
  const testNamePatterns = only?.map((name) => new RegExp(`^${RegExp.escape(name)}$`));
  const options = { execArgv, concurrency, signal, timeout: Infinity, ...(env && { env }) };
  const events = run({ files: modules, ...options, ...(testNamePatterns && { testNamePatterns }) });
  const told = watched(watchForSilence(events, abort));
  for await (const text of Readable.from(told).compose(new Spec())) write(String(text));
  if (!quiet) write('An error was logged that no test expected; it is printed above, with "level":50 or 60.\n');
  for (const name of missing) write(`This is no test, or it failed: ${name}\n`);
  return passed && quiet && missing.size === 0;
}

/** Some tests once more, in a store of cells. */
async function runInCells(write: (text: string) => void): Promise<boolean> {
  const module = await moduleOf(join(await scratchFolder('in-cells'), 'all.mjs'), Object.keys(inCells));
  const only = Object.values(inCells).flatMap((names) => names.map((name) => `${name} (postgres)`));
  return runTests({ modules: [module], only, env: { ...process.env, TEST_CELLS: cells } }, write);
}

type Kind = 'short' | 'long' | 'cells';

/** @returns every file of a kind. */
function filesOf(kind: Kind): string[] {
  const files = globSync(['{src,test}/**/*.test.ts', 'packages/*/test/**/*.test.ts']);
  const long = Object.values(longTests).flat();
  const missing = long.filter((file) => !files.includes(file));
  if (missing.length > 0) throw new Error(`test/support/long-tests.ts names what is not there: ${missing.join(', ')}`);
  if (kind !== 'cells') return files.filter((file) => long.includes(file) === (kind === 'long'));
  const { run, leftOut } = filesInCells(files);
  for (const [why, some] of Object.entries(leftOut)) {
    console.log(`${some.length} files are left to npm test and npm run test:long, since ${why}.`);
  }
  return run;
}

async function testAll(kind: Kind, named: string[]): Promise<boolean> {
  const files = named.length > 0 ? named : filesOf(kind);
  const isWhole = named.length === 0 && kind === 'short' && !process.env.TEST_CELLS;
  await globalSetup();
  try {
    const texts = ['\nIn a store of eight cells:\n'];
    const areWell = await Promise.all([
      runTests({ modules: await dealOut(files) }, (text) => process.stdout.write(text)),
      isWhole ? runInCells((text) => texts.push(text)) : true,
    ]);
    if (isWhole) process.stdout.write(texts.join(''));
    return !areWell.includes(false);
  } finally {
    await globalTeardown();
  }
}

const cells = '8';
const { values, positionals } = parseArgs({
  options: { cells: { type: 'boolean' }, long: { type: 'boolean' } },
  allowPositionals: true,
});
if (values.cells) process.env.TEST_CELLS = cells;
process.exitCode = (await testAll(values.cells ? 'cells' : values.long ? 'long' : 'short', positionals)) ? 0 : 1;

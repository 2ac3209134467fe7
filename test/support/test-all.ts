/**
 * `npm test`: every test file, or those that are named.
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
import { globalSetup, globalTeardown } from './global-setup.ts';
import { scratchFolder } from './scratch.ts';

/** Four on two cores: a test waits now and then for a browser, a database or another process. */
const concurrency = 4;
/** Few enough to share, and enough that the last processes to finish are short ones. */
const processes = 24;
const execArgv = ['--import', new URL('untracked-promises.ts', import.meta.url).href];

/** Deals the files out by size, so that each process gets large and small ones. @returns a module for each process. */
async function dealOut(files: string[]): Promise<string[]> {
  const bySize = files.toSorted((a, b) => statSync(b).size - statSync(a).size);
  const folder = await scratchFolder('test-all');
  const hands = Array.from({ length: Math.min(processes, files.length) }, (_, hand) =>
    bySize.filter((_, place) => place % processes === hand),
  );
  return Promise.all(
    hands.map(async (hand, number) => {
      const path = join(folder, `${number}.mjs`);
      await writeFile(
        path,
        hand.map((file) => `import ${JSON.stringify(pathToFileURL(resolve(file)).href)};\n`).join(''),
      );
      return path;
    }),
  );
}

/** A line of our log at the level `error` or above. */
const errorLine = /^\{"level":[56]0,.*$/m;

async function testAll(named: string[]): Promise<boolean> {
  const files = named.length > 0 ? named : globSync(['{src,test}/**/*.test.ts', 'packages/*/test/**/*.test.ts']);
  let passed = false;
  let quiet = true;
  async function* watched(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
    for await (const event of events) {
      // Whatever a test expects to be logged it reads itself. What reaches the terminal was not expected.
      if (event.type === 'test:stdout' || event.type === 'test:stderr') quiet &&= !errorLine.test(event.data.message);
      if (event.type === 'test:summary' && event.data.file === undefined) passed = event.data.success;
      yield event;
    }
  }
  await globalSetup();
  try {
    const events = watched(run({ files: await dealOut(files), execArgv, concurrency, timeout: 600_000 }));
    for await (const text of Readable.from(events).compose(new Spec())) process.stdout.write(text);
  } finally {
    await globalTeardown();
  }
  if (!quiet) console.error('An error was logged that no test expected; it is printed above, with "level":50 or 60.');
  return passed && quiet;
}

process.exitCode = (await testAll(process.argv.slice(2))) ? 0 : 1;

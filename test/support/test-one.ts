/**
 * `npm run test:one -- FILE [NAME]` or `-- NAME`: one test file, or the cases whose names contain NAME, at any depth.
 *
 * Node's `--test-name-pattern` asks a parent before its children: the name of a nested case selects nothing, and a run of
 * nothing passes. Here a nested case is run with the set-up of its parent and without its neighbours, and a run of
 * nothing fails.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { globalSetup, globalTeardown } from './global-setup.ts';
import { watchForSilence } from './watch-for-silence.ts';

type Outcome = { ran: number; failed: number };
type Choice = { pattern?: RegExp; nested: boolean };
const everything: Choice = { nested: false };

const usage = `Usage: npm run test:one -- FILE [NAME]
       npm run test:one -- NAME
For example: npm run test:one -- test/oauth/refresh.test.ts "RT-03"`;

/** `onBothEngines` adds it to a name. */
const withoutEngine = (name: string): string => name.replace(/ \((sqlite|postgres)\)$/, '');

/** Which tests have to be run for the cases called `name`. What a name is put together from is not found here. */
function choose(source: string, name: string): Choice {
  const tests = [...source.matchAll(/^\w+\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gm)].map(({ 2: title = '', index }) => ({
    title: title.replace(/\\(.)/g, '$1'),
    index,
  }));
  if (tests.some(({ title }) => title.includes(withoutEngine(name)))) {
    return { pattern: new RegExp(RegExp.escape(name)), nested: false };
  }
  const parents = tests.filter(({ index }, place) => source.slice(index, tests[place + 1]?.index).includes(name));
  const titles = parents.map(({ title }) => RegExp.escape(title.split('${')[0] ?? ''));
  return { ...(titles.length > 0 && { pattern: new RegExp(`^(?:${titles.join('|')})`) }), nested: true };
}

/** Prints the tests whose names contain `name`, and whatever keeps the file from being run. */
async function runFile(file: string, name: string, { pattern, nested }: Choice): Promise<Outcome> {
  const outcome: Outcome = { ran: 0, failed: 0 };
  if (nested) process.env.TEST_ONLY_NESTED = name;
  else delete process.env.TEST_ONLY_NESTED;
  async function* chosen(): AsyncGenerator<TestEvent> {
    const execArgv = ['--import', import.meta.resolve('./only-nested.ts')];
    const abort = new AbortController();
    const { signal } = abort;
    const events = run({ files: [file], execArgv, signal, ...(pattern && { testNamePatterns: [pattern] }) });
    for await (const event of watchForSilence(events, abort)) {
      if (event.type === 'test:stdout' || event.type === 'test:stderr') yield event;
      if (event.type !== 'test:pass' && event.type !== 'test:fail') continue;
      const isFile = resolve(event.data.name) === file; // reported in place of its tests when it ran none
      if (isFile ? event.type === 'test:pass' : !event.data.name.includes(name)) continue;
      if (!isFile) outcome.ran += 1;
      if (event.type === 'test:fail') outcome.failed += 1;
      yield event;
    }
  }
  for await (const text of Readable.from(chosen()).compose(new Spec())) process.stdout.write(text);
  return outcome;
}

/** The test files that contain the name. */
const filesWith = (name: string): string[] =>
  globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'packages/*/test/**/*.test.ts']).filter((file) =>
    readFileSync(file, 'utf8').includes(withoutEngine(name)),
  );

async function testOne([first, second = '', ...more]: string[]): Promise<number> {
  if (first === undefined || more.length > 0 || (second !== '' && !existsSync(first))) {
    console.error(usage);
    return 2;
  }
  const [files, name] = existsSync(first) ? [[first], second] : [filesWith(first), first];
  const total: Outcome = { ran: 0, failed: 0 };
  await globalSetup();
  try {
    for (const file of files) {
      const choice = choose(readFileSync(file, 'utf8'), name);
      let { ran, failed } = await runFile(resolve(file), name, choice);
      if (ran + failed === 0 && choice.nested) ({ ran, failed } = await runFile(resolve(file), name, everything));
      total.ran += ran;
      total.failed += failed;
    }
  } finally {
    await globalTeardown();
  }
  const nothing = total.ran === 0 ? ': no test of that name' : '';
  console.log(`${total.ran} ran, ${total.failed} failed${nothing}`);
  return total.ran > 0 && total.failed === 0 ? 0 : 1;
}

process.exitCode = await testOne(process.argv.slice(2));

/**
 * `npm run test:one -- FILE [NAME]`: one test file, or the tests in it whose names contain NAME, at any depth.
 *
 * Node's `--test-name-pattern` asks a parent before its children: the name of a nested case selects nothing, and a run of
 * nothing passes. Here the whole file is run to find a nested case, and a run of nothing fails.
 */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { run } from 'node:test';
import { spec as Spec, type TestEvent } from 'node:test/reporters';
import { globalSetup, globalTeardown } from './global-setup.ts';

type Outcome = { ran: number; failed: number };

/** Prints the tests whose names contain `name`, and whatever keeps the file from being run. */
async function runFile(file: string, name: string, pattern?: RegExp): Promise<Outcome> {
  const outcome: Outcome = { ran: 0, failed: 0 };
  async function* chosen(): AsyncGenerator<TestEvent> {
    const events = run({ files: [file], ...(pattern && { testNamePatterns: [pattern] }) });
    for await (const event of events as AsyncIterable<TestEvent>) {
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

async function testOne([path, name = '', ...more]: string[]): Promise<number> {
  if (path === undefined || more.length > 0 || !existsSync(path)) {
    console.error(
      'Usage: npm run test:one -- FILE [NAME]\nFor example: npm run test:one -- test/security/refresh.test.ts',
    );
    return 2;
  }
  const file = resolve(path);
  await globalSetup();
  try {
    // Most names are those of top-level tests, and then the others in the file need not run.
    let outcome = name === '' ? undefined : await runFile(file, name, new RegExp(RegExp.escape(name)));
    if (outcome === undefined || outcome.ran + outcome.failed === 0) outcome = await runFile(file, name);
    const { ran, failed } = outcome;
    console.log(`${ran} ran, ${failed} failed${ran === 0 ? `: ${path} has no test of that name` : ''}`);
    return ran > 0 && failed === 0 ? 0 : 1;
  } finally {
    await globalTeardown();
  }
}

process.exitCode = await testOne(process.argv.slice(2));

import { spawn } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { test } from 'node:test';

/** For the tests of what runs tests: one of these waits for what never comes, and has started a process that never ends. */

const forEver = 'setInterval(() => {}, 1000)';

test('a test that passes', () => {});

test('a test that hangs', async () => {
  const { pid } = spawn(process.execPath, ['-e', forEver], { stdio: 'ignore' });
  appendFileSync(process.env.FIXTURE_PIDS ?? '', `${pid}\n`);
  await new Promise(() => setInterval(() => {}, 1000));
});

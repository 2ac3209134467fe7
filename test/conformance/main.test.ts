import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { runs } from './plans.ts';

const started = (...args: string[]) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const file = join(import.meta.dirname, 'main.ts');
    execFile(process.execPath, [file, ...args], (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    );
  });

test('the conformance suite: --help lists the runs, whose names are their own', async () => {
  const { code, stdout } = await started('--help');
  assert.equal(code, 0);
  for (const { name, plan } of runs) assert.match(stdout, new RegExp(`^  ${name} +${plan}$`, 'm'));
  assert.equal(new Set(runs.map(({ name }) => name)).size, runs.length);
});

test('the conformance suite: without the address of one nothing runs, and it says so', async () => {
  const { code, stdout, stderr } = await started();
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^Skipped: .*test\/conformance\/README\.md/);
});

test('the conformance suite: a run, option or address that cannot be is refused', async () => {
  for (const [args, why] of [
    [['--run', 'none'], /^There is no run 'none'\. The runs: signet-caep-push-discovery, /m],
    [['--suite', 'http://localhost:8443'], /^'http:\/\/localhost:8443' is no https URL\.$/m],
    [['--siute', 'x'], /--siute/],
  ] as const) {
    const { code, stdout, stderr } = await started(...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, why);
  }
});

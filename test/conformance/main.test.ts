import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { selfSignedCertificate } from '../support/certificate.ts';
import { scratchFolder } from '../support/scratch.ts';
import { runs } from './plans.ts';

const started = (...args: string[]) =>
  new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    const file = join(import.meta.dirname, 'main.ts');
    // Node's test runner runs nothing where it sees that it is in a test.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    execFile(process.execPath, [file, ...args], { env }, (error, stdout, stderr) =>
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

test('the conformance suite: a module that is in no plan is a failure, not a run of nothing', async (t) => {
  const { key, cert } = selfSignedCertificate(['localhost']);
  const ca = join(await scratchFolder('suite'), 'suite.pem');
  await writeFile(ca, cert);
  const answers = {
    server: { version: '1', revision: '1' },
    plan: { id: 'one', modules: [{ testModule: 'oidcc-server' }] },
  };
  const suite = createServer({ key, cert }, ({ url = '' }, response) => {
    const asked = /^\/api\/(server|plan)\b/.exec(url)?.[1] as keyof typeof answers | undefined;
    response.writeHead(asked ? 200 : 404).end(asked && JSON.stringify(answers[asked]));
  }).listen(0);
  t.after(() => suite.close());
  await once(suite, 'listening');
  const url = `https://localhost:${(suite.address() as AddressInfo).port}/`;
  const [run] = runs;
  const { code, stdout } = await started(
    ...['--suite', url, '--suite-ca', ca, '--run', run!.name, '--module', 'oidcc-sever'],
  );
  assert.match(stdout, /No module of these runs has such a name: nothing ran\./);
  assert.equal(code, 1);
});

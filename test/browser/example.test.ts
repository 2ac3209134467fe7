import assert from 'node:assert/strict';
import { rm, stat } from 'node:fs/promises';
import { test } from 'node:test';
import { freePort } from '../support/free-port.ts';
import { bareSettings, startServer } from '../support/server-process.ts';
import { exampleSettings, runExample } from './example-process.ts';

test('the example registers once, uses that client again, and registers anew when the store is gone', async (t) => {
  const settings = await bareSettings(t);
  const signet = await startServer(t, settings);
  const env = { ...settings, ...(await exampleSettings(t, signet.url)) };
  const first = await runExample(t, env);
  assert.match(first.stdout, /Registered and approved a client of its own/, first.stderr);
  assert.equal((await stat(env.EXAMPLE_CLIENT_FILE)).mode & 0o777, 0o600);
  await first.stop();
  const second = await runExample(t, env);
  assert.match(second.stdout, /ready at/, second.stderr);
  assert.doesNotMatch(second.stdout, /Registered/);
  const beside = await runExample(t, env);
  assert.equal(beside.code, 1);
  assert.match(
    beside.stderr,
    /^Port \d+ is in use: another server runs there\. Choose another one with EXAMPLE_PORT\.\n$/,
  );
  await second.stop();

  await signet.stop();
  await rm(settings.SIGNET_DATA_DIR ?? '', { recursive: true });
  await startServer(t, settings);
  const third = await runExample(t, env);
  assert.match(third.stdout, /Registered and .*ready at/s, third.stderr);
});

test('the example says what it needs', async (t) => {
  const unreachable = await runExample(t, await exampleSettings(t, `http://localhost:${await freePort()}`));
  assert.equal(unreachable.code, 1);
  assert.match(
    unreachable.stderr,
    /^Signet does not answer at .* Start it first, in another terminal: npm start\. If .* EXAMPLE_ISSUER to that\.\n$/,
  );

  const settings = await bareSettings(t);
  const elsewhere = await bareSettings(t);
  const signet = await startServer(t, settings);
  const env = await exampleSettings(t, signet.url);
  const other = await runExample(t, { ...elsewhere, ...env });
  assert.equal(other.code, 1);
  assert.match(other.stderr, /keeps its\sdata elsewhere/);

  const wrong = await runExample(t, { ...env, EXAMPLE_CLIENT_ID: 'nobody', EXAMPLE_CLIENT_SECRET: 'wrong' });
  assert.equal(wrong.code, 1);
  assert.equal(wrong.stderr, 'Signet does not accept EXAMPLE_CLIENT_ID with EXAMPLE_CLIENT_SECRET.\n');
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { afterTest } from '../support/after-test.ts';
import { bareSettings, type Settings, signetCommand } from '../support/server-process.ts';
import { until } from '../support/until.ts';

/** A server whose standard error is a pipe that nobody reads, after more lines than the pipe and the server's memory take. */
async function unreadServer(t: TestContext) {
  const settings: Settings = {
    ...(await bareSettings(t)),
    SIGNET_LOG_REQUESTS: 'on',
    SIGNET_METRICS_TOKEN: 'm'.repeat(32),
  };
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(signetCommand, ['serve'], {
    env: { PATH, NODE_COMPILE_CACHE, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  afterTest(t, () => {
    child.kill('SIGKILL');
    return exited;
  });
  const url = `http://localhost:${settings.SIGNET_PORT}`;
  const authorization = `Bearer ${settings.SIGNET_METRICS_TOKEN}`;
  const dropped = async () => {
    const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization } })).text();
    return Number(/^signet_log_lines_dropped_total (\d+)/m.exec(metrics)?.[1]);
  };
  await until('the server answers', () =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  await until('lines are dropped', async () => {
    const keySets = Array.from({ length: 200 }, () => fetch(`${url}/.well-known/jwks.json`));
    for (const keySet of keySets) await (await keySet).text();
    return (await dropped()) > 0;
  });
  return { child, exited, url };
}

test('a server whose log nobody reads serves on, stops when it is told to, and says how many lines it dropped', async (t) => {
  const { child, exited, url } = await unreadServer(t);
  assert.equal((await fetch(`${url}/.well-known/openid-configuration`)).status, 200);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until('it says how many lines it dropped', () => /"dropped":\d+/.test(said));
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  await closed;
  for (const line of said.trimEnd().split('\n')) JSON.parse(line); // each is whole
  assert.match(said, /shutting down/, 'what it says last is written');
});

test('a server whose log nobody reads ends with SIGTERM', async (t) => {
  const { child, exited } = await unreadServer(t);
  child.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openDb } from '../../src/platform/db/open.ts';
import { signedInClient } from '../support/command-line.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { repeated } from '../support/repeated.ts';
import {
  bareSettings,
  codeFor,
  isActiveAt,
  isRunning,
  redeemAt,
  refreshAt,
  type ServerProcess,
  type Settings,
  startServer,
  type TokenAnswer,
  workerPids,
} from '../support/server-process.ts';
import { until } from '../support/until.ts';

/** `oauth/token-races.test.ts` tries the same with one process. Here it is several that share a store. */
const rounds = repeated(3);

async function startWorkers(t: TestContext, engine: Engine, more: Settings = {}): Promise<ServerProcess> {
  const settings = { ...(await bareSettings(t, engine)), SIGNET_WORKERS: '2', SIGNET_RATE_LIMITS: 'off', ...more };
  return startServer(t, settings);
}

const times = <Result>(count: number, work: () => Promise<Result>) =>
  Promise.all(Array.from({ length: count }, () => work()));

function assertOneWinner(answers: TokenAnswer[]): void {
  const statuses = answers.map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
  assert.equal(statuses.filter((status) => status === 400).length, answers.length - 1, String(statuses));
}

onBothEngines(
  'of 64 parallel uses of a code or a refresh token, exactly one is answered with tokens',
  async (t, engine) => {
    const server = await startWorkers(t, engine);
    const { browser, client } = await signedInClient(server);
    for (let round = 1; round <= rounds; round += 1) {
      const code = await codeFor(browser, client);
      assertOneWinner(await times(64, () => redeemAt(server.url, client, code)));
      const { refresh_token } = await redeemAt(server.url, client, await codeFor(browser, client));
      assertOneWinner(await times(64, () => refreshAt(server.url, client, refresh_token)));
    }
  },
);

test('a worker that is killed is replaced, and service goes on', async (t) => {
  const SIGNET_METRICS_TOKEN = 'm'.repeat(32);
  const server = await startWorkers(t, 'sqlite', { SIGNET_METRICS_TOKEN });
  const headers = { authorization: `Bearer ${SIGNET_METRICS_TOKEN}` };
  const issued = async () => {
    const text = await (await fetch(`${server.url}/metrics`, { headers })).text();
    const counts = text.matchAll(/^signet_token_requests_total\{.*outcome="issued"\} (\d+)$/gm);
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  const { browser, client } = await signedInClient(server);
  const before = await redeemAt(server.url, client, await codeFor(browser, client));
  assert.equal(await issued(), 1, 'whichever worker is asked');
  const [firstPid, ...others] = workerPids(server);
  assert.equal(others.length, 1);
  process.kill(firstPid ?? 0, 'SIGKILL');
  await until('its death is seen', () => server.said.stderr.includes('a worker died'));
  const death = server.said.stderr.split('\n').find((line) => line.includes('a worker died')) ?? '';
  const { pid, signal } = JSON.parse(death);
  assert.deepEqual([pid, signal], [firstPid, 'SIGKILL']);

  const after = await refreshAt(server.url, client, before.refresh_token);
  assert.equal(after.status, 200, 'the other worker goes on');
  await until('there are two again', () => workerPids(server).length === 2);
  assert.equal(await issued(), 2, 'what the killed one had counted is in the sum');
  const answers = await times(32, () => isActiveAt(server.url, client, after.access_token));
  assert.ok(answers.every((isActive) => isActive));
  assert.equal((await server.stop()).code, 0);
  assert.deepEqual(
    [firstPid, ...others].filter((one) => one !== undefined && isRunning(one)),
    [],
    'no worker outlives its supervisor',
  );
});

test('workers end with a supervisor that was killed, and end nothing for good by a clock that it doubts', async (t) => {
  const server = await startWorkers(t, 'sqlite');
  const { browser } = await signedInClient(server);
  const pids = workerPids(server);
  await server.stop('SIGKILL');
  await until('they have ended', () => !pids.some(isRunning));

  const db = await openDb({ dataDir: String(server.env.SIGNET_DATA_DIR), databaseUrl: undefined });
  t.after(() => db.close());
  // As a machine sees it whose clock is five days ahead: an hour without any server, and sessions that are over.
  await plain(db).run('update server_heartbeat set at = at - 432000');
  await plain(db).run('update sessions set idle_expires_at = idle_expires_at - 432000');

  const ahead = await startServer(t, server.env);
  for (let asked = 0; asked < 8; asked += 1) assert.equal((await browser.get('/v1/me')).status, 401);
  await ahead.stop();
  const sessions = await plain(db).all<{ ended_at: number | null }>('select ended_at from sessions');
  assert.deepEqual(
    sessions.map(({ ended_at }) => ended_at),
    [null],
  );
});

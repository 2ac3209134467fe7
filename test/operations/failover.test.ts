import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { unreadySentences } from '../../src/app/health.ts';
import { NotPrimary } from '../../src/platform/db/db.ts';
import { createAbandoned, createLanes } from '../../src/platform/db/postgres-lanes.ts';
import { createServers } from '../../src/platform/db/postgres-servers.ts';
import { ask } from '../support/browser.ts';
import { refused, runCommand, signedInClient, succeed } from '../support/command-line.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import {
  bareSettings,
  codeFor,
  introspectAt,
  isActiveAt,
  redeemAt,
  refreshAt,
  type Settings,
  startServer,
} from '../support/server-process.ts';
import { masterKey } from '../support/store-template.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/until.ts';

const chainCount = 8;

/** One grant's refresh tokens, as its client has them. */
type Chain = { tokens: string[]; unavailable: number };

for (let round = 1; round <= repeated(1); round += 1) {
  test(`a primary that is killed and its standby that is promoted lose nothing that was acknowledged (${round})`, async (t) => {
    const pair = await startPostgresPair(t);
    const proxy = await tcpProxy(t, pair.url);
    const settings = await settingsFor(t, proxy.url);
    const server = await startServer(t, settings);
    const { browser, client } = await signedInClient(server);
    const chains: Chain[] = [];
    for (let number = 0; number < chainCount; number += 1) {
      const { refresh_token } = await redeemAt(server.url, client, await codeFor(browser, client));
      chains.push({ tokens: [refresh_token], unavailable: 0 });
    }
    const stop = new AbortController();
    const answers = () => chains.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const streams = chains.map((chain) => keepRefreshing(server.url, client, chain, stop.signal));
    // A stream that ends before it is told to has met an answer that no client should get.
    const ended = Promise.all(streams).then(() => assert.ok(stop.signal.aborted));
    const answered = (count: number) =>
      Promise.race([
        until(`${count} answers`, () => answers() >= count),
        ended.then(() => assert.fail('all have ended')),
      ]);

    await answered(10 * chainCount);
    await pair.kill();
    await proxy.cut();
    const before = answers();
    // What needs no store goes on.
    assert.equal((await ask(`${server.url}/.well-known/jwks.json`)).status, 200);
    await pair.promote();
    await proxy.mend(pair.url);
    await answered(before + 3 * chainCount);
    stop.abort();
    await ended;

    for (const { tokens } of chains) {
      assert.equal(await isActiveAt(server.url, client, tokens.at(-1)!), true, 'an acknowledged token was lost');
      assert.equal(await isActiveAt(server.url, client, tokens.at(-2)!), false, 'two tokens of a grant are active');
    }
    await server.stop();
    const { broken } = await succeed(['audit', 'verify'], settings);
    assert.equal(broken ?? null, null);
    const unavailable = chains.reduce((sum, chain) => sum + chain.unavailable, 0);
    t.diagnostic(JSON.stringify({ acknowledged: answers(), before, unavailable }));
  });
}

test('a primary that comes back as a standby is not the store: no change, no stale read, and the node is well without a restart', async (t) => {
  const pair = await startPostgresPair(t);
  const old = pair.url;
  const name = await tcpProxy(t, old);
  const settings = await settingsFor(t, name.url);
  const node = await startServer(t, settings);
  const { browser, client } = await signedInClient(node);
  const revoked = await redeemAt(node.url, client, await codeFor(browser, client));
  const kept = await redeemAt(node.url, client, await codeFor(browser, client));
  assert.equal(await isActiveAt(node.url, client, revoked.access_token), true);

  await pair.stop();
  await pair.promote();
  await pair.rejoin(); // the name still leads to it
  const other = await startServer(t, await settingsFor(t, pair.url));
  assert.equal((await client.at(other).post('/oauth/revoke', { token: revoked.refresh_token })).status, 200);

  const readiness = async () => {
    const { status, text } = await ask(`${node.url}/readyz`);
    return { ...(JSON.parse(text) as { reasons?: string[] }), status };
  };
  await until('the node sees a standby', async () => (await readiness()).reasons?.[0] === 'standby');
  assert.deepEqual(await readiness(), {
    status: 503,
    error: 'temporarily_unavailable',
    error_description: unreadySentences.standby,
    reasons: ['standby'],
  });
  for (let round = 0; round < 5; round += 1) {
    assert.equal((await introspectAt(node.url, client, revoked.access_token)).status, 503);
    assert.equal((await refreshAt(node.url, client, kept.refresh_token)).status, 503);
    assert.equal((await browser.get('/account')).status, 503);
  }
  const { stdout } = await runCommand(['doctor'], { env: settings });
  assert.match(stdout, /problem +store +SIGNET_DATABASE_URL leads to a standby of\s+PostgreSQL/);
  await refused(['users', 'list'], settings, /leads to a standby of PostgreSQL/);
  await leavesStandby(old);

  name.lead(pair.url);
  await until('it is ready', async () => (await readiness()).status === 200);
  assert.equal(await isActiveAt(node.url, client, revoked.access_token), false);
  await untilRefreshed(node.url, client, kept.refresh_token);
  assert.equal((await browser.get('/account')).status, 200);
});

test('of several hosts the primary is used, also after another one has become it', async (t) => {
  const pair = await startPostgresPair(t);
  const [primary, standby] = [new URL(pair.url), new URL(pair.standbyUrl)];
  const hosts = `${standby.host},${primary.host}`;
  const url = `${pair.url.replace(primary.host, hosts)}?target_session_attrs=read-write`;
  const settings = await settingsFor(t, url);
  const node = await startServer(t, settings);
  const { browser, client } = await signedInClient(node);
  const { refresh_token } = await redeemAt(node.url, client, await codeFor(browser, client));
  await pair.kill();
  await pair.promote();
  await untilRefreshed(node.url, client, refresh_token);
});

async function settingsFor(t: TestContext, databaseUrl: string): Promise<Settings> {
  return {
    ...(await bareSettings(t)),
    SIGNET_DATABASE_URL: databaseUrl,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_RATE_LIMITS: 'off',
    SIGNET_LOG_LEVEL: 'fatal',
  };
}

/** As it would be if the server had become a standby after the connection was checked. */
async function leavesStandby(url: string): Promise<void> {
  const servers = createServers(url);
  for (const [use, count] of [
    ['batches', 2],
    ['changes', 1],
  ] as const) {
    let left = 0;
    const lanes = createLanes(servers, {
      use,
      size: 1,
      abandoned: createAbandoned(servers),
      deadlines: { statementMs: 60_000, replyMs: 60_000, connectMs: 60_000 },
      run_id: 'left',
      check: async () => undefined,
      onStandby: () => (left += 1),
    });
    const change = { sql: 'update server_heartbeat set at = at' };
    await assert.rejects(
      lanes.use((lane) => (count === 1 ? lane.commitOne(change) : lane.commit([change, change]))),
      NotPrimary,
    );
    assert.equal(left, 1);
    await lanes.close();
  }
}

async function untilRefreshed(url: string, client: RegisteredClient, refresh_token: string): Promise<void> {
  await until('it is refreshed', async () => {
    const { status } = await refreshAt(url, client, refresh_token);
    assert.ok([200, 503].includes(status), `${status}`);
    return status === 200;
  });
}

/** A client that asks again after a 503, as the answer tells it to. */
async function keepRefreshing(url: string, client: RegisteredClient, chain: Chain, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const answer = await refreshAt(url, client, chain.tokens.at(-1)!);
    if (answer.status === 200) chain.tokens.push(answer.refresh_token);
    else {
      assert.equal(answer.status, 503, `a client was refused after ${chain.tokens.length} tokens`);
      chain.unavailable += 1;
      await sleep(50);
    }
  }
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../support/browser.ts';
import { signedInClient, succeed } from '../support/command-line.ts';
import { startPostgresPair } from '../support/postgres-pair.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { bareSettings, codeFor, isActiveAt, redeemAt, refreshAt, startServer } from '../support/server-process.ts';
import { masterKey } from '../support/store-template.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';

const chainCount = 8;

/** One grant's refresh tokens, as its client has them. */
type Chain = { tokens: string[]; unavailable: number };

for (let round = 1; round <= repeated(1); round += 1) {
  test(`a primary that is killed and its standby that is promoted lose nothing that was acknowledged (${round})`, async (t) => {
    const pair = await startPostgresPair(t);
    const proxy = await tcpProxy(t, pair.url);
    const settings = {
      ...(await bareSettings(t)),
      SIGNET_DATABASE_URL: proxy.url,
      SIGNET_MASTER_KEY: masterKey.toString('base64'),
      SIGNET_RATE_LIMITS: 'off',
      SIGNET_LOG_LEVEL: 'fatal',
    };
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
    const until = async (count: number) => {
      while (answers() < count) await Promise.race([sleep(5), ended]);
    };

    await until(10 * chainCount);
    await pair.kill();
    await proxy.cut();
    const before = answers();
    // What needs no store goes on.
    assert.equal((await ask(`${server.url}/.well-known/jwks.json`)).status, 200);
    await pair.promote();
    await proxy.mend(pair.url);
    await until(before + 3 * chainCount);
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

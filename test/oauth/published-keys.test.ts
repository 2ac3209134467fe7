import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { asksWith, assertAuthenticated, asserted, assertionOf, keySetOf, newKeyPair } from '../support/client-keys.ts';
import { assertRefused } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

const method = { token_endpoint_auth_method: 'private_key_jwt' } as const;

/** A server of a client that publishes what the test says. */
async function publish(t: TestContext) {
  const published = { status: 200, document: {} as unknown, asked: 0, url: '' };
  const server = createServer((_, response) => {
    published.asked += 1;
    response.writeHead(published.status, { 'content-type': 'application/json', location: '/elsewhere' });
    response.end(JSON.stringify(published.document));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  published.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  return published;
}

testSignet(
  'KJ-06: keys at a jwks_uri: a rotation, one withdrawn, an address that fails, and none before the review',
  { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, t }) => {
    const owner = await signet.signedInUser();
    const published = await publish(t);
    const [old, next] = [newKeyPair('PS256'), newKeyPair('EdDSA')];
    published.document = keySetOf(old);
    const waiting = await signet.registerClient({ owner, ...method, jwks_uri: published.url, approved: false });
    assertRefused(await asksWith(waiting, asserted(await assertionOf(signet, waiting, old))), 401, 'invalid_client');
    assert.equal(published.asked, 0);
    const publisher = await signet.registerClient({ owner, ...method, jwks_uri: published.url });
    const by = async (pair: typeof old) => asserted(await assertionOf(signet, publisher, pair));
    await assertAuthenticated(publisher, await by(old));
    await assertAuthenticated(publisher, await by(old));
    assert.equal(published.asked, 1);
    published.document = keySetOf(old, next);
    assertRefused(await asksWith(publisher, await by(next)), 401, 'invalid_client');
    signet.clock.advance(30);
    await assertAuthenticated(publisher, await by(next));
    assert.equal(published.asked, 2);
    published.document = keySetOf(next);
    signet.clock.advance(300);
    assertRefused(await asksWith(publisher, await by(old)), 401, 'invalid_client');
    published.status = 302;
    signet.clock.advance(300);
    await assertAuthenticated(publisher, await by(next));
    signet.clock.advance(86_400);
    const answer = await asksWith(publisher, await by(next));
    assertRefused(answer, 401, 'invalid_client');
    assert.match(String(answer.json?.error_description), /cannot be read now/);
    const activity = `/v1/oauth/clients/${publisher.client_id}/activity`;
    await until('its owner reads why', async () => {
      const { failures } = (await owner.browser.get(activity)).json as {
        failures: { code: string; sent?: string }[];
      };
      return failures.some(({ code, sent }) => code === 'keys_unavailable' && /redirects \(302\)/.test(sent ?? ''));
    });
    published.status = 200;
    signet.clock.advance(30);
    await assertAuthenticated(publisher, await by(next));
  },
);

testSignet(
  'KJ-06: keys at an internal address are not read, and wrong assertions are limited as wrong secrets are',
  async ({ signet, t }) => {
    const published = await publish(t);
    const inside = newKeyPair();
    published.document = keySetOf(inside);
    for (const jwks_uri of [published.url, published.url.replace('http:', 'https:')]) {
      const reaching = await signet.registerClient({ ...method, jwks_uri });
      const fields = asserted(await assertionOf(signet, reaching, inside));
      assertRefused(await asksWith(reaching, fields), 401, 'invalid_client');
    }
    assert.equal(published.asked, 0);
    const pair = newKeyPair();
    const client = await signet.registerClient({ ...method, jwks: keySetOf(pair) });
    const sign = async (of = pair) => asserted(await assertionOf(signet, client, of));
    const wrong = { ...newKeyPair(), kid: pair.kid };
    const statuses: number[] = [];
    for (let times = 0; times < 25; times += 1) statuses.push((await asksWith(client, await sign(wrong))).status);
    assert.deepEqual([statuses.indexOf(429), statuses.at(-1)], [20, 429]);
    assert.equal((await asksWith(client, await sign())).status, 429);
    signet.clock.advance(60);
    await assertAuthenticated(client, await sign());
  },
);

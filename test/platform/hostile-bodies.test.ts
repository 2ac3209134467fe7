import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { findDeliveries } from '../../src/webhooks/list-webhooks.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { startSignet } from '../support/signet.ts';

test('HT-01: JSON of any depth is a 400 that says so, wherever it is sent, and never fails', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const { authorization } = await signet.newService();
  const deep = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  for (const levels of [64, 5000, 30_000]) {
    for (const body of [{ redirect_uris: deep(levels) }, { name: 'x', metadata: { a: deep(levels) } }]) {
      for (const path of ['/v1/oauth/clients', '/v1/entitlements', '/v1/me/password']) {
        const answer = await user.browser.send(path, {
          method: 'POST',
          body: JSON.stringify(body),
          headers: {
            ...{ origin: signet.url, 'content-type': 'application/json' },
            ...(path === '/v1/entitlements' && { authorization }), // of a stranger, no body is read there
          },
        });
        assert.equal(answer.status, 400, `${path} ${levels}`);
        assert.match(answer.text, /nested more than 32 levels/);
      }
    }
  }
  const shallow = await user.browser.postJson('/v1/oauth/clients', { redirect_uris: deep(30) });
  assert.equal(shallow.status, 400);
  assert.doesNotMatch(shallow.text, /nested/);
});

test('HT-01: a list in a body has a length, or its entries are not compared with each other', async (t) => {
  const signet = await startSignet(t);
  const { paths } = (await (await fetch(`${signet.url}/openapi.json`)).json()) as { paths: object };
  // Its readers cut these before anything else (src/clients/registration.ts).
  const cut = /^(?:\/v1\/oauth\/clients(?:\/check|\/\{client_id\})?|\/v1\/admin\/clients(?:\/\{client_id\})?)$/;
  for (const [path, operations] of Object.entries(paths)) {
    if (!cut.test(path)) assert.doesNotMatch(JSON.stringify(operations), /"uniqueItems":true/, path);
  }
});

test('half of a character is refused before it can become another one', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  for (const body of ['{"name":"\\ud800"}', '{"name":"\\udc00\\ud800"}', '{"\\ud800":1}']) {
    const answer = await user.browser.send('/v1/me', {
      method: 'PATCH',
      body,
      headers: { origin: signet.url, 'content-type': 'application/json' },
    });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /unpaired surrogate/);
  }
  const whole = await user.browser.patch('/v1/me', { name: '\\ud83d\\ude80 and \\\\ud800' });
  assert.equal(whole.status, 200, whole.text);
});

test('a receiver that wants another protocol, or closes without a word, has failed and is asked again', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' } });
  const words = [
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    '',
    'HTTP/1.1 204 No Content\r\n\r\n',
  ];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(words.shift() ?? ''));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { webhook_id } = await createWebhook(signet.deps, { actor: 'cli' }, { url, event_types: ['user.created'] });
  await signet.newUser();
  const attempts: unknown[] = [];
  for (let round = 0; round < 3; round += 1) {
    await runJobs(signet.deps, quickJobs);
    const [delivery] = (await findDeliveries(signet.deps, webhook_id)).deliveries;
    attempts.push([delivery?.attempts, delivery?.delivered_at !== null]);
    signet.clock.advance(120);
  }
  assert.deepEqual(attempts, [
    [1, false],
    [2, false],
    [3, true],
  ]);
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate as breathe } from 'node:timers/promises';
import { quickJobs, runJobs, startJobs } from '../../src/app/jobs.ts';
import { findDeliveries } from '../../src/webhooks/list-webhooks.ts';
import { createWebhook, disable, enable, rotateSecret, sendTest } from '../../src/webhooks/manage-webhook.ts';
import { newUserIn } from '../support/buckets.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const caller = { actor: 'cli' } as const;
const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };
const event_types = ['user.created'];

/** Takes every delivery and answers none until asked to. */
async function openHanging(t: TestContext) {
  const held: ServerResponse[] = [];
  const server = createServer((_, response) => void held.push(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const answered = { count: 0 };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    held,
    answered,
    answer() {
      for (const response of held) response.writeHead(204).end();
      answered.count = held.length;
    },
  };
}

test('a target that does not answer delays no other, and gets a few deliveries at a time', async (t) => {
  const signet = await startSignet(t, { env });
  const [hanging, receiver] = [await openHanging(t), await openReceiver(t)];
  await createWebhook(signet.deps, caller, { url: hanging.url, event_types });
  const part = signet.deps.db.parts.at(-1)!; // in each part of the store it gets as many
  for (let user = 0; user < 8; user += 1) await newUserIn(signet, part);
  const stop = startJobs(signet.deps);
  t.after(stop);
  await until('the target is asked', () => hanging.held.length > 0);
  await createWebhook(signet.deps, caller, { url: receiver.url, event_types });
  await signet.newUser();
  await until('it is delivered', () => receiver.deliveries.length === 1);
  await signet.newUser();
  await until('the next is delivered', () => receiver.deliveries.length === 2);
  assert.deepEqual([hanging.held.length, hanging.held.filter(({ destroyed }) => destroyed).length], [5, 0]);
  const stopped = stop();
  hanging.answer();
  await stopped;
});

testSignet('a slow target gets an event once, whatever other nodes do meanwhile', { env }, async ({ signet, t }) => {
  const beside = await startSignet(t, { env, beside: signet });
  const hanging = await openHanging(t);
  const { webhook_id } = await createWebhook(signet.deps, caller, { url: hanging.url, event_types });
  await signet.newUser();
  const slow = runJobs(signet.deps, quickJobs);
  await until('the target is asked', () => hanging.held.length === 1);
  signet.clock.advance(9);
  let isOver = false;
  const other = runJobs(beside.deps, quickJobs).then(() => {
    isOver = true;
  });
  await until('the other is done', () => isOver || hanging.held.length > 1);
  assert.equal(hanging.held.length, 1);
  hanging.answer();
  await Promise.all([slow, other]);
  await breathe();

  // A node that was taken for dead comes back with a failure while another one is at it.
  hanging.held.length = 0;
  await signet.newUser();
  const late = runJobs(signet.deps, quickJobs);
  await until('the target is asked', () => hanging.held.length === 1);
  signet.clock.advance(31);
  const second = runJobs(beside.deps, quickJobs);
  await until('the other asks, too', () => hanging.held.length === 2);
  const newest = async () => (await findDeliveries(signet.deps, webhook_id)).deliveries[0];
  const claimed = await newest();
  assert.deepEqual([claimed?.attempts, claimed?.next_attempt_at], [2, signet.clock() / 1000 + 30]);
  hanging.held[0]?.destroy();
  await late;
  assert.deepEqual(await newest(), claimed, 'the claim of the other one is not cut short');
  hanging.held[1]?.writeHead(204).end();
  await second;
  const { attempts, next_attempt_at, last_error, delivered_at } = (await newest()) ?? {};
  assert.deepEqual([attempts, next_attempt_at, last_error, delivered_at], [2, null, null, signet.clock() / 1000]);
});

testSignet('a webhook is tested, gets another secret, and is switched off and on', { env }, async ({ signet, t }) => {
  const receiver = await openReceiver(t);
  const { webhook_id, secret } = await createWebhook(signet.deps, caller, { url: receiver.url, event_types });
  await sendTest(signet.deps, caller, webhook_id);
  await runJobs(signet.deps, quickJobs);
  assert.equal(JSON.parse(receiver.deliveries[0]?.body ?? '').type, 'webhook.test');
  assert.notEqual((await rotateSecret(signet.deps, caller, webhook_id)).secret, secret);

  await disable(signet.deps, caller, webhook_id);
  const isRefused = ({ code }: { code: string }) => code === 'invalid_state';
  await assert.rejects(disable(signet.deps, caller, webhook_id), isRefused);
  await assert.rejects(sendTest(signet.deps, caller, webhook_id), isRefused);
  await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  assert.equal(receiver.deliveries.length, 1);
  await enable(signet.deps, caller, webhook_id);
  await assert.rejects(enable(signet.deps, caller, webhook_id), isRefused);
  await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  assert.equal(receiver.deliveries.length, 2);
  const events = await signet.auditLog({ target: webhook_id });
  assert.deepEqual(events.map(({ action }) => action).sort(), [
    'webhook.created',
    'webhook.disabled',
    'webhook.enabled',
    'webhook.secret_rotated',
    'webhook.tested',
  ]);
});

test('without https only the allowed network is notified, and the log keeps no path', async (t) => {
  const signet = await startSignet(t, { env });
  await assert.rejects(createWebhook(signet.deps, caller, { url: 'http://8.8.8.8/', event_types }));
  const { webhook_id } = await createWebhook(signet.deps, caller, { url: 'http://127.0.0.1:9/pass-word', event_types });
  const rows = await signet.auditLog({ target: webhook_id });
  assert.ok(!JSON.stringify(rows).includes('pass-word'));
  assert.ok(JSON.stringify(rows).includes('127.0.0.1:9'));
  // A name that leads elsewhere is refused at the connection.
  await plain(signet.deps.db).run('update webhooks set url = $1', ['http://8.8.8.8/']);
  await sendTest(signet.deps, caller, webhook_id);
  await runJobs(signet.deps, quickJobs);
  const [delivery] = (await findDeliveries(signet.deps, webhook_id)).deliveries;
  assert.match(delivery?.last_error ?? '', /Without https/);
});

test('an address that was taken off the allowed ones is not connected to any more, whatever the scheme', async (t) => {
  const signet = await startSignet(t, { env });
  const receiver = await openReceiver(t);
  const urls = [receiver.url, receiver.url.replace('http:', 'https:')];
  const made = await Promise.all(urls.map((url) => createWebhook(signet.deps, caller, { url, event_types })));
  const without = await startSignet(t, { beside: signet });
  await signet.newUser();
  await runJobs(without.deps, quickJobs);
  const errors = await Promise.all(
    made.map(async ({ webhook_id }) => (await findDeliveries(signet.deps, webhook_id)).deliveries[0]?.last_error),
  );
  assert.deepEqual(errors, [
    'Without https, SIGNET_WEBHOOK_INTERNAL must list every address of the host: localhost is 127.0.0.1 and ::1.',
    'The target is an internal address that SIGNET_WEBHOOK_INTERNAL does not list.',
  ]);
  assert.equal(receiver.deliveries.length, 0);

  // That counts as no answer: this node leaves both alone for half a minute, then takes what has become due.
  const attempts = async () =>
    (
      await plain(signet.deps.db).all<{ attempts: number }>('select attempts from webhook_deliveries order by attempts')
    ).map((row) => row.attempts);
  await signet.newUser();
  signet.clock.advance(29);
  await runJobs(without.deps, quickJobs);
  assert.deepEqual(await attempts(), [0, 0, 1, 1]);
  signet.clock.advance(1);
  await runJobs(without.deps, quickJobs);
  assert.deepEqual(await attempts(), [1, 1, 2, 2]);
});

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { runQuickJobs } from '../../src/jobs.ts';
import { createWebhook, replay } from '../../src/webhooks/manage-webhook.ts';
import { findWebhook, listDeliveries } from '../../src/webhooks/store.ts';
import { mayReach, subnets } from '../../src/webhooks/target.ts';
import { enable } from '../../src/webhooks/tend-webhook.ts';
import { onBothEngines } from '../support/databases.ts';
import { newPerson, type Signet, startSignet } from '../support/signet.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const caller = { actor: 'cli' } as const;
const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };
const refusedFields = (paths: string[]) => (error: { details?: { fields?: { path: string }[] } }) => {
  assert.deepEqual(
    error.details?.fields?.map(({ path }) => path),
    paths,
  );
  return true;
};
const deliveriesTo = (signet: Signet, webhook_id: string) => listDeliveries(signet.deps.db, webhook_id, 100);

onBothEngines('an event is delivered once, signed as Standard Webhooks says', async (t, engine) => {
  const signet = await startSignet(t, { engine, env });
  const receiver = await openReceiver(t);
  const webhook = await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  const { user_id } = await newPerson(signet);
  await runQuickJobs(signet.deps);
  await runQuickJobs(signet.deps);
  assert.equal(receiver.deliveries.length, 1);
  const { headers, body } = receiver.deliveries[0]!;
  const { type, timestamp, data } = JSON.parse(body);
  assert.deepEqual([type, data.target], ['user.created', user_id]);
  assert.equal(Date.parse(timestamp), signet.clock());
  const key = Buffer.from(webhook.secret.slice('whsec_'.length), 'base64');
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  assert.equal(headers['webhook-signature'], `v1,${createHmac('sha256', key).update(signed).digest('base64')}`);
  assert.ok(!body.includes('@'), 'no address of a person leaves');
});

onBothEngines('two nodes deliver each event once', async (t, engine) => {
  const signet = await startSignet(t, { engine, env });
  const beside = await startSignet(t, { engine, env, beside: signet });
  const receiver = await openReceiver(t);
  await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  for (let person = 0; person < 3; person += 1) await newPerson(signet);
  for (let round = 0; round < 3; round += 1) {
    await Promise.all([runQuickJobs(signet.deps), runQuickJobs(beside.deps)]);
  }
  assert.equal(receiver.deliveries.length, 3);
  assert.equal(new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size, 3);
});

test('a delivery that fails is tried again later and later, is dead in the end, and can be replayed', async (t) => {
  const signet = await startSignet(t, { env });
  const receiver = await openReceiver(t);
  const { webhook_id } = await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  receiver.status = 500;
  await newPerson(signet);
  await runQuickJobs(signet.deps);
  await runQuickJobs(signet.deps);
  assert.equal(receiver.deliveries.length, 1, 'not again at once');
  const [waiting] = await deliveriesTo(signet, webhook_id);
  assert.deepEqual([waiting?.attempts, waiting?.last_error], [1, 'It answered 500.']);
  for (let day = 0; day < 12; day += 1) {
    signet.clock.advance(86_400);
    await runQuickJobs(signet.deps);
  }
  assert.equal(receiver.deliveries.length, 11);
  const [dead] = await deliveriesTo(signet, webhook_id);
  assert.ok(dead?.dead_at);
  assert.equal(
    new Set(receiver.deliveries.map(({ headers }) => headers['webhook-id'])).size,
    1,
    'one id for all attempts',
  );

  assert.ok((await findWebhook(signet.deps.db, webhook_id))?.disabled_at, 'nothing came through for days: it is off');
  receiver.status = 200;
  await enable(signet.deps, caller, webhook_id);
  await replay(signet.deps, caller, { webhook_id, delivery_id: dead.delivery_id });
  await runQuickJobs(signet.deps);
  assert.ok((await deliveriesTo(signet, webhook_id))[0]?.delivered_at);
  await assert.rejects(
    replay(signet.deps, caller, { webhook_id, delivery_id: dead.delivery_id }),
    ({ code }: { code: string }) => code === 'invalid_state',
  );
});

test('what was promised before a crash is delivered after it', async (t) => {
  const signet = await startSignet(t, { env });
  const receiver = await openReceiver(t);
  await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  await newPerson(signet); // the process dies here: neither sealed nor delivered
  const after = await startSignet(t, { env, beside: signet });
  await runQuickJobs(after.deps);
  assert.equal(receiver.deliveries.length, 1);
});

test('a redirect is not followed', async (t) => {
  const signet = await startSignet(t, { env });
  const [receiver, elsewhere] = [await openReceiver(t), await openReceiver(t)];
  const { webhook_id } = await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  receiver.status = 307;
  receiver.location = elsewhere.url;
  await newPerson(signet);
  await runQuickJobs(signet.deps);
  assert.deepEqual([receiver.deliveries.length, elsewhere.deliveries.length], [1, 0]);
  assert.equal((await deliveriesTo(signet, webhook_id))[0]?.last_error, 'It answered 307.');
});

test('internal addresses are refused at registration, and names that lead there at the connection', async (t) => {
  const signet = await startSignet(t);
  const wanted = (url: string) => createWebhook(signet.deps, caller, { url, event_types: ['user.created'] });
  for (const url of [
    'http://hooks.example.com/',
    'ftp://hooks.example.com/',
    'hooks.example.com',
    'https://user:password@hooks.example.com/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://10.1.2.3/',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00::1]/',
    `https://hooks.example.com/${'x'.repeat(2000)}`,
  ]) {
    await assert.rejects(wanted(url), refusedFields(['url']), url);
  }
  await assert.rejects(
    createWebhook(signet.deps, caller, { url: 'https://hooks.example.com/', event_types: ['user.exploded'] }),
    refusedFields(['event_types']),
  );
  const { webhook_id } = await wanted('https://localhost:9/hook');
  await newPerson(signet);
  await runQuickJobs(signet.deps);
  assert.equal((await deliveriesTo(signet, webhook_id))[0]?.last_error, 'The target is internal.');
});

test('which addresses are internal', () => {
  const nobody = subnets([]);
  for (const address of ['8.8.8.8', '1.1.1.1', '2606:4700::1111', '::ffff:8.8.8.8'])
    assert.ok(mayReach(address, nobody), address);
  for (const address of ['0.0.0.0', '100.64.0.1', '172.31.255.255', '192.168.1.1', '224.0.0.1', '255.255.255.255']) {
    assert.ok(!mayReach(address, nobody), address);
  }
  for (const address of [
    '::',
    '::1',
    '::ffff:10.0.0.1',
    'fe80::1%eth0',
    'fc00::1',
    'ff02::1',
    '64:ff9b::7f00:1',
    '::ffff:0:7f00:1',
    '3fff::1',
    '5f00::1',
    'name',
  ]) {
    assert.ok(!mayReach(address, nobody), address);
  }
  assert.ok(mayReach('10.0.0.7', subnets(['10.0.0.7'])));
  assert.ok(!mayReach('10.0.0.8', subnets(['10.0.0.7'])));
});

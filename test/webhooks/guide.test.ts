import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { afterTest } from '../support/after-test.ts';
import { freePort } from '../support/free-port.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const guide = readFileSync(join(import.meta.dirname, '../../docs/api/webhooks.md'), 'utf8');

/** What is there, and what each text begins with: `usr_…`. */
const shapeOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shapeOf(one)]))
    : String(value).replace(/_[\w-]{20,}$|_…$/, '_');

test('the example of the guide is what a sign-out sends', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' } });
  const receiver = await openReceiver(t);
  const terms = { url: receiver.url, event_types: ['session.ended'] };
  await createWebhook(signet.deps, { actor: 'cli' }, terms);
  const { browser } = await signet.signedInUser();
  await browser.post('/signout');
  await runJobs(signet.deps, quickJobs);
  await runJobs(signet.deps, quickJobs);
  const [, example = ''] = /```json\n([\s\S]*?)```/.exec(guide) ?? [];
  assert.deepEqual(shapeOf(JSON.parse(receiver.deliveries[0]!.body)), shapeOf(JSON.parse(example)));
});

test('the receiver of the guide takes a delivery, and refuses one that was altered or is old', async (t) => {
  const [, program = ''] = /`receiver\.mjs`:\n\n```js\n([\s\S]*?)```/.exec(guide) ?? [];
  const signet = await startSignet(t, { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' } });
  signet.clock.advance((Date.now() - signet.clock()) / 1000); // the program has the clock of the machine
  const url = `http://127.0.0.1:${await freePort()}/`;
  const { secret } = await createWebhook(signet.deps, { actor: 'cli' }, { url, event_types: ['user.created'] });
  const folder = await scratchFolder('receiver');
  afterTest(t, () => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'receiver.mjs');
  writeFileSync(path, program);
  const env = { WEBHOOK_SECRET: secret, PORT: new URL(url).port };
  const receiver = spawn(process.execPath, [path], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  afterTest(t, () => void receiver.kill());
  let printed = '';
  receiver.stdout.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  const post = (headers: Record<string, string>, body: string) =>
    fetch(url, { method: 'POST', headers, body }).then(
      ({ status }) => status,
      () => 0,
    );
  await until('the receiver listens', async () => (await post({}, '{}')) === 401);

  const { user_id } = await signet.newUser();
  await runJobs(signet.deps, quickJobs);
  await runJobs(signet.deps, quickJobs);
  await until('the delivery is printed', () => printed.includes('\n'));
  const [id = '', type, target] = printed.trim().split(' ');
  assert.deepEqual([type, target], ['user.created', user_id]);
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const at = Math.floor(Date.now() / 1000);
  const signedAt = (timestamp: number) => ({
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,AAAA v1,${createHmac('sha256', key).update(`${id}.${timestamp}.{"type":"t","data":{}}`).digest('base64')}`,
  });
  assert.equal(await post(signedAt(at), '{"type":"t","data":{}}'), 204, 'one of two signatures fits');
  assert.equal(await post(signedAt(at), '{"type":"u","data":{}}'), 401);
  assert.equal(await post(signedAt(at - 3600), '{"type":"t","data":{}}'), 401);
  assert.equal(await post({ ...signedAt(at), 'webhook-timestamp': 'now' }, '{"type":"t","data":{}}'), 401);
});

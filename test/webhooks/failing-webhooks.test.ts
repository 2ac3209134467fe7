import assert from 'node:assert/strict';
import { describeDelivery } from '../../src/admin/webhooks/delivery-operations.ts';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { findDeliveries, findDelivery } from '../../src/webhooks/list-webhooks.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, testSignet } from '../support/signet.ts';
import { openReceiver, type Receiver } from '../support/webhook-receiver.ts';

const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };
const send = (signet: Signet) => runJobs(signet.deps, quickJobs);
const tell = async (signet: Signet) => assert.ok(await runJobs(signet.deps, ['report failing webhooks']));

/** A webhook with one delivery, whose receiver answers 500. */
async function failingWebhook(signet: Signet, receiver: Receiver) {
  const admin = await signet.signedInUser({ role: 'admin' });
  await send(signet); // what happened before is none of its events
  const wanted = { name: 'Billing', url: receiver.url, event_types: ['user.created'] };
  const { webhook_id } = await createWebhook(signet.deps, { actor: 'cli' }, wanted);
  receiver.status = 500;
  await signet.newUser();
  await send(signet);
  const path = `/admin/webhooks/${webhook_id}`;
  const [delivery] = (await findDeliveries(signet.deps, webhook_id)).deliveries;
  const delivery_id = delivery!.delivery_id;
  return { admin, webhook_id, path, delivery_id };
}

testSignet(
  'a webhook that fails says so in the list, on its page and on the overview, until it is well again',
  { env },
  async ({ signet, t }) => {
    const receiver = await openReceiver(t);
    const { admin, path } = await failingWebhook(signet, receiver);
    const pages = ['/admin/webhooks', path];
    for (const page of pages) {
      const { text } = await admin.browser.get(page);
      assert.match(text, sentence('admin.webhooks.failing'), page);
      assert.match(text, /id="send-now-wh_/, page);
    }
    const failing = sentence('admin.overview.webhooks.failing', { failing: 1 });
    assert.match((await admin.browser.get('/admin')).text, failing);
    receiver.status = 204;
    assert.equal((await admin.browser.post(`${path}/replay-all`)).status, 303);
    receiver.deliveries.length = 0;
    await send(signet);
    assert.equal(receiver.deliveries.length, 1, 'sent now, long before its next attempt');
    for (const page of pages) assert.doesNotMatch((await admin.browser.get(page)).text, /id="send-now-/, page);
    assert.doesNotMatch((await admin.browser.get('/admin')).text, failing);
  },
);

testSignet(
  'a delivery that waits for another attempt is sent at once on demand, and its attempts are listed',
  { env },
  async ({ signet, t }) => {
    const receiver = await openReceiver(t);
    const { admin, path, webhook_id, delivery_id } = await failingWebhook(signet, receiver);
    const replay = () => admin.browser.postJson(`/v1${path}/deliveries/${delivery_id}/replay`, {});
    assert.equal((await replay()).status, 200);
    assert.equal((await replay()).status, 409, 'it is due already');
    await send(signet);
    assert.equal(receiver.deliveries.length, 2);
    const one = await findDelivery(signet.deps, webhook_id, delivery_id);
    assert.deepEqual(
      one.attempt_list.map(({ status }) => status),
      [500, 500],
    );
    assert.equal(one.attempts, 2, 'the end of its attempts comes no later');
    const { text } = await admin.browser.get(`${path}/deliveries/${delivery_id}`);
    assert.equal(text.match(/<td data-label="Response/g)?.length, 2);
    assert.doesNotMatch(text, sentence('deliveries.attempts_made.latest', { count: 2 }));
    const attempts = JSON.stringify(Array.from({ length: 15 }, (_, at) => ({ at, status: 500, ms: 1 })));
    await plain(signet.deps.db).run('update webhook_deliveries set attempt_log = $1', [attempts]);
    const { text: full } = await admin.browser.get(`${path}/deliveries/${delivery_id}`);
    assert.match(full, sentence('deliveries.attempts_made.latest', { count: 15 }));
    const asText = async () => describeDelivery(await findDelivery(signet.deps, webhook_id, delivery_id));
    assert.match(await asText(), /The latest 15 attempts are kept\./);
    await plain(signet.deps.db).run('update webhook_deliveries set attempt_log = $1', [
      JSON.stringify(JSON.parse(attempts).slice(1)),
    ]);
    assert.doesNotMatch(await asText(), /attempts are kept/);
    assert.match(text, new RegExp(`webhook-id: ${delivery_id}`));
    assert.match(text, /webhook-signature: v1,…/);
    assert.ok(!text.includes(String(receiver.deliveries[0]!.headers['webhook-signature'])));
  },
);

testSignet(
  'administrators get one mail when a webhook has failed for an hour, and one when it was disabled for it',
  { env, mail: true },
  async ({ signet, mailbox, t }) => {
    const receiver = await openReceiver(t);
    const { admin, path } = await failingWebhook(signet, receiver);
    const enqueued = () => signet.deps.mail.enqueued;
    const before = enqueued();
    await tell(signet);
    assert.equal(enqueued(), before, 'it may be over soon');
    signet.clock.advance(3600);
    await tell(signet);
    assert.equal(enqueued(), before + 1);
    const about = (name: 'failing' | 'disabled_failing') =>
      mailbox.next(admin.email, sentence(`mail.webhook_${name}.subject`, { service: 'Signet', webhook: 'Billing' }));
    assert.match((await about('failing')).text, new RegExp(`${signet.url}${path}`));
    await tell(signet);
    assert.equal(enqueued(), before + 1, 'once');
    for (let attempt = 0; attempt < 12; attempt += 1) {
      signet.clock.advance(86_400);
      await send(signet);
    }
    await admin.signIn();
    assert.match((await admin.browser.get('/admin')).text, sentence('admin.overview.webhooks.off', { off: 1 }));
    await tell(signet);
    await about('disabled_failing');
    assert.match((await admin.browser.get(path)).text, sentence('admin.webhooks.off.failing'));
  },
);

testSignet('what an administrator disabled on purpose asks for no attention', { env }, async ({ signet, t }) => {
  const receiver = await openReceiver(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const wanted = { url: receiver.url, event_types: ['user.created'] };
  const { webhook_id } = await createWebhook(signet.deps, { actor: 'cli' }, wanted);
  assert.equal((await admin.browser.post(`/admin/webhooks/${webhook_id}/disable`)).status, 303);
  const { text } = await admin.browser.get('/admin');
  assert.doesNotMatch(text, sentence('admin.overview.webhooks.off', { off: 1 }));
});

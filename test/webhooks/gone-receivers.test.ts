import assert from 'node:assert/strict';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { createWebhook, enable } from '../../src/webhooks/manage-webhook.ts';
import { sentence } from '../support/messages.ts';
import { testSignet } from '../support/signet.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const caller = { actor: 'cli' } as const;
const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };

testSignet(
  'a receiver that answers 410 gets nothing more, and administrators see that its webhook is off and why',
  { env },
  async ({ signet, t }) => {
    const receiver = await openReceiver(t);
    const target = { url: receiver.url, event_types: ['user.created' as const] };
    const { webhook_id } = await createWebhook(signet.deps, caller, target);
    receiver.status = 410;
    await signet.newUser();
    for (let day = 0; day < 4; day += 1) {
      await runJobs(signet.deps, quickJobs);
      signet.clock.advance(86_400);
    }
    await signet.newUser();
    await runJobs(signet.deps, quickJobs);
    assert.equal(receiver.deliveries.length, 1);

    const admin = await signet.signedInUser({ role: 'admin' });
    const listed = async () =>
      ((await admin.browser.get('/v1/admin/webhooks')).json?.webhooks as Record<string, unknown>[] | undefined)?.[0] ??
      {};
    assert.ok((await listed()).disabled_at);
    assert.equal((await listed()).disabled_reason, 'gone');
    assert.match((await admin.browser.get(`/admin/webhooks/${webhook_id}`)).text, sentence('admin.webhooks.off.gone'));
    const [event] = await signet.auditLog({ action: 'webhook.disabled' });
    assert.deepEqual([event?.actor, event?.target], ['system', webhook_id]);
    assert.match(String(event?.reason), /410/);

    receiver.status = 204;
    await runJobs(signet.deps, quickJobs);
    await enable(signet.deps, caller, webhook_id);
    await signet.newUser();
    await runJobs(signet.deps, quickJobs);
    assert.equal(receiver.deliveries.length, 2, 'enabled again, it receives events');
    assert.deepEqual([(await listed()).disabled_at, (await listed()).disabled_reason], [null, null]);
  },
);

testSignet('a receiver that answers 404 or 500 stays on and is tried again', { env }, async ({ signet, t }) => {
  const receiver = await openReceiver(t);
  await createWebhook(signet.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  for (const status of [404, 500]) {
    receiver.deliveries.splice(0);
    receiver.status = status;
    await signet.newUser();
    await runJobs(signet.deps, quickJobs);
    receiver.status = 204;
    signet.clock.advance(60);
    await runJobs(signet.deps, quickJobs);
    assert.equal(receiver.deliveries.length, 2, String(status));
  }
});

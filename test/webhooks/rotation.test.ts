import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet } from '../support/signet.ts';
import { openReceiver, type ReceivedDelivery } from '../support/webhook-receiver.ts';

const env = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };

/** Standard Webhooks: which of the secrets a delivery is signed with. */
const signedBy = ({ headers, body }: ReceivedDelivery, secrets: readonly string[]) =>
  secrets.filter((secret) => {
    const hmac = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'));
    hmac.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
    return String(headers['webhook-signature'])
      .split(' ')
      .includes(`v1,${hmac.digest('base64')}`);
  });

onBothEngines(
  'a rotated secret signs beside the new one for as long as was asked, and then no more',
  async (t, engine) => {
    const signet = await startSignet(t, { engine, env });
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const receiver = await openReceiver(t);
    const { webhook_id, secret: first } = await createWebhook(
      signet.deps,
      { actor: 'cli' },
      { url: receiver.url, event_types: ['user.created'] },
    );
    const rotate = async (body?: object) => {
      const { status, json, text } = await browser.postJson(`/v1/admin/webhooks/${webhook_id}/rotate-secret`, body);
      assert.equal(status, 200, text);
      return json as { secret: string; previous_expires_at: number };
    };
    const secrets = [first];
    const signers = async () => {
      await signet.newUser();
      await runJobs(signet.deps, quickJobs);
      return signedBy(receiver.deliveries.at(-1)!, secrets);
    };
    const second = await rotate({ overlap_seconds: 600 });
    secrets.push(second.secret);
    assert.equal(second.previous_expires_at, signet.clock() / 1000 + 600);
    assert.deepEqual(await signers(), [first, second.secret]);
    signet.clock.advance(600);
    assert.deepEqual(await signers(), [second.secret], 'at its end the old one signs nothing');

    const third = await rotate({});
    secrets.push(third.secret);
    assert.equal(third.previous_expires_at, signet.clock() / 1000 + 86_400, 'a day, unless it is said otherwise');
    assert.deepEqual(await signers(), [second.secret, third.secret]);
    const fourth = await rotate({ overlap_seconds: 0 });
    secrets.push(fourth.secret);
    assert.deepEqual(await signers(), [fourth.secret], 'one that has leaked ends at once, with all before it');
    const fifth = await rotate({ overlap_seconds: 60 });
    const stored = await plain(signet.deps.db).all('select * from webhooks');
    assert.ok(![...secrets, fifth.secret].some((secret) => JSON.stringify(stored).includes(secret)), 'sealed');

    for (const overlap_seconds of [-1, 86_401, 1.5, 'x']) {
      const refused = await browser.postJson(`/v1/admin/webhooks/${webhook_id}/rotate-secret`, { overlap_seconds });
      assert.deepEqual([refused.status, refused.json?.error], [400, 'invalid_request']);
    }
    const typed = await browser.post(`/admin/webhooks/${webhook_id}/rotate-secret`, { overlap_seconds: 'soon' });
    assert.equal(typed.status, 400);
    secrets.push(fifth.secret);
    assert.deepEqual(await signers(), [fourth.secret, fifth.secret], 'what was refused has changed nothing');
  },
);

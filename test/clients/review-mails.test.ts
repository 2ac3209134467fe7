import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

const mailsWaiting = async ({ deps }: Signet) =>
  (await plain(deps.db).all<{ mails: number }>('select count(*) as mails from outgoing_mails'))[0]?.mails;

testSignet('owners hear what was decided about their clients, and why', { mail: true }, async ({ signet, mailbox }) => {
  const reviewer = await signet.signedInUser({ role: 'admin' });
  const owner = await signet.signedInUser({ name: 'Priya' });
  await owner.browser.patch('/v1/me', { locale: 'de' });
  const { client_id } = await signet.registerClient({ owner, name: 'Quarry', approved: false });
  const url = `${signet.url}/developer/clients/${client_id}`;
  const decide = async (act: string, body: object = {}) => {
    const answer = await reviewer.browser.postJson(`/v1/admin/clients/${client_id}/${act}`, body);
    assert.equal(answer.status, 200, answer.text);
  };
  const mailAbout = async (decision: 'approved' | 'change_rejected' | 'rejected' | 'suspended' | 'reinstated') => {
    const subject = sentence(`mail.client_${decision}.subject`, { app: 'Quarry', service: 'Signet' }, 'de');
    const { text } = await mailbox.next(owner.email, subject);
    assert.ok(text.includes(url), text);
    assert.ok(text.includes(message('mail.footer_owner', { service: 'Signet' }, 'de')), text);
    return text;
  };
  const reason = 'Zeigt auf fremde Adressen.';
  await decide('reject', { reason });
  assert.ok((await mailAbout('rejected')).includes(reason));
  const edited = (homepage_url: string) => owner.browser.patch(`/v1/oauth/clients/${client_id}`, { homepage_url });
  assert.equal((await edited('https://quarry.example/')).status, 200);
  await decide('approve', { revision: 2 });
  await mailAbout('approved');
  assert.equal((await edited('https://quarry.example/new')).status, 200);
  await decide('reject', { reason, revision: 3 });
  assert.ok((await mailAbout('change_rejected')).includes(reason));
  await decide('suspend', { reason });
  assert.ok((await mailAbout('suspended')).includes(reason));
  await decide('reinstate');
  await mailAbout('reinstated');
});

testSignet('a decision that is refused, or about a client without an owner, sends no mail', async ({ signet }) => {
  const reviewer = await signet.signedInUser({ role: 'admin' });
  const { client_id } = await signet.registerClient({ approved: false });
  const decide = (act: string, body: object) =>
    reviewer.browser.postJson(`/v1/admin/clients/${client_id}/${act}`, body);
  const before = await mailsWaiting(signet);
  assert.equal((await decide('suspend', { reason: 'No.' })).status, 409);
  assert.equal((await decide('approve', { revision: 7 })).status, 409);
  await plain(signet.deps.db).run('update clients set owner_user_id = null where client_id = $1', [client_id]);
  assert.equal((await decide('approve', { revision: 1 })).status, 200);
  assert.equal(await mailsWaiting(signet), before);
});

testSignet('administrators get one mail a day while clients wait', { mail: true }, async ({ signet, mailbox }) => {
  const administrators = [await signet.newUser({ role: 'admin' }), await signet.newUser({ role: 'admin' })];
  const run = async () => assert.ok(await runJobs(signet.deps, ['remind reviewers']));
  const reminded = async (count: number) => {
    for (const { email } of administrators) {
      const subject = sentence('mail.reviews_waiting.subject', { service: 'Signet', count });
      const { text } = await mailbox.next(email, subject);
      assert.ok(text.includes(`${signet.url}/admin/clients`), text);
    }
  };
  const enqueued = () => signet.deps.mail.enqueued;
  await run();
  assert.equal(enqueued(), 0); // nothing waits
  await signet.registerClient({ approved: false });
  await Promise.all([run(), run()]);
  await reminded(1);
  await until('no mail waits', async () => (await mailsWaiting(signet)) === 0); // received mail is in the queue for a moment
  signet.clock.advance(80_000);
  await run();
  assert.equal(await mailsWaiting(signet), 0);
  await signet.registerClient({ approved: false });
  signet.clock.advance(6401);
  await run();
  await reminded(2);
});

test('the operator can turn the mails to administrators off', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_REVIEW_MAILS: 'off' } });
  await signet.newUser({ role: 'admin' });
  await signet.registerClient({ approved: false });
  const before = await mailsWaiting(signet);
  await runJobs(signet.deps, ['remind reviewers']);
  assert.equal(await mailsWaiting(signet), before);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runJobs } from '../../src/app/jobs.ts';
import { message, sentence } from '../support/messages.ts';
import { bringClient } from '../support/outside-clients.ts';
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

testSignet(
  'the mail to administrators names the clients that wait, and nothing in it that a developer wrote is a link',
  { mail: true },
  async ({ signet, mailbox }) => {
    const [{ email }, german] = [await signet.newUser({ role: 'admin' }), await signet.signedInUser({ role: 'admin' })];
    await german.browser.patch('/v1/me', { locale: 'de' });
    const owner = await signet.signedInUser({ name: 'Priya of www.evil.example' });
    const first = await signet.registerClient({ owner, name: 'Quarry https://evil.example/approve', approved: false });
    const changed = await signet.registerClient({ owner, name: 'Harbour' });
    const db = plain(signet.deps.db);
    const note = `Please\n\nReview me here:\nhttp://evil.example/${'x'.repeat(400)}`;
    await db.run('update clients set note_to_reviewer = $1, created_at = 1 where client_id = $2', [
      note,
      first.client_id,
    ]);
    // As an earlier version may have let it in.
    await db.run(
      `update clients set name = $1, created_at = 2, pending_change = '{"name":"Port"}' where client_id = $2`,
      ['Harbour\n\nAll of this is fine\u202e', changed.client_id],
    );
    for (let more = 0; more < 20; more += 1) await signet.registerClient({ name: `Quay ${more}`, approved: false });
    assert.ok(await runJobs(signet.deps, ['remind reviewers']));
    const { text } = await mailbox.next(email, sentence('mail.reviews_waiting.subject', { count: 22 }));
    const written = 'Please Review me here: http://evil.example/'.length;
    const by = `Priya of www[.]evil[.]example, ${owner.email}`;
    const at = (line: string) => {
      assert.ok(text.split('\n').includes(line), `${line} is not a line of\n${text}`);
      return text.indexOf(line);
    };
    const app = 'Quarry https[:]//evil[.]example/approve';
    const places = [
      at(message('mail.reviews_waiting.new', { app, owner: by })),
      at(
        message('mail.reviews_waiting.note', {
          note: `Please Review me here: http[:]//evil[.]example/${'x'.repeat(300 - written)}…`,
        }),
      ),
      at(message('mail.reviews_waiting.change', { app: 'Harbour All of this is fine[U+202E]', owner: by })),
    ];
    assert.deepEqual(
      places,
      places.toSorted((one, other) => one - other),
    );
    assert.match(text, new RegExp(message('admin.risk.first_client')));
    at(message('mail.reviews_waiting.more', { more: 12 }));
    assert.deepEqual([...new Set(text.match(/https?:\/\/[^/\s]+|\bevil\.example/g))], [signet.url]);
    assert.equal(text.match(/^- “/gm)?.length, 10);
    const other = await mailbox.next(german.email);
    assert.ok(other.text.includes(message('mail.reviews_waiting.more', { more: 12 }, 'de')), other.text);
    assert.ok(other.text.includes(message('admin.risk.first_client', {}, 'de')), other.text);
  },
);

test('the operator can turn the mails to administrators off', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_REVIEW_MAILS: 'off' } });
  await signet.newUser({ role: 'admin' });
  await signet.registerClient({ approved: false });
  const before = await mailsWaiting(signet);
  await runJobs(signet.deps, ['remind reviewers']);
  assert.equal(await mailsWaiting(signet), before);
});

test('a client that came by itself is in the mail once a user has asked for its review, with its host', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const client_id = await bringClient(signet, 'https://notes.example.com/client.json');
  await signet.runJobs();
  assert.equal((await user.browser.post('/review-request', { client_id })).status, 303);
  signet.clock.advance(3600);
  await signet.runJobs();
  const subject = sentence('mail.reviews_waiting.subject', { service: 'Signet', count: 1 });
  const { text } = await signet.mailbox.next(admin.email, subject);
  assert.ok(text.includes('notes.example.com'), text);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkMailboxes } from '../../src/app/doctor/store-checks.ts';
import { emailKey, emailProblem, readableEmail } from '../../src/platform/email-address.ts';
import { newUserIn } from '../support/buckets.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { testSignet } from '../support/signet.ts';

const spellings = ['ida@bücher.example', 'Ida@BÜCHER.example.', 'ida@xn--bcher-kva.example', 'ida@bücher。example'];

testSignet('all spellings of an international domain are one mailbox', { mail: true }, async ({ signet, mailbox }) => {
  const user = await signet.newUser({ email: 'ida@xn--bcher-kva.example' });
  const admin = await signet.signedInUser({ role: 'admin' });
  for (const spelling of spellings) {
    const one = user.with({ email: spelling }).elsewhere();
    assert.equal((await one.signIn()).location, '/account', spelling);
    const found = await admin.browser.get(`/v1/admin/users?${new URLSearchParams({ query: spelling })}`);
    assert.deepEqual(
      (found.json?.users as { user_id: string; email: string }[] | undefined)?.map(({ user_id, email }) => [
        user_id,
        email,
      ]),
      [[user.user_id, 'ida@bücher.example']],
      'people see its own letters',
    );
    const invited = await admin.browser.postJson('/v1/admin/users/invite', { email: spelling, reason: 'Test' });
    assert.equal(invited.status, 409, invited.text);
  }
  for (let round = 0; round < 2; round += 1) {
    for (const email of spellings) await signet.newBrowser().post('/reset', { email });
  }
  await signet.deps.mail.deliver();
  const resets = mailbox.mails.filter(({ text }) => text.includes('/reset/ln_'));
  assert.equal(resets.length, 5, 'the limit is one, too');
  for (const { headers } of resets) assert.match(headers, /^To: ida@xn--bcher-kva\.example$/m);
  const { browser } = await user.signedInElsewhere();
  assert.equal((await browser.delete('/v1/me', { email: spellings[3] })).status, 204);
});

testSignet(
  'an address by which servers route elsewhere is refused with a sentence',
  { mail: true },
  async ({ signet }) => {
    const { browser } = await signet.signedInUser();
    for (const email of [
      'a%b.example@c.example',
      'c.example!a@b.example',
      '=?utf-8?q?a?=@b.example',
      'a％b@c.example',
    ]) {
      assert.match(
        (await signet.newBrowser().post('/signup', { email })).text,
        sentence('problem.email.routed'),
        email,
      );
      const refused = await browser.postJson('/v1/me/email', { email });
      assert.equal(refused.status, 400);
      assert.match(refused.text, sentence('problem.email.routed'));
    }
  },
);

testSignet(
  'keys of the version before are found, written anew after a day, and two that are one mailbox are shown',
  {},
  async ({ signet }) => {
    const { db } = signet.deps;
    const alone = await signet.newUser({ email: 'ada@bücher.example' });
    const first = await signet.newUser({ email: 'ida@bücher.example' });
    const second = await newUserIn(signet, db.of(first.user_id));
    for (const part of db.parts)
      await plain(part).run('update schema_migrations set applied_at = $1', [signet.clock() / 1000]);
    const asBefore = (user_id: string, email: string) =>
      plain(db).run('update users set email = $1, email_key = $1 where user_id = $2', [email, user_id]);
    await asBefore(alone.user_id, 'ada@xn--bcher-kva.example');
    await asBefore(first.user_id, 'ida@bücher.example');
    await asBefore(second.user_id, 'ida@xn--bcher-kva.example');
    const admin = await signet.signedInUser({ role: 'admin' });
    const signsIn = async (user: typeof alone, email: string) =>
      (await user.with({ email }).elsewhere().signIn()).status === 303;
    const keys = async () =>
      (
        await plain(db).all<{ email_key: string }>('select email_key from users where user_id = $1', [alone.user_id])
      )[0];

    await signet.runJobs();
    assert.equal((await keys())?.email_key, 'ada@xn--bcher-kva.example', 'nodes of the version before find it');
    for (const email of ['ada@xn--bcher-kva.example', 'ada@bücher.example']) assert.ok(await signsIn(alone, email));

    signet.clock.advance(86_400);
    await signet.runJobs();
    await signet.runJobs();
    assert.equal((await keys())?.email_key, 'ada@bücher.example');
    for (const email of ['ada@xn--bcher-kva.example', 'ada@bücher.example']) assert.ok(await signsIn(alone, email));
    assert.ok(await signsIn(first, 'ida@bücher.example'));
    assert.ok(await signsIn(second, 'ida@xn--bcher-kva.example'), 'each by its own spelling');

    const { browser } = await admin.signedInElsewhere();
    const shown = async () =>
      (
        (await browser.get('/v1/admin/users?filter=same_mailbox')).json?.users as { user_id: string }[] | undefined
      )?.map(({ user_id }) => user_id);
    assert.deepEqual(await shown(), [second.user_id]);
    assert.match(
      (await browser.get(`/admin/users/${second.user_id}`)).text,
      new RegExp(`same-mailbox.*${first.user_id}`),
    );
    assert.match(signet.logLines.join(), /--filter same_mailbox/);
    const { state, found, remedy } = await checkMailboxes(db);
    assert.deepEqual([state, found.split(' the ')[0]], ['warning', '1 account has']);
    assert.match(remedy ?? '', /^Run: signet users list --filter same_mailbox\./);

    const reason = 'Another account of the same person';
    const changed = await browser.patch(`/v1/admin/users/${first.user_id}`, { email: 'old@example.com', reason });
    assert.equal(changed.status, 200, changed.text);
    await signet.runJobs();
    assert.deepEqual(await shown(), []);
    assert.equal((await checkMailboxes(db)).state, 'ok');
    assert.ok(await signsIn(second, 'ida@bücher.example'));
  },
);

testSignet(
  'a user corrects capitals and domain of their address at once, without a link',
  { mail: true },
  async ({ signet, mailbox }) => {
    const user = await signet.signedInUser({ email: 'ada@example.test' });
    const answer = await user.browser.postJson('/v1/me/email', { email: 'Ada@Example.test' });
    assert.equal(answer.status, 202, answer.text);
    const me = (await user.browser.get('/v1/me')).json;
    assert.deepEqual([me?.email, me?.email_verified], ['Ada@Example.test', true]);
    const [event] = await signet.auditLog({ action: 'email.changed' });
    assert.deepEqual([event?.actor, event?.target], [`user:${user.user_id}`, user.user_id]);
    await signet.deps.mail.deliver();
    assert.deepEqual(mailbox.mails, []);
    const form = await user.browser.post('/account/email/change', { email: 'ADA@example.test' });
    assert.match((await user.browser.get(form.location)).text, sentence('email.done.respelled'));
    assert.equal(
      (await user.browser.postJson('/v1/me/email', { email: 'ADA@example.test' })).status,
      400,
      'the very same',
    );

    const other = await user.browser.postJson('/v1/me/email', { email: 'eda@example.test' });
    assert.equal(other.status, 202);
    assert.equal((await user.browser.get('/v1/me')).json?.email, 'ADA@example.test', 'another mailbox needs a link');
    await signet.deps.mail.deliver();
    linkIn(await mailbox.next('eda@example.test'), /^\/verify-email\/./);
  },
);

testSignet('letters beyond ASCII before the @ can be typed where an address is', {}, async ({ signet }) => {
  const user = await signet.newUser({ email: 'jürgen@example.test' });
  for (const path of ['/signin']) assert.doesNotMatch((await signet.newBrowser().get(path)).text, /type="email"/);
  const { browser } = await user.signedInElsewhere();
  for (const path of ['/account/email/change', '/account/delete']) {
    assert.match((await browser.get(path)).text, /name="email" type="text"/, 'the browser does not refuse the letters');
  }
  assert.equal((await browser.delete('/v1/me', { email: 'JÜRGEN@example.test' })).status, 204);
});

test('one key for one mailbox, and labels that deceive are shown in ASCII', () => {
  for (const spelling of spellings) assert.equal(emailKey(spelling), 'ida@bücher.example');
  assert.notEqual(emailKey('ida@faß.example'), emailKey('ida@fass.example'));
  const shown = {
    'a@xn--80ak6aa92e.com': 'a@xn--80ak6aa92e.com',
    'a@аррӏе.com': 'a@xn--80ak6aa92e.com',
    'a@paypаl.com': 'a@xn--paypl-7ve.com',
    'a@xn--e1afmkfd.xn--p1ai': 'a@пример.рф',
    'a@例え.jp': 'a@例え.jp',
    'a@i❤.ws': 'a@xn--i-7iq.ws',
    'Ada@Example.TEST': 'Ada@Example.TEST',
    'a@example.com.': 'a@example.com',
  };
  for (const [typed, readable] of Object.entries(shown)) {
    assert.equal(readableEmail(typed), readable);
    assert.equal(emailKey(readable), emailKey(typed));
  }
  for (const email of ['a@b..c', 'a@.b', 'a@b/c.example', 'a@b#c', `a@${'ü'.repeat(60)}.example`, 'a@b?c.ü']) {
    assert.equal(emailProblem(email), 'problem.email.malformed', email);
  }
});

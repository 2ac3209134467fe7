import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emailKey } from '../../src/platform/email-address.ts';
import { digest } from '../../src/platform/ids.ts';
import { findRefusal } from '../../src/platform/mail/refusals.ts';
import { settingsOf, succeed } from '../support/command-line.ts';
import { openMailbox } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const path = '/admin/users/refused-addresses';
const refusal = { command: 'RCPT TO', code: 550, text: '5.1.1 no such user' } as const;

async function askForReset(signet: Signet, email: string): Promise<void> {
  assert.equal((await signet.newBrowser().post('/reset', { email })).status, 303);
  await signet.deps.mail.deliver();
}

testSignet(
  'an address that refuses mail is listed with what the server said, and shown at its person, until a mail is accepted',
  { mail: true },
  async ({ signet, mailbox }) => {
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const { user_id, email } = await signet.newUser();
    const listed = async () => (await browser.get('/v1/admin/refused-addresses')).json?.refused as object[];
    const atPerson = async () => (await browser.get(`/v1/admin/users/${user_id}`)).json?.mail_refusal;
    assert.deepEqual([await listed(), await atPerson()], [[], null]);

    mailbox.answers = refusal;
    await askForReset(signet, email);
    const at = signet.clock() / 1000;
    const told = { email, answer: '550 5.1.1 no such user', first_at: at, last_at: at, count: 1 };
    assert.deepEqual([await listed(), await atPerson()], [[told], told]);
    signet.clock.advance(600);
    mailbox.answers = { ...refusal, text: '5.2.1 mailbox disabled' };
    await askForReset(signet, email);
    const again = { ...told, answer: '550 5.2.1 mailbox disabled', last_at: at + 600, count: 2 };
    assert.deepEqual(await listed(), [again]);

    for (const page of [path, `/admin/users/${user_id}`]) {
      const { text } = await browser.get(page);
      assert.match(text, /<code><bdi>550 5\.2\.1 mailbox disabled<\/bdi><\/code>/, page);
    }
    mailbox.answers = undefined;
    signet.clock.advance(600);
    await askForReset(signet, email);
    assert.deepEqual([await listed(), await atPerson()], [[], null]);
    assert.match((await browser.get(path)).text, sentence('admin.refused.none'));
    assert.doesNotMatch((await browser.get(`/admin/users/${user_id}`)).text, /mail-refused/);
  },
);

testSignet(
  'a refusal that may pass, or is of the sender, is none of the address',
  { mail: true },
  async ({ signet, mailbox }) => {
    const answers = [
      { command: 'RCPT TO', code: 450, text: '4.2.0 greylisted' },
      { command: 'MAIL FROM', code: 550, text: '5.7.1 sender not allowed' },
    ] as const;
    for (const one of answers) {
      const { email } = await signet.newUser();
      mailbox.answers = one;
      await askForReset(signet, email);
      assert.equal(await findRefusal(signet.deps, email), undefined, one.text);
    }
  },
);

testSignet('a refusal is forgotten after 30 days', { mail: true }, async ({ signet, mailbox }) => {
  const { email } = await signet.newUser();
  mailbox.answers = refusal;
  await askForReset(signet, email);
  signet.clock.advance(30 * 86_400 - 60);
  await signet.runJobs();
  assert.ok(await findRefusal(signet.deps, email));
  signet.clock.advance(7200);
  await signet.runJobs();
  assert.equal(await findRefusal(signet.deps, email), undefined);
});

test('an address is one, however it is spelled, and the list has pages', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_RATE_LIMITS: 'off' } });
  const { mailbox } = signet;
  const { browser } = await signet.signedInUser({ role: 'admin' });
  mailbox.answers = refusal;
  for (let count = 0; count < 3; count += 1) {
    await signet.newBrowser().post('/signup', { email: `person${count}@example.com` });
    await signet.deps.mail.deliver();
    signet.clock.advance(1);
  }
  await signet.newBrowser().post('/signup', { email: 'PERSON0@Example.com' });
  await signet.deps.mail.deliver();
  const seen: string[] = [];
  let before = '';
  do {
    const query = new URLSearchParams({ limit: '2', ...(before && { before }) });
    const { json } = await browser.get(`/v1/admin/refused-addresses?${query}`);
    const page = json as { refused: { email: string }[]; next: string | null };
    seen.push(...page.refused.map(({ email }) => email.toLowerCase()));
    before = page.next ?? '';
  } while (before !== '');
  assert.deepEqual(seen, ['person0@example.com', 'person2@example.com', 'person1@example.com']);
  assert.equal((await browser.get('/v1/admin/refused-addresses?before=x')).status, 400);
  const printed = await succeed(['mail', 'refused'], settingsOf(signet));
  assert.equal((printed.refused as object[]).length, 3);
});

test('what cannot be written to by this mail server says so', async (t) => {
  const old = await openMailbox(t, { hidesUtf8: true });
  const signet = await startSignet(t, { env: { SIGNET_SMTP_URL: old.url } });
  await signet.newUser({ email: 'jürgen@example.com' });
  await askForReset(signet, 'jürgen@example.com');
  const { answer } = (await findRefusal(signet.deps, 'jürgen@example.com')) ?? {};
  assert.equal(answer, 'the mail server does not offer SMTPUTF8, which this address needs');
});

test('no more addresses are kept in a part of the store than ten thousand, of which the oldest go', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  const part = plain(signet.deps.db.of(digest(emailKey(email))));
  await part.run(
    `insert into refused_addresses (address_hash, email, answer, first_at, last_at, count)
     with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 10001)
     select 'hash' || n, 'a' || n || '@example.com', '550', n, n, 1 from numbers`,
    [],
  );
  mailbox.answers = refusal;
  await askForReset(signet, email);
  const [{ kept, oldest } = {}] = await part.all<{ kept: number; oldest: number }>(
    'select count(*) as kept, min(last_at) as oldest from refused_addresses',
  );
  assert.deepEqual([kept, oldest], [10_001, 2]);
});

test('the answer of a mail server is text, and holds no password of it', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { browser } = await signet.signedInUser({ role: 'admin' });
  const { email } = await signet.newUser();
  mailbox.answers = { ...refusal, text: `5.1.1 <script>alert(1)</script> ${'x'.repeat(900)}` };
  await askForReset(signet, email);
  assert.doesNotMatch((await browser.get(path)).text, /<script>alert/);
  assert.ok(((await findRefusal(signet.deps, email))?.answer.length ?? 0) <= 501);
});

test('the list is for those who may read of users', async (t) => {
  const signet = await startSignet(t);
  const { browser } = await signet.signedInUser();
  assert.equal((await browser.get(path)).status, 403);
  assert.equal((await browser.get('/v1/admin/refused-addresses')).status, 403);
});

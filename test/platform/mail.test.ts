import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../src/app/config.ts';
import { closeDeps } from '../../src/app/open-deps.ts';
import { locales } from '../../src/platform/i18n/translate.ts';
import { composeMail, type LetterName, letters, mailTo } from '../../src/platform/mail/letters.ts';
import { claimMail, dueMails, insertMail } from '../../src/platform/mail/store.ts';
import { messageOf, smtpOptions } from '../../src/platform/mail/transport.ts';
import { newBrowser } from '../support/browser.ts';
import { onBothEngines } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import { linkIn, openMailbox, waitingMails } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const ask = (signet: Signet, email: string) => signet.newBrowser().post('/reset', { email });

/** Waits until the mail that is due has been tried, by whichever node. */
async function untilTried(signet: Signet, attempts: number): Promise<void> {
  await until(`the mail was tried ${attempts} times`, async () => {
    const [mail] = await waitingMails(signet);
    return mail !== undefined && mail.attempts >= attempts;
  });
}

testSignet(
  'a mail is sent once, whichever of the nodes looks for it',
  { mail: true },
  async ({ signet, mailbox, t }) => {
    const beside = await startSignet(t, { beside: signet, mail: true });
    const users = [];
    for (let count = 0; count < 4; count += 1) users.push(await signet.newUser());
    await Promise.all(users.map(({ email }) => ask(signet, email)));
    await Promise.all([signet, beside, signet, beside].map((node) => node.runJobs()));
    for (const { email } of users) await mailbox.next(email);
    signet.clock.advance(3600);
    await Promise.all([signet, beside].map((node) => node.runJobs()));
    assert.equal(mailbox.mails.length, 4);
    assert.deepEqual(await waitingMails(signet), []);
  },
);

testSignet(
  "one user's mails delay those of another by one, and none that a user waits for",
  { mail: true },
  async ({ signet, mailbox }) => {
    const [busy, other, waiting] = [await signet.signedInUser(), await signet.signedInUser(), await signet.newUser()];
    const changePassword = async ({ browser }: TestUser) =>
      assert.equal((await browser.postJson('/v1/me/password', { password: 'harbour velvet cactus' })).status, 204);
    const held = mailbox.holdNext();
    await changePassword(busy);
    await held.reached;
    for (let count = 0; count < 8; count += 1) await changePassword(busy);
    await changePassword(other);
    await ask(signet, waiting.email);
    held.release();
    await signet.deps.mail.deliver();
    await signet.deps.mail.deliver();
    const order = mailbox.mails.map(({ to }) => to);
    assert.equal(order.length, 11);
    // In several parts of the store, which take turns, one of each other part may be before it.
    const before = signet.deps.db.parts.length === 1 ? 1 : 2;
    assert.ok(order.indexOf(waiting.email) <= before, order.join());
    assert.ok(order.indexOf(other.email) <= 3, order.join());
  },
);

test('mails that follow each other share a connection, and one that the server has closed delays none', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const mailTo = async (to: string) => {
    await plain(signet.deps.db.shared).batch(signet.deps.mail.enqueue({ to, subject: 'Hello', text: 'World' }));
    await signet.deps.mail.deliver();
    assert.equal(mailbox.mails.at(-1)?.to, to);
  };
  for (const to of ['a@example.com', 'b@example.com', 'c@example.com']) await mailTo(to);
  assert.equal(mailbox.connections, 1);
  await mailbox.hangUp();
  await mailTo('d@example.com');
  assert.equal(mailbox.connections, 2);
});

test('what is to be sent is found by indexes, however many mails wait', async (t) => {
  const signet = await startSignet(t, { engine: 'sqlite' });
  const mail = { mail_id: 'mail_1', message_sealed: '', recipient_hash: 'a', isPrompt: true };
  for (const { sql, params } of [insertMail(mail, 1), dueMails({ now: 1, limit: 4 })]) {
    const steps = await plain(signet.deps.db).all<{ detail: string }>(`explain query plan ${sql}`, params);
    const details = steps.map(({ detail }) => detail);
    assert.ok(details.some((detail) => detail.startsWith('SEARCH outgoing_mails USING')));
    assert.deepEqual(
      details.filter((detail) => /SCAN outgoing_mails|TEMP B-TREE/.test(detail)),
      [],
    );
  }
});

testSignet('a mail outlives a server that refuses it', { mail: true }, async ({ signet, mailbox }) => {
  const { email } = await signet.newUser();
  mailbox.refuses = true;
  assert.equal((await ask(signet, email)).status, 303, 'the requester does not wait for the mail server');
  await untilTried(signet, 1);
  await signet.runJobs();
  assert.equal((await waitingMails(signet))[0]?.attempts, 1, 'tried again before its time');
  signet.clock.advance(30);
  await signet.runJobs();
  assert.equal((await waitingMails(signet))[0]?.attempts, 2);
  mailbox.refuses = false;
  signet.clock.advance(120);
  await signet.runJobs();
  const mail = await mailbox.next(email);
  assert.equal((await signet.newBrowser().get(linkIn(mail, /^\/reset\/./))).status, 200);
  assert.deepEqual(await waitingMails(signet), []);
  assert.equal(mailbox.mails.length, 1);
});

testSignet(
  'a node that stops ends the delivery that runs, begins no other, and logs no error',
  { mail: true },
  async ({ signet, mailbox }) => {
    const users = [await signet.newUser(), await signet.newUser()];
    const [first] = await Promise.all(users.map(({ email }) => ask(signet, email)));
    assert.equal(first?.status, 303); // from now on a timer looks for the mails as well
    const delivery = signet.deps.mail.deliver();
    await signet.app.close();
    await closeDeps(signet.deps);
    await delivery;
    await signet.deps.mail.deliver();
    await sleep(150); // the first look of the timer is 100 ms after the promise
    assert.ok(mailbox.mails.length <= 1, 'the one that was on its way');
    const errors = signet.logLines.filter((line) => JSON.parse(line).level >= 50);
    assert.deepEqual(errors, []);
  },
);

test('a mail that is never accepted is given up in the end, and the log says so without its text', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  mailbox.refuses = true;
  await ask(signet, email);
  await untilTried(signet, 1);
  for (let tries = 0; tries < 9; tries += 1) {
    signet.clock.advance(28_800);
    await signet.runJobs();
  }
  assert.deepEqual(await waitingMails(signet), []);
  const log = signet.logLines.join('\n');
  assert.match(log, /an email could not be delivered/);
  assert.doesNotMatch(log, /\/reset\//);
  assert.ok(!log.includes(email));
});

onBothEngines('a mail outlives the node that promised it', async (t, engine) => {
  const dead = `smtp://127.0.0.1:${await freePort()}`;
  const signet = await startSignet(t, { engine, mail: true, env: { SIGNET_SMTP_URL: dead } });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  await ask(signet, email);
  await untilTried(signet, 1);
  await signet.deps.mail.close(); // on a busy machine its timers would look again only after the clock was moved
  const beside = await startSignet(t, { beside: signet, mail: true });
  signet.clock.advance(30);
  const [mail] = await waitingMails(signet);
  // A node that died between taking the mail and sending it.
  assert.ok(mail && (await claimMail(mail.part, mail, signet.clock() / 1000 + 120)));
  await beside.runJobs();
  assert.equal(mailbox.mails.length, 0);
  signet.clock.advance(120);
  await beside.runJobs();
  linkIn(await mailbox.next(email), /^\/reset\/./);
});

test('a mail server that cannot be reached is tried with one mail, not with all of them', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_SMTP_URL: `smtp://127.0.0.1:${await freePort()}` } });
  for (let count = 0; count < 3; count += 1) await ask(signet, (await signet.newUser()).email);
  await untilTried(signet, 0);
  await signet.runJobs();
  const attempts = (await waitingMails(signet)).map((mail) => mail.attempts);
  assert.equal(attempts.length, 3);
  assert.ok(attempts.every((tried) => tried <= 1) && attempts.includes(1));
});

testSignet('no table holds a link, nor the mail with it', { mail: true }, async ({ signet, mailbox }) => {
  const { db } = signet.deps;
  mailbox.refuses = true;
  const { email } = await signet.newUser();
  await ask(signet, email);
  await signet.newBrowser().post('/signup', { email: 'sealed@example.com' });
  const names =
    db.engine === 'sqlite'
      ? await plain(db).all<{ name: string }>(`select name from sqlite_schema where type = 'table'`)
      : await plain(db).all<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`);
  const tables = [];
  for (const { name } of names) tables.push(JSON.stringify(await plain(db).all(`select * from ${name}`)));
  const mails = await waitingMails(signet);
  assert.equal(mails.length, 2);
  const texts = mails.map(({ mail_id, message_sealed }) =>
    signet.deps.vault.mail.open(`mail:${mail_id}`, message_sealed),
  );
  for (const text of texts) {
    const [, token = ''] = /(ln_[\w-]{43})/.exec(text) ?? [];
    assert.ok(token);
    for (const form of [token, Buffer.from(token).toString('base64url'), Buffer.from(token).toString('hex')]) {
      assert.ok(!tables.join().includes(form));
    }
  }
  assert.ok(!tables.join().includes('Hello'));
});

test('a mail that was queued before mail had a key of its own is sent', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  const { db, vault } = signet.deps;
  const sealed = vault.seal('mail:mail_old', JSON.stringify({ to: 'old@example.com', subject: 'Old', text: 'Old' }));
  const { sql, params } = insertMail(
    { mail_id: 'mail_old', message_sealed: sealed, recipient_hash: '', isPrompt: false },
    1_800_000_000,
  );
  await plain(db).run(sql, params);
  await signet.deps.mail.deliver();
  await mailbox.next('old@example.com');
});

test('a mail has one recipient, and looks the same at each attempt', async (t) => {
  const signet = await startSignet(t, {
    mail: true,
    env: {
      SIGNET_NAME: 'Ünity',
      SIGNET_MAIL_FROM: 'Ünity <id@id.example>',
    },
  });
  const { mailbox } = signet;
  const { email } = await signet.newUser();
  await ask(signet, email);
  const { headers, subject, text } = await mailbox.next(email);
  assert.match(subject, /Ünity/);
  assert.match(headers, /^Auto-Submitted: auto-generated$/im);
  assert.match(headers, /^Date: Fri, 15 Jan 2027 08:00:00 \+0000$/im);
  assert.match(headers, /^Message-ID: <mail_[\w-]{22}@id\.example>$/im);
  assert.match(headers, /^From: .*<id@id\.example>$/im);
  assert.match(
    text,
    /\n\nhttp:\/\/localhost:\d+\/reset\/ln_[\w-]{43}\n\n/,
    'the link does not stand on a line of its own',
  );
  assert.match(text, sentence('mail.reset.text', { minutes: 30 }));
});

test('nothing that a mail carries becomes a header or another recipient', async () => {
  const { createTransport } = await import('nodemailer');
  const nowhere = createTransport({ streamTransport: true, buffer: true });
  const mail = {
    mail_id: 'mail_1',
    created_at: 1_800_000_000,
    to: 'a@example.com, evil@example.com',
    subject: 'Hello\r\nBcc: evil@example.com\r\n\u2028x',
    text: 'Text\r\n.\r\nBcc: evil@example.com',
  };
  const { message, envelope } = await nowhere.sendMail(
    messageOf(mail, readConfig({ SIGNET_MAIL_FROM: 'Signet <no-reply@localhost>' })),
  );
  assert.equal(envelope.from, 'no-reply@localhost');
  assert.deepEqual(envelope.to, ['"a@example.com, evil"@example.com']); // one, and of no user
  const [head = ''] = message.toString().split('\r\n\r\n');
  assert.doesNotMatch(head, /^bcc:/im);
  assert.match(head, /^Subject: Hello Bcc: evil@example.com x$/m);
});

test('a password for a mail server elsewhere is sent over TLS or not at all', () => {
  const tls = (url: string) => {
    const { secure, requireTLS, ignoreTLS } = smtpOptions(url);
    return { secure, requireTLS, ignoreTLS };
  };
  assert.deepEqual(tls('smtp://user:pa%40ss@mail.example.com:587'), {
    secure: false,
    requireTLS: true,
    ignoreTLS: false,
  });
  assert.deepEqual(tls('smtps://user:pass@mail.example.com'), { secure: true, requireTLS: false, ignoreTLS: false });
  assert.deepEqual(tls('smtp://mail.example.com'), { secure: false, requireTLS: false, ignoreTLS: false });
  for (const here of ['localhost', '127.0.0.1', '[::1]']) {
    assert.deepEqual(tls(`smtp://user:pass@${here}:1025`), { secure: false, requireTLS: false, ignoreTLS: true });
  }
  assert.equal(tls('smtp://user:pass@127.evil.example').requireTLS, true);
  assert.deepEqual(smtpOptions('smtp://user:pa%40ss@mail.example.com').auth, { user: 'user', pass: 'pa@ss' });
});

test('a mail server that offers no TLS never sees the password', async (t) => {
  const mailbox = await openMailbox(t); // speaks no STARTTLS, as a network in between would have it
  const { createTransport } = await import('nodemailer');
  const options = {
    ...smtpOptions('smtp://user:secret@mail.example.com'),
    host: '127.0.0.1',
    port: Number(new URL(mailbox.url).port),
  };
  const mail = { mail_id: 'mail_1', created_at: 0, to: 'a@example.com', subject: 'x', text: 'x' };
  await assert.rejects(
    createTransport(options).sendMail(messageOf(mail, readConfig({ SIGNET_MAIL_FROM: 'b@example.com' }))),
    { code: 'ETLS' },
  );
  assert.deepEqual(mailbox.mails, []);
});

test('without a mail server the mail is in the log, on this machine alone', async (t) => {
  const signet = await startSignet(t);
  const { email } = await signet.newUser();
  await ask(signet, email);
  await signet.runJobs();
  const line = signet.logLines.map((text) => JSON.parse(text)).find(({ to }) => to === email);
  assert.equal((await signet.newBrowser().get(linkIn(line, /^\/reset\/./))).status, 200);
  assert.deepEqual(await waitingMails(signet), []);
});

test('on https without a mail server nothing is promised or logged, and pages say what to do instead', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_BASE_URL: 'https://id.example.com' } });
  const browser = newBrowser(`http://localhost:${signet.deps.config.port}`);
  const user = await signet.newUser();
  const headers = { origin: 'https://id.example.com' };
  for (const path of ['/reset', '/signup']) {
    for (const answer of [await browser.get(path), await browser.post(path, { email: user.email }, headers)]) {
      assert.equal(answer.status, 404);
      assert.match(answer.text, sentence(path === '/reset' ? 'reset.off' : 'signup.off'));
    }
  }
  assert.doesNotMatch((await browser.get('/signin')).text, /\/reset|\/signup/);
  assert.deepEqual(mailTo(signet.deps, { email: user.email, locale: 'en' }, 'password_changed'), []);
  await browser.post('/signin', { username: user.email, password: user.password }, headers);
  const asked = await browser.postJson('/v1/me/email', { email: 'b@example.com' }, headers);
  assert.deepEqual([asked.status, asked.json?.error], [409, 'invalid_state']);
  assert.equal((await browser.postJson('/v1/me/password', { password: 'harbour velvet cactus' }, headers)).status, 204);
  await signet.runJobs();
  assert.deepEqual(await waitingMails(signet), []);
  assert.ok(!signet.logLines.join('\n').includes(user.email));
});

test('a mail that a slow server keeps waiting is not sent by another node', async (t) => {
  const connections: Socket[] = [];
  const server = createServer((socket) => void connections.push(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const env = { SIGNET_SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const signet = await startSignet(t, { env });
  const beside = await startSignet(t, { env, beside: signet });
  await plain(signet.deps.db.shared).batch(
    signet.deps.mail.enqueue({ to: 'a@example.com', subject: 'Hello', text: 'World' }),
  );
  const slow = signet.deps.mail.deliver();
  await until('the mail server is asked', () => connections.length > 0);
  assert.equal(connections.length, 1);
  signet.clock.advance(60);
  await beside.deps.mail.deliver();
  assert.equal(connections.length, 1);
  for (const socket of connections) socket.destroy();
  server.on('connection', (socket) => socket.destroy()); // the second one that is tried
  await slow;
  const row = await plain(signet.deps.db).get<{ next_attempt_at: number }>(
    'select next_attempt_at from outgoing_mails',
  );
  assert.equal(row?.next_attempt_at, signet.clock() / 1000 + 30);
});

const names = Object.keys(letters) as LetterName[];
const clock = () => 1_800_000_000_000;

test('what is sent to an address without an account has no text of whoever asked for it', () => {
  const forStrangers = [
    'account_deleted',
    'account_deleted_admin',
    'change_email',
    'invitation',
    'sign_up',
    'verify_email',
  ];
  for (const locale of locales) {
    const to = { email: 'ada@example.com', name: 'Cheap boats at evil.example', locale };
    const unnamed = names.filter((name) => {
      const { subject, text } = composeMail({ config: readConfig({}), clock }, to, name, {});
      return !`${subject} ${text}`.includes('Cheap boats');
    });
    assert.deepEqual(unnamed.sort(), forStrangers, locale);
  }
});

test('a subject has the beginning of a long name, and the text all of it', () => {
  const app = `${'Weather and tides for sailors '.repeat(4)}`.trim();
  const to = { email: 'ada@example.com', name: 'Ada', locale: 'en' };
  const { subject, text } = composeMail({ config: readConfig({}), clock }, to, 'client_approved', { app });
  assert.equal(subject, `${app.slice(0, 36).trim()}… was approved at Signet`);
  assert.ok(text.includes(app));
});

test('no subject has more than 60 characters, however long the names in it are', () => {
  const config = readConfig({ SIGNET_NAME: 'Identity of the Harbour and River Office' });
  const long = 'Weather and tides for sailors, and the prices of fish in all ports of the northern sea and beyond it';
  const values = { app: long, provider: long, webhook: long, passkey: long, count: 1000 };
  let withName = 0;
  for (const locale of locales) {
    for (const name of names) {
      const to = { email: 'ada@example.com', name: long, locale };
      const { subject } = composeMail({ config, clock }, to, name, values);
      assert.ok([...subject].length <= 60, `${locale}: ${subject}`);
      if (subject.includes('Weather')) withName += 1;
    }
  }
  assert.ok(withName === 16 * locales.length, `${withName} subjects name something`);
});

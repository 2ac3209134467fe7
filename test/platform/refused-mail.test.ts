import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countedByProcess } from '../../src/platform/metrics.ts';
import { freePort } from '../support/free-port.ts';
import { linkIn, openMailbox, waitingMails } from '../support/mailbox.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { until } from '../support/until.ts';

/** `signet_deliveries_total` of mails that no attempt follows. */
const dead = () =>
  countedByProcess()
    .find(({ name }) => name === 'signet_deliveries_total')
    ?.series.find(({ labels }) => labels.join() === 'mail,dead')?.values[0] ?? 0;

/** Lines of the log about mails. */
const logged = ({ logLines }: Signet): Record<string, unknown>[] =>
  logLines.map((line) => JSON.parse(line)).filter(({ msg = '' }) => /\ban email\b/.test(msg));

async function askForReset(signet: Signet, email: string): Promise<void> {
  assert.equal((await signet.newBrowser().post('/reset', { email })).status, 303);
  await signet.deps.mail.deliver();
}

for (const command of ['RCPT TO', 'DATA'] as const) {
  testSignet(
    `a mail that the server refuses for good after ${command} is not sent again`,
    { mail: true },
    async ({ signet, mailbox }) => {
      const { email } = await signet.newUser();
      mailbox.answers = { command, code: 550, text: `5.1.1 <${email}> no such user` };
      const before = dead();
      await askForReset(signet, email);
      assert.deepEqual(await waitingMails(signet), []);
      assert.equal(dead() - before, 1);
      const { level, msg, responseCode, reason } = logged(signet)[0] ?? {};
      assert.deepEqual([level, responseCode, reason], [50, 550, '5.1.1']);
      assert.equal(msg, 'an email could not be delivered; it will not be retried');
      assert.ok(!signet.logLines.join().includes(email), 'the answer is not quoted');
      mailbox.answers = undefined;
      signet.clock.advance(86_400);
      await signet.runJobs();
      assert.deepEqual(mailbox.mails, []);
      assert.equal(mailbox.recipients.length, 1);
    },
  );
}

testSignet(
  'what a mail server may accept later, or when the operator has put it right, is sent again',
  { mail: true },
  async ({ signet, mailbox }) => {
    const answers = [
      { command: 'RCPT TO', code: 450, text: '4.2.0 greylisted' },
      { command: 'DATA', code: 451, text: '4.3.0 try later' },
      { command: 'MAIL FROM', code: 550, text: '5.7.1 sender not allowed' },
      { command: 'RCPT TO', code: 530, text: '5.7.0 sign in first' },
    ] as const;
    for (const one of answers) {
      const { email } = await signet.newUser();
      mailbox.answers = one;
      await askForReset(signet, email);
      assert.equal((await waitingMails(signet)).length, 1, one.text);
      mailbox.answers = undefined;
      signet.clock.advance(60);
      await signet.runJobs();
      linkIn(await mailbox.next(email), /^\/reset\/./);
    }
    assert.deepEqual(await waitingMails(signet), []);
  },
);

test('a mail whose link has expired before it could be sent is not sent', async (t) => {
  const down = `smtp://127.0.0.1:${await freePort()}`;
  const signet = await startSignet(t, { mail: true, env: { SIGNET_SMTP_URL: down } });
  const { mailbox } = signet;
  const { email, browser } = await signet.signedInUser();
  assert.equal((await browser.postJson('/v1/me/password', { password: 'harbour velvet cactus' })).status, 204);
  await askForReset(signet, email);
  assert.equal((await waitingMails(signet)).length, 2);
  const beside = await startSignet(t, { beside: signet, mail: true });
  signet.clock.advance(1800); // the life of the link
  const before = dead();
  // The node that does not reach its mail server may have taken the mails again, and tries them anew later.
  await until('the other node has sent one', async () => {
    signet.clock.advance(60);
    await beside.deps.mail.deliver();
    return mailbox.mails.length > 0;
  });
  assert.doesNotMatch((await mailbox.next(email)).text, /\/reset\/ln_/);
  assert.equal(mailbox.mails.length, 1, 'what holds no link is sent all the same');
  assert.deepEqual(await waitingMails(beside), []);
  assert.equal(dead() - before, 1);
  const reasons = [signet, beside].flatMap(logged).map(({ reason }) => reason); // of whichever node had its turn
  assert.ok(reasons.includes('link_expired'));
});

test('an address with letters beyond ASCII before the @ gets its mail where the server offers SMTPUTF8, and nowhere else', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mailbox } = signet;
  await signet.newUser({ email: 'jürgen@bücher.example' });
  await askForReset(signet, 'jürgen@bücher.example');
  linkIn(await mailbox.next('jürgen@bücher.example'), /^\/reset\/./);

  const old = await openMailbox(t, { hidesUtf8: true });
  const plain = await startSignet(t, { env: { SIGNET_SMTP_URL: old.url } });
  await plain.newUser({ email: 'jürgen@example.com' });
  const before = dead();
  await askForReset(plain, 'jürgen@example.com');
  assert.deepEqual(await waitingMails(plain), []);
  assert.deepEqual([old.recipients, old.mails], [[], []], 'it was not named to the server');
  assert.equal(dead() - before, 1);
  assert.match(String(logged(plain).at(-1)?.reason), /SMTPUTF8/);
});

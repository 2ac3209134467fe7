import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTransport } from 'nodemailer';
import { readConfig } from '../../src/app/config.ts';
import { runJobs } from '../../src/app/jobs.ts';
import { exampleMail } from '../../src/platform/mail/examples.ts';
import { letterNames } from '../../src/platform/mail/letters.ts';
import { messageOf } from '../../src/platform/mail/transport.ts';
import { linkIn, type Mailbox } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';

const tomorrow = async (signet: Signet) => {
  signet.clock.advance(86_401);
  assert.ok(await runJobs(signet.deps, ['remind reviewers']));
  await signet.deps.mail.deliver();
};

const sent = ({ mails }: Mailbox, email: string) => mails.filter(({ to }) => to === email).length;

/** Two who review, and the path by which the first stops the daily mail. */
async function reviewed(signet: Signet & { mailbox: Mailbox }) {
  const [one, other] = [await signet.signedInUser({ role: 'admin' }), await signet.signedInUser({ role: 'admin' })];
  await signet.registerClient({ approved: false });
  await tomorrow(signet);
  const mail = await signet.mailbox.next(one.email);
  await signet.mailbox.next(other.email);
  return { one, other, mail, path: linkIn(mail, /^\/admin\/review-mails\/./) };
}

testSignet(
  'a reviewer stops the daily mail by its link, and gets it again',
  { mail: true },
  async ({ signet, mailbox }) => {
    const { one, other, path } = await reviewed({ ...signet, mailbox });
    const reader = signet.newBrowser(); // the link works without a session
    for (let looks = 0; looks < 2; looks += 1) {
      assert.match((await reader.get(path)).text, sentence('admin.review_mails.sent'), 'looking stops nothing');
    }
    assert.match((await reader.post(path)).text, sentence('admin.review_mails.stopped'));
    await tomorrow(signet);
    assert.deepEqual([sent(mailbox, one.email), sent(mailbox, other.email)], [1, 2]);
    assert.match((await reader.post(path, { wanted: 'yes' })).text, sentence('admin.review_mails.sent'));
    await tomorrow(signet);
    assert.deepEqual([sent(mailbox, one.email), sent(mailbox, other.email)], [2, 3]);
  },
);

testSignet(
  'a mail program stops it with one click (RFC 8058), however often',
  { mail: true },
  async ({ signet, mailbox }) => {
    const { one, path } = await reviewed({ ...signet, mailbox });
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    const headers = { origin: 'https://mail.example', 'sec-fetch-site': 'cross-site' };
    for (const body of [form, new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })]) {
      const answer = await fetch(signet.url + path, { method: 'POST', body, headers, redirect: 'error' });
      assert.equal(answer.status, 200, await answer.text());
      await tomorrow(signet);
      assert.equal(sent(mailbox, one.email), 1);
    }
  },
);

testSignet(
  'who has stopped the daily mail gets it again in the console',
  { mail: true },
  async ({ signet, mailbox }) => {
    const { one, path } = await reviewed({ ...signet, mailbox });
    await one.signIn();
    const page = async () => (await one.browser.get('/admin/clients')).text;
    assert.doesNotMatch(await page(), /id="review-mails"/);
    await signet.newBrowser().post(path);
    assert.match(await page(), /id="review-mails"/);
    const answer = await one.browser.post('/admin/clients/review-mails');
    assert.match((await one.browser.get(answer.location)).text, sentence('admin.clients.done.review_mails'));
    assert.doesNotMatch(await page(), /id="review-mails"/);
  },
);

testSignet('nobody stops the mails of another', { mail: true }, async ({ signet, mailbox }) => {
  const { one, other, path } = await reviewed({ ...signet, mailbox });
  const [, mac = ''] = path.split('.');
  for (const token of [`${other.user_id}.${mac}`, `${one.user_id}.${'A'.repeat(43)}`, one.user_id, 'x', `.${mac}`]) {
    for (const answer of [
      await signet.newBrowser().get(`/admin/review-mails/${token}`),
      await signet.newBrowser().post(`/admin/review-mails/${token}`),
    ]) {
      assert.equal(answer.status, 404, token);
    }
  }
  await tomorrow(signet);
  assert.deepEqual([sent(mailbox, one.email), sent(mailbox, other.email)], [2, 2]);
});

test('the mail about waiting clients alone can be stopped: every other one is about an account or an act', async () => {
  const config = readConfig({ SIGNET_BASE_URL: 'https://id.example.com' });
  const sender = createTransport({ streamTransport: true, buffer: true });
  const withHeader: string[] = [];
  for (const name of letterNames) {
    const mail = { ...exampleMail({ config, clock: () => 1 }, name, 'en'), mail_id: 'mail_1', created_at: 1 };
    const [head = ''] = (await sender.sendMail(messageOf(mail, config))).message.toString().split('\r\n\r\n');
    if (/^List-Unsubscribe/im.test(head)) withHeader.push(name);
    if (name !== 'reviews_waiting') continue;
    assert.match(head, /^List-Unsubscribe: <https:\/\/id\.example\.com\/admin\/review-mails\/example>$/m);
    assert.match(head, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
  }
  assert.deepEqual(withHeader, ['reviews_waiting']);
});

test('a link of a mail that waited is sent with its header', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const { mail, path } = await reviewed(signet);
  assert.ok(mail.headers.includes(`List-Unsubscribe: <${signet.url}${path}>`), mail.headers);
  assert.ok(mail.html?.includes(path));
});

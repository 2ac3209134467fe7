import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pattern, sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { wrongCode } from '../support/two-factor.ts';

const page = { accept: 'text/html' };
const address = 'help+id@example.com';
const link = /<a href="mailto:help%2Bid@example\.com">help\+id@example\.com<\/a>/;

test('whoever has lost phone and codes reads who can help, and where', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_SUPPORT: address } });
  const user = await signet.signedInUser();
  const { secret } = await user.enableTotp();
  const { browser } = await user.awaitingSecondFactor();
  const lost = pattern`<summary>${sentence('second_factor.lost')}</summary>\s*<p>${sentence('second_factor.lost.what')}</p>`;
  for (const path of ['/signin/second-factor', '/signin/second-factor?backup=1']) {
    const { text } = await browser.get(path);
    assert.match(text, lost, path);
    assert.match(text, link, path);
  }
  const answers = [];
  for (let tries = 0; tries < 5; tries += 1) {
    answers.push(await browser.post('/signin/second-factor', { code: wrongCode(signet, secret) }));
  }
  assert.match(answers.at(-1)!.text, sentence('second_factor.over.title'));
  for (const { text } of answers) assert.match(text, lost);
});

test('without an address, the sentences stand without one', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_SIGN_UP: 'off' } });
  const { text } = await signet.newBrowser().get('/signup', page);
  assert.match(text, sentence('signup.off', { support: '' }));
  const refused = (await signet.newBrowser().get('/nowhere', page)).text;
  assert.doesNotMatch(refused, /id="support"/);
});

test('an error names the address once, on a page and not to programs', async (t) => {
  const signet = await startSignet(t, {
    env: { SIGNET_SUPPORT: 'https://example.com/help?a=1&b=2', SIGNET_SIGN_UP: 'off' },
  });
  const browser = signet.newBrowser();
  const help = /<a href="https:\/\/example\.com\/help\?a=1&amp;b=2">example\.com\/help\?a=1&amp;b=2<\/a>/;
  const needHelp = pattern`${sentence('error.support', { link: '' })}${help}`;
  for (const path of [
    '/nowhere',
    '/oauth/authorize?client_id=cl_unknown',
    '/consent?request=ar_over',
    '/reset/ln_spent',
  ]) {
    const { text, status } = await browser.get(path, page);
    assert.ok(status >= 400, path);
    assert.match(text, pattern`<p class="soft" id="support">${needHelp}`, path);
    assert.equal(text.split('example.com/help').length - 1, 2, path);
    assert.doesNotMatch((await browser.get(path, { accept: 'application/json' })).text, /example\.com\/help/, path);
  }
  assert.match((await browser.get('/signup', page)).text, help);
});

test('whatever sends people to an administrator says where to find one', () => {
  const sends = /\b(ask|contact) (an administrator|the operator)\b|\ban administrator of this service\b/i;
  // Mails say it at their foot. What only administrators read sends them to another one.
  const elsewhere = /^(mail|admin|clients|users)\./;
  const english: Record<string, string> = JSON.parse(
    readFileSync(new URL('../../src/platform/i18n/en.json', import.meta.url), 'utf8'),
  );
  const places = Object.entries(english).filter(([key, text]) => sends.test(text) && !elsewhere.test(key));
  assert.ok(places.length >= 14, String(places.length));
  for (const [key, text] of places) assert.match(text, /\{support\}/, key);
});

test('mails to users end with the address, and those to administrators do not', async (t) => {
  const signet = await startSignet(t, { mail: true, env: { SIGNET_SUPPORT: address } });
  const { mailbox } = signet;
  const owner = await signet.newUser();
  const help = pattern`\n\n${sentence('mail.support', { support: address })}$`;
  await signet.newBrowser().post('/reset', { email: owner.email });
  assert.match((await mailbox.next(owner.email)).text, help);
  await signet.newBrowser().post('/signup', { email: 'new@example.test' });
  assert.match((await mailbox.next('new@example.test')).text, help);
  const admin = await signet.signedInUser({ role: 'admin' });
  assert.equal((await admin.browser.postEmpty('/v1/admin/settings/test-mail')).status, 200);
  assert.doesNotMatch((await mailbox.next(admin.email, sentence('mail.test.subject'))).text, /help/);
});

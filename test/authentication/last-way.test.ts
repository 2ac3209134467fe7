import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAuthenticator } from '../support/authenticator.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { message } from '../support/messages.ts';
import { passkeyOptions, postAssertion } from '../support/passkeys.ts';
import { testSignet } from '../support/signet.ts';
import { signInUpstream } from '../support/upstream.ts';

const word = message('signin.last_used');
/** The element that has the word, by what is around it. */
const marked = (page: string) => page.split(word).length - 1;

testSignet('the sign-in page says which way was last used here, not by whom', {}, async ({ signet }) => {
  const user = await signet.newUser();
  const { browser } = user;
  const page = async () => (await browser.get('/signin?stay=1')).text;
  assert.equal(marked(await page()), 0);
  await user.with({ password: 'a wrong pass phrase' }).signIn();
  assert.equal(marked(await page()), 0, 'what failed is not remembered');

  await user.signIn();
  assert.match(await page(), new RegExp(`id="signin-submit"[^>]* aria-describedby="last-way".*${word}`, 's'));
  const value = browser.cookies.get('signet_last_way');
  assert.equal(value, 'password', 'which names no user');
  const key = await user.addPasskey(newAuthenticator(signet.url));
  assert.equal(browser.cookies.get('signet_last_way'), 'password', 'a confirmation is no sign-in');
  await browser.post('/signout');
  await postAssertion(browser, '/signin/passkey', key.get(await passkeyOptions(browser, '/signin/passkey')));
  assert.match(await page(), new RegExp(`${message('passkey.button.sign_in')} <span class="badge">${word}`));
  assert.equal(marked(await page()), 1);

  browser.cookies.set('signet_last_way', '<script>');
  assert.equal(marked(await page()), 0);
  assert.ok(!(await page()).includes('<script>alert') && !(await page()).includes('&lt;script'));
});

test('a provider that was used has the word, and others do not', async (t) => {
  const { signet } = await startFederatedSignet(t);
  const browser = signet.newBrowser();
  await signInUpstream(browser, '/auth/acme/login?next=/account');
  const { text } = await browser.get('/signin?stay=1');
  assert.match(text, new RegExp(`id="signin-acme"[^>]*>[^<]*<span class="badge">${word}`));
  assert.equal(marked(text), 1);
});

testSignet('browsers can fill in what the sign-in page asks for', {}, async ({ signet }) => {
  const { text } = await signet.newBrowser().get('/signin');
  assert.match(text, /name="username"[^>]* autocomplete="username webauthn"/);
  assert.match(text, /name="password"[^>]* autocomplete="current-password"/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer, Browser } from '../support/browser.ts';
import { pattern, sentence } from '../support/messages.ts';
import { confirmWithPasskey, passkeyOptions, postAssertion } from '../support/passkeys.ts';
import { claimsOf, type RegisteredClient, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';

/** Decisions §9; OpenID Connect Core §3.1.2.1, §5.5.1.1: `acr_values` is a wish. Tokens say what was reached. */

const [one, two] = ['urn:signet:acr:1fa', 'urn:signet:acr:2fa'];

/** @returns what the id token says, for a code that came at once. */
async function reached(client: RegisteredClient, answer: Answer) {
  const code = redirectedTo(answer).get('code');
  assert.ok(code, answer.location);
  const { acr, amr, auth_time } = claimsOf(tokensOf(await client.redeem(code)).id_token);
  return { acr, amr, auth_time };
}

/** @returns the id of the request that waits at the page with the passkey. */
function stepsUp(answer: Answer): string {
  const [, request = ''] = /^\/signin\/confirm\?request=(ar_[\w-]+)$/.exec(answer.location) ?? [];
  assert.ok(request, `${answer.status} ${answer.location}`);
  return request;
}

testSignet('acr_values: a user who has a passkey is asked for it, and may decline', async ({ signet, t }) => {
  const client = await signet.registerClient();
  const asking = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const passkey = await user.addPasskey();
  const byPassword = async (): Promise<Browser> => {
    const browser = signet.newBrowser();
    assert.equal((await user.with({ browser }).signIn()).status, 303);
    return browser;
  };
  const authorize = (browser: Browser, acr_values: string, more: Record<string, string> = {}, of = client) =>
    browser.get(of.authorizePath({ acr_values, ...more }));
  const goOn = (browser: Browser, request: string, how = '') =>
    browser.get(`/oauth/authorize/continue?request=${request}${how}`);
  const usePasskey = async (browser: Browser, request: string) =>
    postAssertion(
      browser,
      '/signin/confirm/passkey',
      passkey.get(await passkeyOptions(browser, '/signin/confirm/passkey')),
      {
        request,
      },
    );

  await t.test('the page offers what is stronger, nothing else leads past it, and the token says so', async () => {
    const browser = await byPassword();
    const request = stepsUp(await authorize(browser, `urn:example:gold ${two} ${one}`));
    assert.equal(stepsUp(await goOn(browser, request)), request);
    const page = await browser.get(`/signin/confirm?request=${request}`);
    assert.equal(page.status, 200);
    assert.match(page.text, sentence('confirm.preferred'));
    assert.doesNotMatch(page.text, pattern`type="password"|${sentence('confirm.passkey')}`);
    assert.match(page.headers.get('content-security-policy') ?? '', /img-src 'self'; frame-ancestors/);
    const { password } = user;
    assert.equal((await browser.post('/signin/confirm', { request, password })).status, 403);
    assert.equal(stepsUp(await goOn(browser, request)), request);
    signet.clock.advance(30);
    const onward = await usePasskey(browser, request);
    assert.equal(onward.location, `/oauth/authorize/continue?request=${request}`);
    const { acr, amr, auth_time } = await reached(client, await browser.get(onward.location));
    assert.deepEqual([acr, amr, auth_time], [two, ['hwk', 'mfa'], signet.clock() / 1000]);
    assert.equal((await reached(client, await authorize(browser, two))).acr, two, 'not asked for again');
  });

  await t.test('a user who declines continues, and the token says so', async () => {
    const browser = await byPassword();
    const request = stepsUp(await authorize(browser, two));
    const { text } = await browser.get(`/signin/confirm?request=${request}`);
    const [, way = ''] = /id="confirm-not" href="([^"]+)">/.exec(text) ?? [];
    const answer = await browser.get(way.replaceAll('&amp;', '&'));
    const { acr, amr } = await reached(client, answer);
    assert.deepEqual([acr, amr], [one, ['pwd']]);
    assert.equal((await goOn(browser, request, '&step_up=declined')).status, 400, 'a request gives one code');
  });

  await t.test('what one user declines yields nothing for another who has signed in since', async () => {
    const browser = await byPassword();
    const request = stepsUp(await authorize(browser, two));
    const { text } = await browser.get(`/signin/confirm?request=${request}`);
    const [, way = ''] = /id="confirm-not" href="([^"]+)"/.exec(text) ?? [];
    const other = await signet.newUser();
    assert.equal((await other.with({ browser }).signIn()).status, 303);
    for (const declined of [way.replaceAll('&amp;', '&'), way.replace(/&amp;user=.*/, '').replaceAll('&amp;', '&')]) {
      const asked = await browser.get(declined);
      assert.equal(asked.location, `/signin/account?request=${request}`, declined);
    }
    const choice = await browser.get(`/signin/account?request=${request}`);
    assert.match(choice.text, sentence('choose.continue', { email: `<bdi>${other.email}</bdi>` }));
    assert.equal((await browser.post('/signin/account', { request, user: other.user_id })).status, 303);
    const code = redirectedTo(await goOn(browser, request)).get('code') ?? '';
    assert.equal(claimsOf(tokensOf(await client.redeem(code)).id_token).sub, other.user_id);
  });

  await t.test('the first class that we know is what counts', async () => {
    const browser = await byPassword();
    for (const values of [
      `${one} ${two}`,
      `urn:example:gold ${one} ${two}`,
      one,
      'urn:example:gold',
      `${two}x`,
      '2fa',
    ]) {
      assert.equal((await reached(client, await authorize(browser, values))).acr, one, values);
    }
    for (const values of [two, `${two} ${one}`, `urn:example:gold  ${two}`]) stepsUp(await authorize(browser, values));
    assert.equal((await reached(client, await browser.get(client.authorizePath()))).acr, one, 'no wish');
  });

  await t.test('prompt=none shows no page: the session is answered with as it is', async () => {
    const browser = await byPassword();
    assert.equal((await reached(client, await authorize(browser, two, { prompt: 'none' }))).acr, one);
    await confirmWithPasskey(browser, passkey);
    assert.equal((await reached(client, await authorize(browser, two, { prompt: 'none' }))).acr, two);
    const signedOut = await authorize(signet.newBrowser(), two, { prompt: 'none' });
    assert.equal(redirectedTo(signedOut).get('error'), 'login_required');
  });

  await t.test('a sign-in for the request by a password alone is asked for more, once', async () => {
    const browser = signet.newBrowser();
    const request = redirectedTo(await authorize(browser, two, { prompt: 'login' })).get('request') ?? '';
    const signedIn = await user.with({ browser }).signIn({ request });
    assert.equal(stepsUp(await browser.get(signedIn.location)), request);
    const onward = await usePasskey(browser, request);
    assert.equal((await reached(client, await browser.get(onward.location))).acr, two);
  });

  await t.test('declining declines nothing else: sign-in and consent are asked for all the same', async () => {
    const browser = await byPassword();
    const declined = `&step_up=declined&user=${user.user_id}`;
    const request = redirectedTo(await authorize(browser, two, {}, asking)).get('request') ?? '';
    const [consent, login] = ['/consent', '/signin'].map((page) => `${page}?request=${request}`);
    assert.equal((await goOn(browser, request, declined)).location, consent);
    await browser.post('/signout');
    assert.equal((await goOn(browser, request, declined)).location, login);
    assert.equal((await user.with({ browser }).signIn({ request })).status, 303);
    assert.equal((await browser.post('/consent', { request, user: user.user_id, decision: 'allow' })).status, 303);
    assert.equal(stepsUp(await goOn(browser, request)), request);
    assert.equal((await reached(asking, await goOn(browser, request, declined))).acr, one);
  });
});

test('acr_values: a user without a stronger method is not asked, and the token has the actual acr', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const { browser } = user;
  const wish = () => browser.get(client.authorizePath({ acr_values: `${two} ${one}` }));
  assert.equal((await reached(client, await wish())).acr, one, 'no second factor');
  await user.enableTotp(); // which shows a code, in this very session
  assert.equal((await reached(client, await wish())).acr, two);
  const lower = await browser.get(client.authorizePath({ acr_values: one }));
  assert.equal((await reached(client, lower)).acr, two, 'what was reached, not what was wished');
  const elsewhere = signet.newBrowser();
  assert.equal(
    (await user.with({ browser: elsewhere }).signIn()).location,
    '/signin/second-factor',
    'TOTP is asked anyway',
  );
  const { json } = await browser.get('/.well-known/openid-configuration');
  assert.deepEqual(json?.acr_values_supported, [one, two]);
});

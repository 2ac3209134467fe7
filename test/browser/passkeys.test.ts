import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

const pages = '/account/security/passkeys';

test('a passkey: added on its page, named, used to sign in by the button, removed', async (t) => {
  const { url, user, page, authenticator, expectQuiet } = await begin(t);
  await signInWithPassword(page, url, user);
  const offer = page.locator('#passkey-offer');
  await offer.waitFor();
  await expectAccessible(page);
  await offer.getByRole('link').click();
  await page.getByText(message('passkey.none')).waitFor();
  assert.match(await page.getByLabel(message('passkey.name')).inputValue(), /^Chrome, /);
  await page.getByRole('button', { name: message('passkey.add') }).click();
  await page
    .getByRole('status')
    .filter({ hasText: sentence('passkey.done.added') })
    .waitFor();
  assert.match(
    await itemOf(page).innerText(),
    pattern`Chrome, .*${sentence('passkey.one_device')}.*${sentence('passkey.unused')}`,
  );

  const rename = async () => {
    await page.locator('summary', { hasText: message('passkey.rename.summary') }).click();
    await itemOf(page).getByLabel(message('passkey.name')).fill('Key <ring>');
    await page.getByRole('button', { name: message('passkey.rename') }).click();
  };
  await rename();
  await page.getByText(sentence('confirm.passkey')).waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: message('passkey.button.confirm') }).click();
  await page.waitForURL(`${url}${pages}?unfinished=1`);
  assert.equal(await itemOf(page).getByLabel(message('passkey.name')).inputValue(), 'Key <ring>');
  await page.getByRole('button', { name: message('passkey.rename') }).click();
  await itemOf(page).getByText('Key <ring>').first().waitFor();

  // The same authenticator again: the browser knows that it has one, and says so by a sentence of ours.
  await page.getByRole('button', { name: message('passkey.add') }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: sentence('passkey.script.known') })
    .waitFor();
  await expectAccessible(page);

  await authenticator.present(false);
  await signOutToOptions(page, url);
  const touch = await touchedWhenAsked(page, url, authenticator); // by the button, while the autofill waits untouched
  await page.getByRole('button', { name: message('passkey.button.sign_in') }).click();
  await page.waitForURL(`${url}/account`);
  await touch.end();
  assert.deepEqual(await amrOf(page), ['hwk', 'mfa']);

  await page.goto(url + pages);
  assert.match(await itemOf(page).innerText(), sentence('passkey.used'));
  await page.locator('summary', { hasText: message('passkey.remove.summary') }).click();
  await page.getByRole('button', { name: message('passkey.remove') }).click();
  await page.getByText(message('passkey.none')).waitFor();

  expectQuiet();
});

test('a passkey that was removed elsewhere is refused with a word, and the user may try another way', async (t) => {
  const { signet, url, user, page, expectQuiet } = await begin(t);
  await signInWithPassword(page, url, user);
  await addPasskey(page, url);
  await plain(signet.deps.db).run('delete from passkeys where user_id = $1', [user.user_id]);
  // The browser still offers it, and so as often as it is asked: once is enough.
  await page.route('**/options', (route) => route.abort());
  await page.route('**/options', (route) => route.continue(), { times: 1 });
  await signOut(page);
  await page
    .getByRole('alert')
    .filter({ hasText: sentence('passkey.problem.refused') })
    .waitFor();
  expectQuiet();
});

test("by the browser's autofill, without a press of any button of ours, and on to the client", async (t) => {
  const clientOrigin = `http://localhost:${await freePort()}`; // nothing listens there: that Chromium asks is enough
  const { signet, url, user, page, authenticator, expectQuiet } = await begin(t, [clientOrigin]);
  const redirect_uri = `${clientOrigin}/callback`;
  const client = await signet.registerClient({ redirect_uris: [redirect_uri] });
  await signInWithPassword(page, url, user);
  await addPasskey(page, url);
  await authenticator.present(false);
  await signOutToOptions(page, url);
  await touchedWhenAsked(page, url, authenticator);
  const arrival = page.waitForRequest((request) => request.url().startsWith(`${redirect_uri}?code=`));
  await page.goto(url + client.authorizePath()).catch(() => undefined); // left for the client before it has loaded
  await arrival;
  expectQuiet();
});

test('a user who cancels gets a helpful page, and may sign in with a password', async (t) => {
  const { url, user, page, authenticator, expectQuiet } = await begin(t);
  await authenticator.present(false);
  await page.goto(`${url}/signin`);
  await authenticator.verified(false);
  await authenticator.present(true);
  await page.getByRole('button', { name: message('passkey.button.sign_in') }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: sentence('passkey.script.cancelled') })
    .waitFor();
  await expectAccessible(page);
  await signInWithPassword(page, undefined, user);
  assert.deepEqual(await amrOf(page), ['pwd']);
  expectQuiet();
});

test('offered on the way to an app, added there, and on to the app; by Not now as well', async (t) => {
  const clientOrigin = `http://localhost:${await freePort()}`;
  const { signet, url, user, page, authenticator, expectQuiet } = await begin(t, [clientOrigin]);
  const redirect_uri = `${clientOrigin}/callback`;
  const client = await signet.registerClient({ redirect_uris: [redirect_uri] });
  const comeByPassword = async () => {
    await page.goto(url + client.authorizePath());
    await page.locator('[name=able_device][value="1"]').waitFor({ state: 'attached' });
    await page.locator('#username').fill(user.email);
    await page.locator('#password').fill(user.password);
    await page.locator('#signin-submit').click();
    await page.waitForURL(/\/signin\/passkey-offer\?/);
  };
  const arrival = () => page.waitForRequest((request) => request.url().startsWith(`${redirect_uri}?code=`));
  await comeByPassword();
  await expectAccessible(page);
  const declined = arrival();
  await page.locator('#passkey-offer-not').click();
  await declined;
  assert.equal(await authenticator.passkeys(), 0);

  await page.context().clearCookies();
  await comeByPassword();
  const added = arrival();
  await page.getByRole('button', { name: message('passkey.add') }).click();
  await added;
  assert.equal(await authenticator.passkeys(), 1);
  expectQuiet();
});

test('as second factor, after a password', async (t) => {
  const { url, user, page, expectQuiet } = await begin(t);
  await user.enableTotp();
  await lend(page, user, url);
  await addPasskey(page, url);
  await page.context().clearCookies();
  await page.goto(`${url}/signin`);
  // The autofill signs in, and is a first factor alone: the code is still asked for, and a passkey no answer.
  await page.waitForURL(`${url}/signin/second-factor`);
  assert.equal(await page.getByRole('button', { name: message('passkey.button.second_factor') }).count(), 0);

  await page.context().clearCookies();
  await page.route('**/signin/passkey/options', (route) => route.abort());
  await signInWithPassword(page, url, user);
  await page.waitForURL(`${url}/signin/second-factor`);
  const button = page.getByRole('button', { name: message('passkey.button.second_factor') });
  await button.click();
  await page.waitForURL(`${url}/account`);
  assert.deepEqual(await amrOf(page), ['pwd', 'hwk', 'mfa']);
  expectQuiet();
});

test('to confirm, when a passkey is to be added long after the sign-in', async (t) => {
  const { signet, url, user, page, expectQuiet } = await begin(t);
  await signInWithPassword(page, url, user);
  await addPasskey(page, url);
  await page.goto(url + pages);
  signet.clock.advance(3600);
  await page.getByRole('button', { name: message('passkey.add') }).click();
  await page.getByRole('heading', { name: message('confirm.title') }).waitFor();
  await page.getByRole('button', { name: message('passkey.button.confirm') }).click();
  await page.waitForURL(`${url}${pages}?unfinished=1`);
  assert.deepEqual(await amrOf(page), ['hwk', 'mfa']);
  expectQuiet();
});

test('a lost connection is a sentence, not silence', async (t) => {
  const { url, user, page, expectQuiet } = await begin(t);
  await signInWithPassword(page, url, user);
  await page.goto(url + pages);
  await page.route('**/options', (route) => route.abort());
  await page.getByRole('button', { name: message('passkey.add') }).click();
  await page
    .getByRole('alert')
    .filter({ hasText: sentence('passkey.script.failed') })
    .waitFor();
  expectQuiet();
});

test('without JavaScript the page lists, and says what adding and removing need', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const { context, page: own } = await openBrowser(t, { origins: [signet.url] });
  await plugIn(await context.newCDPSession(own));
  await signInWithPassword(own, signet.url, user);
  await addPasskey(own, signet.url);

  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url], javaScript: false });
  await page.goto(`${signet.url}/signin`);
  assert.equal(await page.getByRole('button', { name: message('passkey.button.sign_in') }).isVisible(), false);
  await signInWithPassword(page, undefined, user);
  await page.goto(signet.url + pages);
  await page.getByText(sentence('passkey.add.script')).waitFor();
  assert.equal(await page.getByRole('button', { name: message('passkey.add') }).isVisible(), false);
  await page.locator('summary', { hasText: message('passkey.remove.summary') }).click();
  await page.getByRole('button', { name: message('passkey.remove') }).click();
  await page.getByText(sentence('confirm.passkey.script')).waitFor();
  assert.equal(await page.getByRole('button', { name: message('passkey.button.confirm') }).isVisible(), false);
  expectQuiet();
});

test('a passkey that was removed here is offered by the browser no more', async (t) => {
  const { signet, url, user, page, authenticator, expectQuiet } = await begin(t);
  await signInWithPassword(page, url, user);
  await addPasskey(page, url);
  assert.equal(await authenticator.passkeys(), 1);
  await plain(signet.deps.db).run('delete from passkeys where user_id = $1', [user.user_id]);
  await page.goto(url + pages);
  await until('the browser forgets it', async () => (await authenticator.passkeys()) === 0);
  expectQuiet();
});

/** A Signet, a user, and a browser with an authenticator that says yes to everything. */
async function begin(t: TestContext, others: string[] = []) {
  const signet = await startSignet(t);
  const user = await signet.newUser();
  await user.browser.post('/signin', { username: user.email, password: user.password });
  const { context, page, expectQuiet } = await openBrowser(t, { origins: [signet.url, ...others] });
  const authenticator = await plugIn(await context.newCDPSession(page));
  return { signet, url: signet.url, user, page, authenticator, expectQuiet };
}

/** https://chromedevtools.github.io/devtools-protocol/tot/WebAuthn/ */
async function plugIn(session: CDPSession) {
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return {
    /** Whether it is touched when it asks. */
    present: (enabled: boolean) =>
      session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
    /** How many it keeps. */
    passkeys: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length,
    verified: (isUserVerified: boolean) =>
      session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
  };
}

async function signInWithPassword(page: Page, url: string | undefined, { email, password }: TestUser) {
  if (url !== undefined) await page.goto(`${url}/signin`);
  await page.locator('#username').fill(email);
  await page.locator('#password').fill(password);
  await page.locator('#signin-submit').click();
  await page.waitForURL(/\/(account|second-factor)$/);
}

/** The browser goes on with the session that the user has in another one. */
const lend = (page: Page, { browser }: TestUser, url: string) =>
  page.context().addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url })));

async function addPasskey(page: Page, url: string) {
  await page.goto(url + pages);
  await page.getByRole('button', { name: message('passkey.add') }).click();
  await page.getByText(sentence('passkey.done.added')).waitFor();
}

async function signOut(page: Page) {
  await page.locator('#user-menu').click();
  await page.locator('#signout-submit').click();
  await page.waitForURL(/\/signed-out$/);
  await page.locator('#sign-in-again').click();
  await page.waitForURL(/\/signin$/);
}

const optionsOf = (url: string) => `${url}/signin/passkey/options`;

/** The sign-in page that this leads to has the options for its autofill. */
async function signOutToOptions(page: Page, url: string) {
  const answered = page.waitForResponse(optionsOf(url));
  await signOut(page);
  await answered;
}

/** Touched once somebody asks for options from now on: an autofill that already waits must not take it. */
async function touchedWhenAsked(
  page: Page,
  url: string,
  authenticator: { present(enabled: boolean): Promise<unknown> },
) {
  await page.route(optionsOf(url), async (route) => {
    await authenticator.present(true);
    await route.continue();
  });
  return { end: () => page.unroute(optionsOf(url)) };
}

const itemOf = (page: Page) => page.locator('ul.items > li');

/** How the session of this browser came about. */
async function amrOf(page: Page): Promise<string[]> {
  const answer = await page.request.get(new URL('/v1/me', page.url()).href);
  const { session } = (await answer.json()) as { session: { amr: string[] } };
  return session.amr;
}

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { freePort } from '../support/free-port.ts';
import { message, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { bareSettings, startServer } from '../support/server-process.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { exampleSettings, startExample, startRegisteredExample } from './example-process.ts';

const password = 'ordinary words in a row';

// On PostgreSQL; all the others have SQLite.
test('from a first start to a verified id token, refresh and sign-out', async (t) => {
  const settings = await bareSettings(t, 'postgres');
  const signet = await startServer(t, settings);
  const example = await startExample(t, { ...settings, ...(await exampleSettings(t, signet.url)) });
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url, example.url] });

  await page.goto(/http\S+\/invite\/\S+/.exec(signet.said.stdout)?.[0] ?? '');
  await page.getByLabel(message('field.email')).fill('ada@example.com');
  await page.getByLabel(message('field.name')).fill('Ada Lovelace');
  const passwordField = page.getByLabel(message('field.password'), { exact: true });
  await passwordField.fill('ordinary words');
  await page.getByText(message('field.new_password.count', { count: 14, min: 15 })).waitFor();
  await passwordField.fill(password);
  await page.getByText(message('field.new_password.enough')).waitFor();
  await page.getByRole('button', { name: message('invitation.submit') }).click();
  await page.waitForURL(`${signet.url}/admin`);
  await page.goto(`${signet.url}/account`);
  assert.match(await textOf(page), /Ada Lovelace/);
  assert.match(await textOf(page), sentence('account.role.admin'));
  await page.locator('#user-menu').click();
  await page.getByRole('button', { name: message('account.sign_out') }).click();
  await page.waitForURL(`${signet.url}/signed-out`);

  await page.goto(example.url);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Sign in with Signet' }).click();
  assert.match(await textOf(page), sentence('signin.to_client', { client: 'Example relying party' }));
  await signInWith(page, 'ada@example.com', password);

  await page.waitForURL(`${example.url}/`);
  await page.getByRole('heading', { name: 'Hello, Ada Lovelace' }).waitFor();
  const { user_id } = await (await page.request.get(`${signet.url}/v1/me`)).json();
  const before = { claims: await tableOf(page, 'ID token'), tokens: await tableOf(page, 'Tokens') };
  assert.equal(before.claims.sub, user_id);
  assert.equal(before.claims.iss, signet.url);
  assert.ok(before.claims.nonce);
  const { updated_at, ...userinfo } = await tableOf(page, 'Userinfo');
  assert.match(updated_at ?? '', /^\d{10}$/);
  assert.deepEqual(userinfo, {
    sub: user_id,
    email: 'ada@example.com',
    email_verified: 'false',
    name: 'Ada Lovelace',
    role: 'admin',
  });

  await page.getByRole('button', { name: 'Refresh the tokens' }).click();
  await page.getByRole('heading', { name: 'What the refresh changed' }).waitFor();
  const after = { claims: await tableOf(page, 'ID token'), tokens: await tableOf(page, 'Tokens') };
  assert.notEqual(after.tokens['access token'], before.tokens['access token']);
  assert.notEqual(after.tokens['refresh token'], before.tokens['refresh token']);
  assert.deepEqual([after.claims.sub, after.claims.auth_time], [user_id, before.claims.auth_time]);
  await expectAccessible(page);

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${example.url}/`);
  assert.match(await textOf(page), /You are signed out, of Signet too/);
  await expectAccessible(page);
  await page.getByRole('link', { name: 'Sign in with Signet' }).click();
  await page.getByLabel(message('field.password'), { exact: true }).waitFor(); // nobody's session is left
  expectQuiet();
});

test('at a relying party that asks its users for consent', async (t) => {
  const { signet, example, origins } = await begin(t, 'required');

  await t.test('it all works without JavaScript', async (t) => {
    const user = await signet.newUser();
    const { page, expectQuiet } = await openBrowser(t, { origins, javaScript: false });
    await page.goto(example.url);
    await page.locator('#sign-in').click();
    await signInWith(page, user.email, 'not the password at all');
    assert.match(await textOf(page), sentence('signin.wrong'));
    await signInWith(page, user.email, user.password);
    await page.locator('#consent-allow').click();
    assert.equal(await page.locator('#subject').textContent(), user.user_id);
    await page.locator('#refresh').click();
    assert.match(await textOf(page), /What the refresh changed/);
    await page.locator('#sign-out').click();
    assert.match(await textOf(page), /You are signed out, of Signet too/);
    const grants = await plain(signet.deps.db).all<{ refresh_seq: number; revoked_at: number | null }>(
      'select refresh_seq, revoked_at from grants where user_id = $1',
      [user.user_id],
    );
    assert.equal(grants.length, 1);
    assert.equal(grants[0]?.refresh_seq, 2);
    assert.ok(grants[0]?.revoked_at);
    expectQuiet();
  });

  for (const javaScript of [true, false]) {
    await t.test(
      `Cancel leads from a sign-in back to the application, ${javaScript ? 'with' : 'without'} JavaScript`,
      async (t) => {
        const { page, expectQuiet } = await openBrowser(t, { origins, javaScript });
        await page.goto(`${example.url}/sign-in`);
        await page.getByRole('link', { name: message('signin.forgot') }).click();
        await page.getByRole('button', { name: message('signin.cancel', { client: 'Field Notes' }) }).click();
        assert.equal(await page.locator('#error').textContent(), 'access_denied');
        assert.equal(new URL(page.url()).origin, example.url);
        expectQuiet();
      },
    );
  }

  await t.test('consent: Cancel informs the application, Allow is remembered', async (t) => {
    const user = await signet.newUser();
    const { page, expectQuiet } = await openBrowser(t, { origins });
    await page.goto(`${example.url}/sign-in`);
    await signInWith(page, user.email, user.password);
    await page
      .getByRole('heading', { name: message('consent.title', { client: 'Field Notes', service: 'Signet' }) })
      .waitFor();
    await page.getByRole('button', { name: message('consent.cancel') }).click();
    assert.equal(await page.locator('#error').textContent(), 'access_denied');
    await expectAccessible(page);

    await page.goto(`${example.url}/sign-in`);
    await page.getByRole('button', { name: message('consent.allow') }).click();
    await page.waitForURL(`${example.url}/`);
    await page.getByRole('button', { name: 'Leave this app only' }).click();
    await page.getByRole('link', { name: 'Sign in with Signet' }).click();
    await page.waitForURL(`${example.url}/`); // no question this time
    assert.equal(await page.locator('#subject').textContent(), user.user_id);
    expectQuiet();
  });
});

test('at a relying party that asks for no consent', async (t) => {
  const { signet, example, origins } = await begin(t, 'skip');
  const user = await named(signet, 'Grace Hopper');

  await t.test('a wrong password says so and keeps the address', async (t) => {
    const { page, expectQuiet } = await openBrowser(t, { origins });
    await page.goto(`${example.url}/sign-in`);
    await signInWith(page, user.email, 'not the password at all');
    await page
      .getByRole('alert')
      .filter({ hasText: sentence('signin.wrong') })
      .waitFor();
    assert.equal(await page.getByLabel(message('field.email')).inputValue(), user.email);
    assert.equal(await page.getByLabel(message('field.password'), { exact: true }).inputValue(), '');
    assert.equal(await focused(page), 'password');
    const typeOf = () => page.locator('#password').getAttribute('type');
    await page.getByRole('button', { name: message('field.password.show') }).click();
    assert.deepEqual([await typeOf(), await focused(page)], ['text', 'password']);
    await signInWith(page, user.email, user.password);
    await page.waitForURL(`${example.url}/`);
    expectQuiet();
  });

  await t.test('prompt=select_account lets a user with a session continue or switch the account', async (t) => {
    const { page, expectQuiet } = await openBrowser(t, { origins });
    const other = await named(signet, 'Mary Jackson');
    await page.goto(`${example.url}/sign-in`);
    await signInWith(page, user.email, user.password);
    await page.getByRole('button', { name: 'Leave this app only' }).click();
    await page.getByRole('link', { name: 'Choose an account' }).click();
    await page.getByRole('button', { name: message('choose.continue', { email: user.email }) }).click();
    assert.equal(await page.locator('#subject').textContent(), user.user_id);

    await page.getByRole('button', { name: 'Leave this app only' }).click();
    await page.getByRole('link', { name: 'Choose an account' }).click();
    await page.getByRole('link', { name: message('choose.other') }).click();
    await signInWith(page, other.email, other.password);
    assert.equal(await page.locator('#subject').textContent(), other.user_id);
    expectQuiet();
  });

  await t.test('prompt=login asks a user with a session again', async (t) => {
    const { page, expectQuiet } = await openBrowser(t, { origins });
    await page.goto(`${example.url}/sign-in`);
    await signInWith(page, user.email, user.password);
    const first = await tableOf(page, 'ID token');
    signet.clock.advance(60);
    await page.goto(`${example.url}/sign-in?prompt=login`);
    await signInWith(page, user.email, user.password);
    const second = await tableOf(page, 'ID token');
    assert.equal(second.sub, first.sub);
    assert.notEqual(second.auth_time, first.auth_time);
    expectQuiet();
  });
});

test('a client on a loopback address is let through the page, whatever the family', async (t) => {
  const signet = await startSignet(t);
  for (const host of ['127.0.0.1', '[::1]']) {
    const redirect_uri = `http://${host}:9/callback`; // nothing listens there: that Chromium asks is enough
    const client = await signet.registerClient({ redirect_uris: [redirect_uri] });
    const user = await signet.newUser();
    const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url, new URL(redirect_uri).origin] });
    await page.goto(signet.url + client.authorizePath());
    const arrival = page.waitForRequest((request) => request.url().startsWith(`${redirect_uri}?code=`));
    await signInWith(page, user.email, user.password);
    await arrival;
    expectQuiet();
  }
});

test('a client may send people on from its redirect URI to another origin of its own', async (t) => {
  const signet = await startSignet(t);
  const application = `http://127.0.0.1:${await freePort()}/app`; // nothing listens there: that Chromium asks is enough
  const callback = createServer((_request, response) => response.writeHead(302, { location: application }).end());
  const port = await freePort();
  await new Promise<void>((resolve) => callback.listen(port, '127.0.0.1', resolve));
  t.after(() => callback.close());
  const redirect_uri = `http://localhost:${port}/callback`;
  const client = await signet.registerClient({ redirect_uris: [redirect_uri] });
  const user = await signet.newUser();
  const origins = [signet.url, new URL(redirect_uri).origin, new URL(application).origin];
  const { page, expectQuiet } = await openBrowser(t, { origins });
  await page.goto(signet.url + client.authorizePath());
  const arrival = page.waitForRequest(application);
  await signInWith(page, user.email, user.password);
  await arrival;
  expectQuiet();
});

test('an unknown client gets a page that names the parameter', async (t) => {
  const signet = await startSignet(t);
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url] });
  const client = await signet.registerClient();
  const answer = await page.goto(signet.url + client.authorizePath({ client_id: 'nobody' }));
  assert.equal(answer?.status(), 400);
  assert.match(await textOf(page), sentence('authorize.unknown_client'));
  expectQuiet();
});

/** A Signet with the example as its client. */
async function begin(t: TestContext, consent: 'skip' | 'required') {
  const signet = await startSignet(t);
  atPresent(signet);
  const example = await startRegisteredExample(t, signet, await named(signet, 'Ada Lovelace'), consent);
  return { signet, example, origins: [signet.url, example.url] };
}

const named = (signet: Signet, name: string): Promise<TestUser> =>
  signet.newUser({ name, email: `${name.split(' ')[0]?.toLowerCase()}@example.com` });

/** The example has the clock of the machine, so both must mean the same by "expired". */
const atPresent = ({ clock }: Signet) => clock.advance(Math.floor((Date.now() - clock()) / 1000));

async function signInWith(page: Page, email: string, secret: string) {
  await page.locator('#username').fill(email);
  await page.locator('#password').fill(secret);
  await page.locator('#signin-submit').click();
}

const textOf = async (page: Page) => (await page.locator('main').textContent()) ?? '';

const focused = (page: Page) => page.evaluate(() => document.activeElement?.id);

/** The rows of one of the example's tables, by the beginning of its heading. */
async function tableOf(page: Page, heading: string): Promise<Record<string, string>> {
  const rows = page.locator('section', { has: page.locator('h2', { hasText: heading }) }).locator('tr');
  const cells = await Promise.all((await rows.all()).map((row) => row.locator('th, td').allInnerTexts()));
  return Object.fromEntries(cells);
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { approveClient, rejectClient } from '../../src/clients/review-client.ts';
import { expectAccessible, openBrowser, type Visitor } from '../support/chromium.ts';
import { authorizePath, obtainTokens, redeem } from '../support/relying-party.ts';
import { newPerson, type Person, registerClient, type Signet, signedInPerson, startSignet } from '../support/signet.ts';
import { picture } from './picture.ts';

/** The console of developers in a real browser: with JavaScript for comfort, and without. */

const cli = { actor: 'cli' } as const;
const callback = 'https://shop.test/callback';

/** Signs in through the form and comes back to the page that was asked for. */
async function open(page: Page, { url }: Signet, person: Person, path: string): Promise<void> {
  await page.goto(url + path);
  if (new URL(page.url()).pathname !== '/signin') return;
  await page.getByLabel('E-mail address').fill(person.email);
  await page.getByLabel('Password').fill(person.password);
  await page.locator('#signin-submit').click();
  await page.waitForURL(url + path);
}

async function fillIn(page: Page, redirectUris: string): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill('Example shop');
  await page.getByLabel('It runs on a server (confidential)').check();
  await page.getByLabel('Redirect URIs').fill(redirectUris);
  await page.getByLabel('Stay connected while you are away').check();
}

const idOf = (page: Page) => page.locator('#client-id').textContent();

test('a developer registers with a script that warns at once and copies', async (t) => {
  const signet = await startSignet(t);
  const ada = await newPerson(signet);
  const { context, page, expectQuiet } = await openBrowser(t, { origins: [signet.url] });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: signet.url });
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

  await open(page, signet, ada, '/developer');
  await expectAccessible(page);
  await page.getByRole('main').getByRole('link', { name: 'Register a client' }).click();
  await expectAccessible(page);

  await fillIn(page, `${callback}\nhttp://shop.test/callback`);
  const warning = page.locator('#redirect_uris-problem');
  await warning.getByText('http://shop.test/callback Must have the scheme https').waitFor();
  assert.equal(await page.getByLabel('Redirect URIs').getAttribute('aria-invalid'), 'true');
  assert.deepEqual((await ada.browser.get('/v1/oauth/clients')).status, 401);
  await expectAccessible(page);
  await page.getByLabel('Redirect URIs').fill(`${callback}\n<img src=x onerror=alert(1)>`);
  await warning.getByText('<img src=x onerror=alert(1)> Must hold characters').waitFor();
  await page.getByLabel('Redirect URIs').fill(callback);
  await warning.waitFor({ state: 'hidden' });
  await page.getByLabel('Home page').fill('javascript:alert(1)');
  await page.locator('#homepage_url-problem').getByText('begins with https://').waitFor();
  await page.getByLabel('Home page').fill('');
  await page.locator('#homepage_url-problem').waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: 'Register', exact: true }).click();
  await page.getByRole('heading', { name: 'Keep your secret' }).waitFor();
  const client_id = await idOf(page);
  const client_secret = await page.locator('#client-secret').textContent();
  assert.match(client_secret ?? '', /^cs_[\w-]{43}$/);
  await page.getByRole('button', { name: 'Copy: Client secret' }).click();
  await page.getByRole('status').getByText('Copied').waitFor();
  assert.equal(await clipboard(), client_secret);
  await page.getByText('Auth.js', { exact: true }).click();
  await page.getByRole('button', { name: 'Copy: auth.ts' }).click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('next-auth'));
  assert.ok((await clipboard()).includes(client_id!));
  for (const library of ['openid-client (Node.js)', 'Spring Security', 'oauth2-proxy']) {
    await page.getByText(library, { exact: true }).click();
  }
  await expectAccessible(page);

  // Loading the page again shows the client, and neither registers another one nor shows the secret.
  assert.equal(new URL(page.url()).pathname, `/developer/clients/${client_id}`);
  await page.reload();
  await page.getByRole('heading', { name: 'Example shop' }).waitFor();
  assert.doesNotMatch((await page.textContent('body')) ?? '', /cs_/);
  const looks = { 'developer-client': '', 'developer-settings': '/settings', 'developer-secrets': '/secrets' };
  for (const [look, part] of Object.entries(looks)) {
    await page.goto(`${signet.url}/developer/clients/${client_id}${part}`);
    await picture(page, look, 'desktop', 'light');
    await picture(page, look, 'phone', 'dark');
  }
  await page.goto(`${signet.url}/developer`);
  assert.equal(await page.getByRole('listitem').filter({ hasText: 'Example shop' }).count(), 1);
  expectQuiet();
});

test('all of it works without JavaScript', async (t) => {
  const signet = await startSignet(t);
  const ada = await newPerson(signet);
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url], javaScript: false });
  const path = async (part: string) => page.goto(`${signet.url}/developer/clients/${client_id}${part}`);

  await open(page, signet, ada, '/developer/register');
  await fillIn(page, 'https://shop.test/*');
  await page.getByRole('button', { name: 'Register', exact: true }).click();
  await page.locator('#redirect_uris-problem').getByText('Must not hold a wildcard').waitFor();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Example shop');
  assert.equal(await page.getByLabel('Stay connected while you are away').isChecked(), true);
  await page.getByLabel('Redirect URIs').fill(callback);
  await page.getByRole('button', { name: 'Register', exact: true }).click();
  const client_id = await idOf(page);
  assert.match((await page.locator('#client-secret').textContent()) ?? '', /^cs_[\w-]{43}$/);
  assert.equal(await page.getByRole('button', { name: /Copy/ }).count(), 0);
  assert.match(
    await page.getByLabel('.env', { exact: true }).inputValue(),
    new RegExp(`OIDC_CLIENT_ID='${client_id}'`),
  );
  await page.getByRole('link', { name: 'I have stored it' }).click();

  await page.getByRole('link', { name: 'Secrets' }).click();
  await page.getByRole('button', { name: 'Add a secret' }).click();
  await page.getByRole('heading', { name: 'Your new secret' }).waitFor();
  await path('/secrets');
  await page.getByLabel('It stops working').first().selectOption('in a week');
  await page.getByRole('button', { name: 'Retire' }).first().click();
  await page.getByText('ends in 7 days').waitFor();

  await approveClient(signet.deps, { client_id: client_id!, caller: cli }, { revision: 1 });
  await path('/edit');
  await page.getByLabel('Redirect URIs').fill(`${callback}\nhttps://shop.test/other`);
  await page.getByRole('button', { name: 'Submit for review' }).click();
  await page.getByText('A change is pending').waitFor();
  await path('/edit');
  await page.getByRole('button', { name: 'Withdraw the change' }).click();
  await page.getByText('The change that waited is withdrawn.').waitFor();

  await page.getByRole('link', { name: 'Delete the client' }).click();
  await page.getByLabel('To confirm, type its name').fill('Example shop');
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('You have not registered a client yet.').waitFor();
  expectQuiet();
});

test('each page of a client is readable by everybody, whatever state it is in and whatever it is called', async (t) => {
  const signet = await startSignet(t);
  const ada = await signedInPerson(signet);
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, ada, signet);
  const { page, expectQuiet } = visitor;
  const name = `<img src=x onerror=alert(1)> Pаypal ${'Long'.repeat(15)}`; // with a Cyrillic "а"
  const client = await registerClient(signet, {
    owner: ada,
    name,
    redirect_uris: [
      callback,
      `https://a-rather-long-name-of-a-host.shop.test/with/a/rather/long/path/${'x'.repeat(60)}`,
    ],
  });
  await obtainTokens(signet, ada, client);
  await ada.browser.get(authorizePath(client, { redirect_uri: `${callback}/` }));
  await ada.browser.get(authorizePath(client, { scope: 'openid <b>everything</b>' }));
  await redeem(signet, client, 'ac_unknown');
  await registerClient(signet, { owner: ada, approved: false, name: 'Second' });
  const rejected = await registerClient(signet, { owner: ada, approved: false, name: 'Third' });
  await rejectClient(signet.deps, { client_id: rejected.client_id, caller: cli }, 'Which shop is this?');
  await ada.browser.postJson(`/v1/oauth/clients/${client.client_id}/secrets`, {});
  const edit = { redirect_uris: ['https://shop.test/other'], name: 'Shop' };
  await ada.browser.send(`/v1/oauth/clients/${client.client_id}`, {
    method: 'PATCH',
    body: JSON.stringify(edit),
    headers: { 'content-type': 'application/json' },
  });

  const parts = ['', '/edit', '/settings', '/secrets', '/activity', '/delete'];
  for (const path of ['/developer', ...parts.map((part) => `/developer/clients/${client.client_id}${part}`)]) {
    for (const language of ['de', 'en']) {
      await t.test(`${path.replace(client.client_id, '…')} in ${language}`, async () => {
        const answer = await page.goto(`${signet.url}${path}?ui_locales=${language}`);
        assert.equal(answer?.status(), 200);
        await expectAccessible(page);
        const text = (await page.textContent('main')) ?? '';
        assert.match(text, /<img src=x onerror=alert\(1\)>|Shop/);
        assert.doesNotMatch(text, /\{\w+\}(?!")|undefined|\[object/);
      });
    }
  }
  await page.goto(`${signet.url}/developer/clients/${client.client_id}/activity`);
  assert.equal(await page.locator('#failures mark').textContent(), '/');
  assert.match((await page.locator('#sign-ins').textContent()) ?? '', new RegExp(ada.user_id));
  expectQuiet();
});

/** The cookies of a person who has signed in over plain HTTP. */
async function lendSession({ context }: Visitor, { browser }: Person, { url }: Signet): Promise<void> {
  await context.addCookies([...browser.cookies].map(([name, value]) => ({ name, value, url })));
}

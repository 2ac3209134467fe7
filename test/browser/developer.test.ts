import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { approveClient, rejectClient } from '../../src/clients/review-client.ts';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { expectPage } from './expect-page.ts';
import { lendSession } from './seeded-signet.ts';

/** The console of developers in a real browser: with JavaScript for comfort, and without. */

const cli = { actor: 'cli' } as const;
const callback = 'https://shop.test/callback';

/** Signs in through the form and comes back to the page that was asked for. */
async function open(page: Page, { url }: Signet, user: TestUser, path: string): Promise<void> {
  await page.goto(url + path);
  if (new URL(page.url()).pathname !== '/signin') return;
  await page.getByLabel(message('field.email')).fill(user.email);
  await page.getByLabel(message('field.password'), { exact: true }).fill(user.password);
  await page.locator('#signin-submit').click();
  await page.waitForURL(url + path);
}

async function fillIn(page: Page, redirectUris: string): Promise<void> {
  await page.getByLabel(message('developer.name'), { exact: true }).fill('Example shop');
  await page.locator('#technical > summary').click();
  await page.getByLabel(message('developer.client_type.confidential')).check();
  await page.getByLabel(message('developer.redirect_uris'), { exact: true }).fill(redirectUris);
  await page.getByLabel(message('scope.offline_access')).check();
}

const idOf = (page: Page) => page.locator('#client-id').textContent();

test('a developer registers with a script that warns at once and copies', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.newUser();
  const { context, page, expectQuiet } = await openBrowser(t, { origins: [signet.url] });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: signet.url });
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());

  await open(page, signet, ada, '/developer');
  await page
    .getByRole('main')
    .getByRole('list')
    .getByRole('link', { name: message('developer.list.step.register.link') })
    .click(); // the first of three steps

  await page.locator('a[href$="?kind=web&library=authjs"]').click();
  const asked = page.locator('#client-form :is(input:not([type=hidden]), textarea, select)');
  assert.equal(await asked.count(), 2, 'a name and an address');
  await page.getByLabel(message('developer.redirect_uris'), { exact: true }).fill('com.example.app:/callback');
  await page.locator('#redirect_uris-problem').getByText(sentence('problem.redirect_uri.scheme')).waitFor();
  await expectAccessible(page);
  await page.locator('#register-all').click();

  await fillIn(page, `${callback}\nhttp://shop.test/callback`);
  const warning = page.locator('#redirect_uris-problem');
  await warning.getByText(pattern`http://shop\.test/callback ${sentence('problem.redirect_uri.http')}`).waitFor();
  assert.equal(
    await page.getByLabel(message('developer.redirect_uris'), { exact: true }).getAttribute('aria-invalid'),
    'true',
  );
  assert.deepEqual((await ada.browser.get('/v1/oauth/clients')).status, 401);
  await expectAccessible(page);
  await page
    .getByLabel(message('developer.redirect_uris'), { exact: true })
    .fill(`${callback}\n<img src=x onerror=alert(1)>`);
  await warning
    .getByText(pattern`<img src=x onerror=alert\(1\)> ${sentence('problem.redirect_uri.characters')}`)
    .waitFor();
  await page.getByLabel(message('developer.redirect_uris'), { exact: true }).fill('com.example.app:/callback');
  await warning.getByText(sentence('problem.redirect_uri.scheme')).waitFor();
  await page.getByLabel(message('developer.application_type.native')).check();
  await page
    .locator('#application_type-problem')
    .getByText(sentence('problem.client.application_type.secret'))
    .waitFor();
  assert.equal(await warning.isHidden(), true);
  await page.getByLabel(message('developer.application_type.web')).check();
  await page.getByLabel(message('developer.redirect_uris'), { exact: true }).fill(callback);
  await warning.waitFor({ state: 'hidden' });
  const keys = page.getByLabel(message('developer.jwks'), { exact: true });
  const keyWarning = page.locator('#jwks-problem');
  await keys.fill('{"keys": [');
  await keyWarning.getByText(sentence('problem.jwks.json')).waitFor();
  await keys.fill('{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}');
  await keyWarning.getByText(sentence('problem.jwks.private')).waitFor();
  await keys.fill('');
  await keyWarning.waitFor({ state: 'hidden' });
  await page.locator('#more > summary').click();
  await page.getByLabel(message('developer.homepage_url')).fill('javascript:alert(1)');
  await page.locator('#homepage_url-problem').getByText(sentence('problem.url.https')).waitFor();
  await page.getByLabel(message('developer.homepage_url')).fill('');
  await page.locator('#homepage_url-problem').waitFor({ state: 'hidden' });

  await page.getByRole('button', { name: message('developer.register.submit'), exact: true }).click();
  await page.getByRole('heading', { name: message('developer.secret.registered.title') }).waitFor();
  const client_id = await idOf(page);
  const client_secret = await page.locator('#client-secret').textContent();
  assert.match(client_secret ?? '', /^cs_[\w-]{43}$/);
  await page
    .getByRole('button', { name: `${message('developer.copy')}: ${message('developer.client_secret')}` })
    .click();
  await page.getByRole('status').getByText(message('developer.copied')).waitFor();
  assert.equal(await clipboard(), client_secret);
  await page.getByRole('button', { name: `${message('developer.copy')}: auth.ts` }).click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('next-auth'));
  await page.getByRole('button', { name: `${message('developer.copy')}: auth.config.mjs` }).click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('clientId'));
  assert.ok((await clipboard()).includes(client_id!));
  await page.getByText(message('developer.symptoms'), { exact: true }).click();
  await expectAccessible(page);

  // Loading the page again shows the client, and neither registers another one nor shows the secret.
  assert.equal(new URL(page.url()).pathname, `/developer/clients/${client_id}`);
  await page.reload();
  await page.getByRole('heading', { name: 'Example shop' }).waitFor();
  assert.doesNotMatch((await page.textContent('body')) ?? '', /cs_/);
  await page.goto(`${signet.url}/developer/clients/${client_id}`);
  await page.getByRole('button', { name: `${message('developer.copy')}: ${message('developer.issuer')}` }).click();
  await page.waitForFunction(async (url) => (await navigator.clipboard.readText()) === url, signet.url);
  await page.getByLabel(message('developer.setup.library')).selectOption('mod-auth-openidc');
  await page.getByRole('button', { name: message('developer.setup.show') }).click();
  assert.match(await page.getByLabel('auth_openidc.conf', { exact: true }).inputValue(), /OIDCPKCEMethod S256/);
  await page.goto(`${signet.url}/developer`);
  assert.equal(await page.getByRole('listitem').filter({ hasText: 'Example shop' }).count(), 1);
  expectQuiet();
});

test('all of it works without JavaScript', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.newUser();
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url], javaScript: false });
  const path = async (part: string) => page.goto(`${signet.url}/developer/clients/${client_id}${part}`);

  await open(page, signet, ada, '/developer/register?kind=web&library=other&settings=all');
  await fillIn(page, 'https://shop.test/*');
  await page.getByRole('button', { name: message('developer.register.submit'), exact: true }).click();
  await page.locator('#redirect_uris-problem').getByText(sentence('problem.redirect_uri.wildcard')).waitFor();
  assert.equal(await page.getByLabel(message('developer.name'), { exact: true }).inputValue(), 'Example shop');
  assert.equal(await page.getByLabel(message('scope.offline_access')).isChecked(), true);
  await page.getByLabel(message('developer.redirect_uris'), { exact: true }).fill(callback);
  await page.getByRole('button', { name: message('developer.register.submit'), exact: true }).click();
  const client_id = await idOf(page);
  assert.match((await page.locator('#client-secret').textContent()) ?? '', /^cs_[\w-]{43}$/);
  assert.equal(await page.getByRole('button', { name: sentence('developer.copy') }).count(), 0);
  assert.match(
    await page.getByLabel('.env', { exact: true }).inputValue(),
    new RegExp(`OIDC_CLIENT_ID='${client_id}'`),
  );
  await page.getByRole('link', { name: message('developer.secret.kept') }).click();

  await page.getByRole('link', { name: message('developer.secrets') }).click();
  await page.getByRole('button', { name: message('developer.secrets.add') }).click();
  await page.getByRole('heading', { name: message('developer.secret.added.title') }).waitFor();
  await path('/secrets');
  await page.getByLabel(message('developer.secrets.ends.label')).first().selectOption(message('overlap.week'));
  await page
    .getByRole('button', { name: message('developer.secrets.retire') })
    .first()
    .click();
  await page.getByText(sentence('developer.secrets.ends', { when: 'in 7\u00a0days' })).waitFor();

  await approveClient(signet.deps, { client_id: client_id!, caller: cli }, { revision: 1 });
  await path('/edit');
  await page
    .getByLabel(message('developer.redirect_uris'), { exact: true })
    .fill(`${callback}\nhttps://shop.test/other`);
  await page.getByRole('button', { name: message('developer.edit.submit.staged') }).click();
  await page.getByText(sentence('developer.state.change.what')).waitFor();
  await path('/edit');
  await page.getByRole('button', { name: message('developer.edit.withdraw') }).click();
  await page.getByText(message('developer.done.withdrawn')).waitFor();

  await page.getByRole('link', { name: message('developer.delete.link') }).click();
  await page.getByLabel(sentence('developer.delete.type')).fill('Example shop');
  await page.getByRole('button', { name: message('developer.delete.submit') }).click();
  await page.getByText(sentence('developer.list.none')).waitFor();
  expectQuiet();
});

test('each page of a client is readable by everybody, whatever state it is in and whatever it is called', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.signedInUser();
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, ada, signet);
  const { page, expectQuiet } = visitor;
  const name = `<img src=x onerror=alert(1)> Pаypal ${'Long'.repeat(15)}`; // with a Cyrillic "а"
  const client = await signet.registerClient({
    owner: ada,
    name,
    redirect_uris: [
      callback,
      `https://a-rather-long-name-of-a-host.shop.test/with/a/rather/long/path/${'x'.repeat(60)}`,
    ],
  });
  await ada.obtainTokens(client);
  await ada.browser.get(client.authorizePath({ redirect_uri: `${callback}/` }));
  await ada.browser.get(client.authorizePath({ scope: 'openid <b>everything</b>' }));
  await client.redeem('ac_unknown');
  await signet.registerClient({ owner: ada, approved: false, name: 'Second' });
  const rejected = await signet.registerClient({ owner: ada, approved: false, name: 'Third' });
  await rejectClient(signet.deps, { client_id: rejected.client_id, caller: cli }, 'Which shop is this?');
  await ada.browser.postJson(`/v1/oauth/clients/${client.client_id}/secrets`, {});
  const edit = { redirect_uris: ['https://shop.test/other'], name: 'Shop' };
  await ada.browser.patch(`/v1/oauth/clients/${client.client_id}`, edit);

  // As if the app refused the tokens, each time.
  for (let time = 0; time < 3; time += 1) {
    await ada.obtainTokens(client);
    signet.clock.advance(10);
  }

  const parts = ['', '/edit', '/secrets', '/activity', '/test', '/delete'];
  for (const path of ['/developer', ...parts.map((part) => `/developer/clients/${client.client_id}${part}`)]) {
    await t.test(path.replace(client.client_id, '…'), () =>
      expectPage(page, signet, { path }, async () => {
        assert.match((await page.textContent('main')) ?? '', /<img src=x onerror=alert\(1\)>|Shop/);
      }),
    );
  }
  await page.goto(`${signet.url}/developer/clients/${client.client_id}/activity`);
  assert.equal(await page.locator('#failures mark').textContent(), '/');
  assert.match((await page.locator('#sign-ins').textContent()) ?? '', new RegExp(ada.user_id));
  expectQuiet();
});

test('the owner of a client tests it, with a script and without', async (t) => {
  const signet = await startSignet(t);
  const ada = await signet.signedInUser();
  const client = await signet.registerClient({ owner: ada, allowed_scopes: ['openid', 'email', 'offline_access'] });
  const path = `/developer/clients/${client.client_id}`;
  for (const javaScript of [true, false]) {
    const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url], javaScript });
    await open(page, signet, ada, path);
    await page.getByRole('link', { name: message('developer.test') }).click();
    await page.getByRole('button', { name: message('developer.test.start') }).click();
    await page.getByText(message('developer.test.passed')).waitFor();
    assert.equal(await page.getByRole('heading', { name: message('developer.test.id_token') }).count(), 2);
    if (javaScript) {
      await expectAccessible(page);
      assert.equal(page.url(), `${signet.url}${path}/test`);
    }
    expectQuiet();
  }
});

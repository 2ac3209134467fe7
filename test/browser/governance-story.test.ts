import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { readAnswer } from '../support/browser.ts';
import { openBrowser } from '../support/chromium.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** Issue 4 in one go, as the people in it see it. */
test('a client from its registration to its suspension: developer, administrator, user, back end, product', async (t) => {
  const signet = await startSignet(t);
  const product = await openProduct(t);
  const origins = [signet.url, product.origin];
  const [developer, administrator, user] = [
    await signet.newUser(),
    await signet.newUser({ role: 'admin' }),
    await signet.newUser(),
  ];
  const desks = await Promise.all([
    openBrowser(t, { origins }),
    openBrowser(t, { origins }),
    openBrowser(t, { origins }),
  ]);
  const [developers, administrators, users] = desks.map(({ page }) => page) as [Page, Page, Page];

  // A developer registers a client, and sees its secret once.
  await goTo(developers, signet, '/developer/register?kind=web&library=other&settings=all', developer);
  await developers.getByLabel(message('developer.name'), { exact: true }).fill('Field Notes');
  await developers.locator('#technical > summary').click();
  await developers.getByLabel(message('developer.client_type.confidential')).check();
  await developers.getByLabel(message('developer.redirect_uris'), { exact: true }).fill(product.redirect_uri);
  await developers.locator('[name="scope offline_access"]').check();
  await developers.locator('[name="scope entitlements:read"]').check();
  await developers.locator('#register-submit').click();
  await developers.waitForLoadState();
  const client = await readCredentials(signet, developers, product.redirect_uri);
  const early = await user.browser.get(client.authorizePath());
  assert.equal(early.status, 400, 'no user can sign in to a client before its review');

  signet.clock.advance(1); // events of one second have no order of their own
  // An administrator with TOTP signs in with a code, and approves the client with consent for everybody.
  await administrator.signIn();
  const totp = await administrator.enableTotp();
  await goTo(administrators, signet, '/admin', administrator, totp.code);
  await administrators
    .getByRole('link', { name: message('admin.tab.clients') })
    .first()
    .click();
  await administrators.getByRole('link', { name: 'Field Notes' }).click();
  await administrators.getByText(sentence('risk.sensitive_scope')).waitFor();
  await administrators.getByLabel(message('admin.clients.consent.required')).check();
  await administrators.getByRole('button', { name: message('admin.clients.approve.submit', { revision: 1 }) }).click();
  await administrators
    .getByRole('status')
    .filter({ hasText: sentence('admin.clients.done.approved') })
    .waitFor();

  signet.clock.advance(1);
  // The developer wants another name; the administrator reads the difference and approves exactly that.
  await developers.goto(`${signet.url}/developer/clients/${client.client_id}/edit`);
  await developers.getByLabel(message('developer.name'), { exact: true }).fill('Field Notes Pro');
  await developers.locator('#edit-submit').click();
  await developers.waitForLoadState();
  signet.clock.advance(1);
  await administrators.goto(`${signet.url}/admin/clients/${client.client_id}`);
  const row = administrators.getByRole('row').filter({ hasText: 'Field Notes Pro' });
  assert.match(
    (await row.textContent()) ?? '',
    pattern`${sentence('clients.field.name')}\s*Field Notes\s*Field Notes Pro`,
  );
  await administrators
    .locator('form[action$="/approve"]')
    .getByLabel(message('admin.clients.consent.required'))
    .check();
  await administrators.getByRole('button', { name: message('admin.clients.approve.submit', { revision: 2 }) }).click();
  await administrators
    .getByRole('status')
    .filter({ hasText: sentence('admin.clients.done.approved') })
    .waitFor();

  signet.clock.advance(1);
  // A user signs in and is asked; what they allow comes to the product as a code.
  const scope = 'openid profile email offline_access entitlements:read';
  await users.goto(signet.url + client.authorizePath({ scope }));
  await signInHere(users, user);
  await users
    .getByRole('heading', { name: message('consent.title', { client: 'Field Notes Pro', service: 'Signet' }) })
    .waitFor();
  await users.getByText(message('scope.entitlements:read')).waitFor();
  await users.getByRole('button', { name: message('consent.allow') }).click();
  await users.waitForURL(`${product.redirect_uri}?**`);
  const code = new URL(users.url()).searchParams.get('code') ?? '';
  const tokens = tokensOf(await client.redeem(code));

  // The back end writes what the user has bought, and the product sees it at once.
  const billing = await signet.newService({ permissions: ['entitlements:write', 'tokens:introspect'] });
  const written = await postEntitlement(signet, billing.authorization, writeOf(user.user_id, { plan: 'pro' }));
  assert.equal(written.status, 200);
  const userinfo = await signet.userinfo(tokens.access_token);
  assert.equal(userinfo.json?.sub, user.user_id);
  assert.deepEqual(
    ((userinfo.json?.entitlements ?? []) as { product: string; plan: string }[]).map(({ product, plan }) => [
      product,
      plan,
    ]),
    [['editor', 'pro']],
  );
  assert.equal((await client.introspect(tokens.access_token)).json?.active, true);

  // The administrator suspends the client: within a second nothing of it works, on whatever node.
  const neighbour = await startSignet(t, { beside: signet });
  assert.equal((await neighbour.userinfo(tokens.access_token)).status, 200);
  await administrators.locator('summary', { hasText: message('admin.clients.suspend') }).click();
  await administrators.getByLabel(message('admin.reason')).fill('Reported by its users');
  await administrators.locator('#client-suspend').click();
  await administrators
    .getByRole('status')
    .filter({ hasText: sentence('admin.clients.done.suspended') })
    .waitFor();
  signet.clock.advance(1);
  for (const node of [signet, neighbour]) {
    const refreshed = await client.at(node).refresh(tokens.refresh_token ?? '');
    assert.ok(refreshed.status === 400 || refreshed.status === 401, `refresh answered ${refreshed.status}`);
    assert.equal((await node.userinfo(tokens.access_token)).status, 401);
    assert.deepEqual(await introspectAs(node, billing.authorization, tokens.access_token), { active: false });
    assert.equal((await client.at(node).introspect(tokens.access_token)).status, 403);
    assert.equal((await user.browser.get(client.authorizePath())).status, 400);
  }

  // The developer reads why, and the log tells the whole story in one unbroken chain.
  await developers.goto(`${signet.url}/developer/clients/${client.client_id}`);
  await developers.getByText('Reported by its users').first().waitFor();
  await administrators.goto(`${signet.url}/admin/audit?who=${client.client_id}`);
  const log = (await administrators.locator('main').textContent()) ?? '';
  const story = ['suspended', 'change_approved', 'change_requested', 'approved', 'registered'];
  assert.match(log, new RegExp(story.map((step) => `client\\.${step}`).join('.*'), 's'));
  await administrators.locator('#audit-verify').click();
  await administrators.getByRole('status').first().waitFor(); // of each part; a broken chain is an alert
  for (const { expectQuiet } of desks) expectQuiet();
});

/** Where the product waits for people to come back. */
async function openProduct(t: TestContext) {
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Field Notes</title>Welcome'),
  );
  server.listen(0, 'localhost');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return { origin, redirect_uri: `${origin}/callback` };
}

/** @param code for a user with a second factor. */
async function goTo(page: Page, signet: Signet, path: string, user: TestUser, code?: () => string) {
  await page.goto(signet.url + path);
  await signInHere(page, user);
  if (code) {
    await page.waitForURL(`${signet.url}/signin/second-factor**`);
    await page.locator('#code').fill(code());
    await page.locator('#second-factor-submit').click();
  }
  await page.waitForURL(signet.url + path);
}

async function signInHere(page: Page, { email, password }: TestUser) {
  await page.locator('#username').fill(email);
  await page.locator('#password').fill(password);
  await page.locator('#signin-submit').click();
}

/** The secret is on this page and on no other. */
async function readCredentials(signet: Signet, page: Page, redirect_uri: string): Promise<RegisteredClient> {
  const shown = await page.content();
  const client_id = /cl_[\w-]{22}/.exec(shown)?.[0];
  const client_secret = /cs_[\w-]{43}/.exec(shown)?.[0];
  assert.ok(client_id && client_secret, 'the page after the registration shows id and secret');
  return new RegisteredClient(signet, { client_id, client_secret, redirect_uri });
}

async function introspectAs(node: Signet, authorization: string, token: string) {
  const body = new URLSearchParams({ token });
  const answer = await fetch(`${node.url}/oauth/introspect`, { method: 'POST', body, headers: { authorization } });
  return (await readAnswer(answer)).json;
}

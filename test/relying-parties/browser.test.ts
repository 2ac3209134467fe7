import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { buildSync } from 'esbuild';
import type { Page } from 'playwright-core';
import { openBrowser } from '../support/chromium.ts';
import { message } from '../support/messages.ts';
import { assertRefused } from '../support/relying-party.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import {
  type CatalogueClient,
  registerFor,
  seenWithout,
  startPresentSignet,
  without,
  writeSnippet,
} from './catalogue-client.ts';

/** Single-page apps in a real browser, on an origin of their own: the snippets of the catalogue, bundled and served. */

/** Serves one page for every path, with a bundle of the snippet and of what the app does with it. */
async function serveApp(t: TestContext, given: CatalogueClient, entry: string): Promise<void> {
  const folder = await writeSnippet(t, given);
  await writeFile(join(folder, 'main.jsx'), entry);
  const [bundle] = buildSync({
    entryPoints: [join(folder, 'main.jsx')],
    bundle: true,
    write: false,
    jsx: 'automatic',
    define: { 'process.env.NODE_ENV': '"production"' },
  }).outputFiles;
  const page =
    '<!doctype html><meta charset="utf-8"><title>App</title><div id="root"></div><script src="/main.js"></script>';
  const server = createServer((request, response) => {
    const isScript = request.url === '/main.js';
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
    response.statusCode = request.url === '/favicon.ico' ? 404 : 200;
    response.end(isScript ? bundle?.text : page);
  }).listen(given.port, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close().closeAllConnections());
}

async function typePassword(page: Page, { email, password }: TestUser): Promise<void> {
  await page.getByLabel(message('field.email')).fill(email);
  await page.getByLabel(message('field.password'), { exact: true }).fill(password);
  await page.locator('#signin-submit').click();
}

const open = async (t: TestContext, signet: Signet, { origin }: CatalogueClient) => {
  const user = await signet.newUser({ name: 'Ada Lovelace' });
  return { user, ...(await openBrowser(t, { origins: [signet.url, origin] })) };
};

/** What a page of the app keeps of its user. */
type SpaUser = { profile: { sub: string; name?: string; email?: string }; access_token: string; refresh_token: string };

test('oidc-client-ts signs in, refreshes and signs out in a browser', async (t) => {
  const signet = await startPresentSignet(t);

  /** The app works at the console of the browser, at which `app` is what the snippet exports. */
  async function start(t: TestContext, given: CatalogueClient) {
    await serveApp(t, given, "import * as app from './users.js'; window.app = app;");
    const opened = await open(t, signet, given);
    const { page } = opened;
    const reached = (path: string) => page.waitForURL((url) => url.origin + url.pathname === given.origin + path);
    const run = <Value>(expression: string) => page.evaluate<Value>(expression);
    await page.goto(given.origin);
    return { ...opened, reached, run };
  }

  await t.test('with the snippet', async (t) => {
    const given = await registerFor(signet, 'oidc-client-ts');
    const { page, user, reached, run, expectQuiet } = await start(t, given);
    await run('void app.startSignIn()');
    await page.locator('#signin-submit').waitFor();
    await typePassword(page, user);
    await reached('/cb');
    const { profile, access_token } = await run<SpaUser>('app.finishSignIn()');
    assert.deepEqual([profile.sub, profile.name, profile.email], [user.user_id, 'Ada Lovelace', user.email]);
    const renewed = await run<SpaUser>('app.default.signinSilent()');
    assert.notEqual(renewed.access_token, access_token);
    assert.equal((await signet.userinfo(renewed.access_token)).status, 200);

    await run('void app.signOut()');
    await reached('/bye');
    assertRefused(await given.client.refresh(renewed.refresh_token), 400, 'invalid_grant');
    assert.equal((await signet.userinfo(renewed.access_token)).status, 401);
    await run('void app.startSignIn()');
    await page.locator('#signin-submit').waitFor();
    expectQuiet();
  });

  await t.test('without userinfo', async (t) => {
    const given = await registerFor(signet, 'oidc-client-ts');
    const { page, user, reached, run } = await start(t, without(given, /^ *loadUserInfo.*\n/m));
    await run('void app.startSignIn()');
    await page.locator('#signin-submit').waitFor();
    await typePassword(page, user);
    await reached('/cb');
    const { profile } = await run<SpaUser>('app.finishSignIn()');
    assert.deepEqual([profile.sub, profile.name, profile.email], [user.user_id, undefined, undefined]);
    assert.equal(seenWithout(given, 'claims'), 'user.profile has no name and no email');
    await assert.rejects(run('app.finishSignIn()'), /No matching state found in storage/); // a code works once

    await run('app.default.removeUser().then(() => void app.startSignIn())');
    await reached('/cb'); // the session at Signet is still there
    assert.equal(seenWithout(given, 'sign_out'), 'the next sign-in needs no password');
  });
});

const mount = `import { createRoot } from 'react-dom/client';
import App from './App.jsx';
createRoot(document.getElementById('root')).render(<App />);`;

test('react-oidc-context signs in and out in a browser', async (t) => {
  const signet = await startPresentSignet(t);
  const given = await registerFor(signet, 'react-oidc-context');
  await serveApp(t, given, mount);
  const { page, user, expectQuiet } = await open(t, signet, given);
  await page.goto(given.origin);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await typePassword(page, user);
  await page.getByText('Ada Lovelace').waitFor();
  assert.equal(page.url(), `${given.origin}/cb`); // code and state are gone from the address
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(given.post_logout_redirect_uri);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('#signin-submit').waitFor();
  await page.goto(`${given.origin}/cb?error=access_denied&error_description=No.&state=unknown`);
  await page.getByRole('alert').getByText('No matching state found in storage').waitFor();
  expectQuiet();
});

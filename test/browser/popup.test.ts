import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openBrowser } from '../support/chromium.ts';
import { startSignet } from '../support/signet.ts';

const library = readFileSync(
  fileURLToPath(new URL('../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url)),
);

/** An app of another site whose page opens the sign-in in a popup, with a library that waits for word from there. */
async function startApp(t: TestContext) {
  const page = (script = '') => `<!doctype html><title>App</title><script src="/library.js"></script>${script}`;
  const callback = page('<script>new oidc.UserManager({}).signinPopupCallback()</script>');
  const server = createServer(({ url = '' }, response) => {
    const isLibrary = url === '/library.js';
    response.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html');
    response.end(isLibrary ? library : url.startsWith('/callback') ? callback : page());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a sign-in in a popup, through every page that it may show, reports back to the app that opened it', async (t) => {
  const signet = await startSignet(t);
  const app = await startApp(t);
  const user = await signet.signedInUser();
  const authenticator = await user.enableTotp();
  const { client_id } = await signet.registerClient({
    client_type: 'public',
    application_type: 'spa',
    redirect_uris: [`${app}/callback`],
    consent: 'required',
  });
  const { page, context, expectQuiet } = await openBrowser(t, { origins: [signet.url, app] });
  await page.goto(app);
  const settings = { authority: signet.url, client_id, redirect_uri: `${app}/callback`, scope: 'openid email' };
  const opened = context.waitForEvent('page');
  await page.evaluate(`void new oidc.UserManager(${JSON.stringify(settings)}).signinPopup().then(
    (user) => { globalThis.outcome = user.scope; }, (error) => { globalThis.outcome = String(error); })`);
  const popup = await opened;
  const closed = popup.waitForEvent('close'); // by the library, when the app has its answer
  const arrive = async (pattern: string) => {
    await popup.waitForURL(signet.url + pattern);
    assert.equal(await popup.evaluate('opener !== null'), true, popup.url());
  };
  await arrive('/signin?request=*');
  // The page for a forgotten password, and a wrong one: pages of the same flow.
  await popup.goto(popup.url().replace('/signin', '/reset'));
  await arrive('/reset?request=*');
  await popup.goBack();
  await popup.fill('#username', user.email);
  await popup.fill('#password', 'wrong words in a row');
  await popup.click('#signin-submit');
  await popup.locator('#problem').waitFor();
  await arrive('/signin');
  await popup.fill('#password', user.password);
  await popup.click('#signin-submit');
  await arrive('/signin/second-factor');
  await popup.fill('#code', authenticator.code());
  await popup.click('#second-factor-submit');
  await arrive('/consent?request=*');
  assert.equal(await page.evaluate('globalThis.outcome'), undefined, 'the app still waits');
  await popup.click('#consent-allow');
  await closed;
  await page.waitForFunction('globalThis.outcome !== undefined');
  assert.equal(await page.evaluate('outcome'), 'openid email');
  expectQuiet();
});

test('pages of a flow leave the opener alone, the others do not', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const user = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient({ consent: 'required' });
  const policyOf = async (path: string, browser = user.browser) => {
    const { headers } = await browser.get(path, { accept: 'text/html' });
    assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path);
    return headers.get('cross-origin-opener-policy');
  };
  const { location: consent } = await user.browser.get(client.authorizePath());
  const { location: choice } = await user.browser.get(client.authorizePath({ prompt: 'select_account' }));
  const stranger = signet.newBrowser();
  const { location: signIn } = await stranger.get(client.authorizePath());
  const request = new URL(signIn, signet.url).search;
  for (const path of [
    consent,
    choice,
    '/oauth/authorize',
    '/oauth/logout/confirm',
    '/auth/none/callback',
    '/signed-out',
  ])
    assert.equal(await policyOf(path), null, path);
  for (const path of [
    signIn,
    `/signup${request}`,
    `/reset${request}`,
    `/signup/sent${request}`,
    '/signin?request=over',
  ])
    assert.equal(await policyOf(path, stranger), null, path);
  for (const path of ['/account', '/account/security/password', '/developer', '/admin', '/admin/nothing', '/reference'])
    assert.equal(await policyOf(path), 'same-origin', path);
  for (const path of ['/signin', '/signup', '/reset', '/reset/spent'])
    assert.equal(await policyOf(path, stranger), 'same-origin', path);
});

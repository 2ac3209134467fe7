import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openBrowser } from '../support/chromium.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { lendSession } from './seeded-signet.ts';

/** A relying party whose web address sends the browser on into its app, with the answer that it got. */
async function startAppServer(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const { search } = new URL(request.url ?? '', 'http://rp.test');
    response.writeHead(302, { location: `com.example.app:/done${search}` }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

const registered = (signet: Signet, app: string, more: { consent?: 'required' } = {}) =>
  signet.registerClient({ ...more, redirect_uris: [`${app}/cb`], post_logout_redirect_uris: [`${app}/bye`] });

test('every form that may end at an application leads on to the scheme to which its web address redirects', async (t) => {
  const signet = await startSignet(t, { mail: true });
  const app = await startAppServer(t);
  const client = await registered(signet, app);
  const asking = await registered(signet, app, { consent: 'required' });

  const browserOf = async (options: { javaScript?: boolean } = {}) => {
    const visitor = await openBrowser(t, { origins: [signet.url, app, 'null'], ...options });
    const { page } = visitor;
    /** Clicks, and waits until the browser hands the address to the system. @param answer what is in it. */
    const arrive = async (button: string, answer?: 'code' | 'error') => {
      const handedOver = page.waitForRequest((request) => request.url().startsWith('com.example.app:/done'));
      await page.click(button);
      const { searchParams } = new URL((await handedOver).url());
      if (answer) assert.ok(searchParams.has(answer), `${button}: ${searchParams}`);
    };
    const open = (path: string) => page.goto(signet.url + path);
    return { ...visitor, arrive, open };
  };

  await t.test('sign-in, consent, the choice of an account, and the question whether to sign out', async () => {
    const user = await signet.newUser();
    const { page, arrive, open, expectQuiet } = await browserOf();
    await open(client.authorizePath());
    await page.click('a[href^="/reset"]');
    await arrive('#cancel-sign-in', 'error');
    await open(client.authorizePath());
    await page.fill('#username', user.email);
    await page.fill('#password', 'wrong words in a row');
    await page.click('#signin-submit');
    await page.locator('#problem').waitFor();
    await page.fill('#password', user.password);
    await arrive('#signin-submit', 'code');
    await open(asking.authorizePath());
    await arrive('#consent-deny', 'error');
    await open(asking.authorizePath());
    await arrive('#consent-allow', 'code');
    await open(client.authorizePath({ prompt: 'select_account' }));
    await arrive('#continue-as', 'code');
    const goodbye = { client_id: client.client_id, post_logout_redirect_uri: `${app}/bye` };
    await open(`/oauth/logout?${new URLSearchParams(goodbye)}`);
    await arrive('#logout-submit');
    expectQuiet();
  });

  await t.test('the second factor', async () => {
    const user = await signet.signedInUser();
    const authenticator = await user.enableTotp();
    const { page, arrive, open, expectQuiet } = await browserOf();
    await open(client.authorizePath());
    await page.fill('#username', user.email);
    await page.fill('#password', user.password);
    await page.click('#signin-submit');
    await page.fill('#code', authenticator.code());
    await arrive('#second-factor-submit', 'code');
    expectQuiet();
  });

  await t.test('form_post', async () => {
    const visitor = await browserOf({ javaScript: false }); // or it would not wait for the button
    await lendSession(visitor, await signet.signedInUser(), signet);
    await visitor.open(client.authorizePath({ response_mode: 'form_post' }));
    await visitor.arrive('#form-post-submit');
    visitor.expectQuiet();
  });

  await t.test('a new account', async () => {
    const { page, arrive, open, expectQuiet } = await browserOf();
    await open(client.authorizePath());
    await page.click('a[href^="/signup"]');
    await page.fill('#email', 'new@example.com');
    await page.click('#signup-submit');
    await open(linkIn(await signet.mailbox.next('new@example.com'), /^\/signup\//));
    await page.fill('#name', 'Ada');
    await page.fill('#password', 'harbour velvet cactus ninety');
    await arrive('#signup-create', 'code');
    expectQuiet();
  });

  await t.test('a new password', async () => {
    const user = await signet.newUser();
    const { page, arrive, open, expectQuiet } = await browserOf();
    await open(client.authorizePath());
    await page.click('a[href^="/reset"]');
    await page.fill('#email', user.email);
    await page.click('#reset-submit');
    await open(linkIn(await signet.mailbox.next(user.email, sentence('mail.reset.subject')), /^\/reset\//));
    await page.fill('#password', 'harbour velvet cactus ninety');
    await arrive('#reset-save', 'code');
    expectQuiet();
  });
});

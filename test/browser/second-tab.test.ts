import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openBrowser } from '../support/chromium.ts';
import { startSignet } from '../support/signet.ts';

/** An app that says with what it was returned to. */
async function startApp(t: TestContext): Promise<string> {
  const server = createServer(({ url = '' }, response) => {
    const { searchParams } = new URL(url, 'http://app.test');
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><title>App</title><h1>${searchParams.has('code') ? 'signed in' : 'not signed in'}</h1>`,
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://localhost:${(server.address() as AddressInfo).port}`;
}

test('of two apps in two tabs, the second needs no password once the first has its sign-in', async (t) => {
  const signet = await startSignet(t);
  const [one, other] = [await startApp(t), await startApp(t)];
  const [first, second] = [
    await signet.registerClient({ redirect_uris: [`${one}/cb`] }),
    await signet.registerClient({ redirect_uris: [`${other}/cb`] }),
  ];
  const user = await signet.newUser();
  const { context, page: tab, expectQuiet } = await openBrowser(t, { origins: [signet.url, one, other] });
  const secondTab = await context.newPage();
  await tab.goto(signet.url + first.authorizePath());
  await secondTab.goto(signet.url + second.authorizePath());
  for (const each of [tab, secondTab]) await each.locator('#password').waitFor();

  await tab.fill('#username', user.email);
  await tab.fill('#password', user.password);
  await tab.click('#signin-submit');
  await tab.waitForURL(`${one}/cb?*`);
  await secondTab.reload();
  await secondTab.waitForURL(`${other}/cb?*`);
  for (const each of [tab, secondTab]) assert.equal(await each.locator('h1').textContent(), 'signed in');

  // A third one, which its user opens at our own address.
  await secondTab.goto(`${signet.url}/signin`);
  assert.equal(secondTab.url(), `${signet.url}/account`);
  expectQuiet();
});

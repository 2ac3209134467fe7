import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message } from '../support/messages.ts';
import { startProxiedSignet } from './proxied-signet.ts';

test('whose browser blocks cookies reads so, and signs in from the same page once they are allowed', async (t) => {
  const signet = await startProxiedSignet(t);
  const client = await signet.registerClient();
  const user = await signet.newUser();
  signet.proxy.withheld = /^cookie$/;
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url] });
  await page.goto(`${signet.url}${client.authorizePath()}`);
  await page.getByRole('heading', { name: message('error.cookies') }).waitFor();
  await expectAccessible(page);

  await page.goto(`${signet.url}/signin`);
  const signIn = async () => {
    await page.fill('#password', user.password);
    await page.click('#signin-submit');
  };
  await page.fill('#username', user.email);
  await signIn();
  await page
    .getByRole('alert')
    .filter({ hasText: message('cookies.blocked') })
    .waitFor();
  assert.equal(await page.locator('#username').inputValue(), user.email);
  await expectAccessible(page);
  signet.proxy.withheld = undefined;
  await signIn();
  await page.waitForURL(`${signet.url}/account`);
  expectQuiet();
});

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { openBrowser } from '../support/chromium.ts';
import { message, sentence } from '../support/messages.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { codesOf } from '../support/two-factor.ts';

async function arrive(t: TestContext, options: { javaScript: boolean }) {
  const signet = await startSignet(t);
  const user = await signet.newUser();
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url], ...options });
  await page.goto(`${signet.url}/signin?next=/account/security/totp`);
  await signIn(page, user);
  return { signet, user, page, expectQuiet };
}

async function signIn(page: Page, { email, password }: TestUser) {
  await page.fill('#username', email);
  await page.fill('#password', password);
  await page.click('#signin-submit');
}

/** From the offer to the backup codes. @returns what the authenticator app shows. */
async function setUp(signet: Signet, page: Page): Promise<() => string> {
  await page.click('#totp-enroll');
  await page.click('main summary');
  const code = codesOf(signet, (await page.innerText('#totp-secret')).replaceAll(' ', ''));
  await page.fill('#code', code());
  await page.click('#totp-confirm');
  await page.waitForSelector('#backup-codes');
  return code;
}

test('without JavaScript an app is set up, and asked for at the next sign-in', async (t) => {
  const { signet, user, page, expectQuiet } = await arrive(t, { javaScript: false });
  const code = await setUp(signet, page);
  const backupCodes = await page.locator('#backup-codes code').allInnerTexts();
  assert.equal(backupCodes.length, 10);
  assert.equal(await page.locator('#backup-codes-actions').isVisible(), false, 'no buttons that do nothing');
  await page.locator('#user-menu').click();
  await page.click('#signout-submit');
  await page.goto(`${signet.url}/signin`);
  await signIn(page, user);
  assert.equal(new URL(page.url()).pathname, '/signin/second-factor');
  await page.fill('#code', '000 000');
  await page.click('#second-factor-submit');
  assert.match(await page.innerText('[role=alert]'), sentence('second_factor.wrong', { triesLeft: 4 }));
  await page.fill('#code', code().replace(/^.../, '$& '));
  await page.click('#second-factor-submit');
  assert.equal(new URL(page.url()).pathname, '/account');
  expectQuiet();
});

test('with JavaScript the backup codes can be copied and downloaded as well', async (t) => {
  const { signet, page, expectQuiet } = await arrive(t, { javaScript: true });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: signet.url });
  await setUp(signet, page);
  const list = `${(await page.locator('#backup-codes code').allInnerTexts()).join('\n')}\n`;
  await page.click('[data-action=copy]');
  await page.getByText(message('backup_codes.copied')).waitFor();
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), list);
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('[data-action=download]')]);
  assert.equal(download.suggestedFilename(), 'Signet-backup-codes.txt');
  assert.equal(await readFile(await download.path(), 'utf8'), list);
  expectQuiet();
});

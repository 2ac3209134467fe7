import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGuides } from '../../src/platform/guides/guides.ts';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { expectPage, expectToFit } from './expect-page.ts';

test('a developer finds a guide by its task, reads it on any screen, and copies from it', async (t) => {
  const signet = await startSignet(t);
  const { context, page, expectQuiet } = await openBrowser(t, { origins: [signet.url] });
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: signet.url });
  await page.goto(`${signet.url}/reference?ui_locales=en`);
  await page.getByRole('searchbox', { name: message('reference.search') }).fill('webhook signature');
  await page.locator('#reference-find').click();
  await page.getByRole('link', { name: 'Receive webhooks: The signature' }).click();
  assert.equal(new URL(page.url()).hash, '#the-signature');
  const receiver = page.locator('textarea', { hasText: 'createHmac' });
  await page.locator(`[data-copy="${await receiver.getAttribute('id')}"]`).click();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await receiver.inputValue());

  const guides = await readGuides(signet.url);
  const kinds = [
    '/docs',
    '/docs/help-a-user',
    '/docs/relying-parties',
    '/docs/relying-parties/applications',
    '/docs/resource-servers/pyjwt',
    '/docs/api/webhooks',
    '/docs/verify',
  ];
  const looked = guides.filter(({ path }) => kinds.includes(path));
  assert.equal(looked.length, kinds.length);
  for (const { path } of looked) await expectPage(page, signet, { path });
  for (const path of ['/reference?ui_locales=de', '/docs/search?q=refresh_token&ui_locales=de']) {
    await page.goto(signet.url + path);
    await expectAccessible(page);
    await expectToFit(page, 320);
  }
  // All look alike; a third of them has every kind of table and code, and those with pictures.
  for (const { path } of guides.filter((guide, place) => place % 3 === 0 || guide.path === '/docs/tour')) {
    await page.goto(signet.url + path);
    await expectToFit(page, 320);
  }
  expectQuiet();
});

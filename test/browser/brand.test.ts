import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../support/chromium.ts';
import { message, sentence } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { startSignet } from '../support/signet.ts';
import { lendSession } from './seeded-signet.ts';

test('with JavaScript the preview follows what is typed, and what is not saved is not lost by uploading a picture', async (t) => {
  const signet = await startSignet(t);
  const admin = await signet.signedInUser({ role: 'admin' });
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, admin, signet);
  const { page } = visitor;
  await page.goto(`${signet.url}/admin/brand`);

  await page.locator('#name').fill('Acme Accounts');
  await page.frameLocator('.stage iframe:not([hidden])').getByText('Acme Accounts').first().waitFor();
  const label = message('admin.brand.field.button');
  await page.getByLabel(message('admin.brand.pick', { label })).fill('#ffd400');
  assert.equal(await page.locator('#button').inputValue(), '#ffd400');
  await page.locator('[data-fact="button"]', { hasText: '#ffd400' }).waitFor();
  const follows = page.locator('#button_dark');
  const inTheDark = await follows.getAttribute('placeholder');
  assert.match(await page.locator('[data-fact="button_dark"]').innerText(), new RegExp(`^${inTheDark}`));
  assert.equal(
    await follows.locator('+ input').inputValue(),
    inTheDark,
    'an empty field shows what follows from others',
  );
  assert.equal(new URL(page.url()).pathname, '/admin/brand');

  const asked: string[] = [];
  let leaves = false;
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    return leaves ? dialog.accept() : dialog.dismiss();
  });
  const upload = async (width = 200) => {
    const file = { name: 'logo.png', mimeType: 'image/png', buffer: pngOf({ width, height: 40 }) };
    await page.locator('#content-logo').setInputFiles(file);
    await page.locator('#logo-upload').click();
  };
  const done = page.getByText(sentence('admin.brand.done.picture'));
  const askedOnce = page.waitForEvent('dialog');
  await upload();
  await askedOnce;
  assert.deepEqual(asked, ['beforeunload']);
  assert.equal(await page.locator('#name').inputValue(), 'Acme Accounts');

  await page.locator('#brand-save').click();
  await page.getByText(sentence('admin.brand.done.saved')).waitFor();
  await page.locator('#subject').selectOption('mail');
  await upload();
  await done.waitFor();
  assert.equal(asked.length, 1, 'saved, and what is chosen for the preview is nothing to lose');

  await page.locator('#name').fill('Another');
  leaves = true;
  await upload(220);
  await page.getByText(message('admin.brand.picture.size', { width: 220, height: 40 })).waitFor();
  assert.equal(asked.length, 2);
  assert.equal(await page.locator('#name').inputValue(), 'Acme Accounts');
});

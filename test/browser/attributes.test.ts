import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newAttribute } from '../support/attributes.ts';
import { openBrowser } from '../support/chromium.ts';
import { linkIn } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { expectPage, openDetails } from './expect-page.ts';
import { lendSession } from './seeded-signet.ts';

const env = { SIGNET_RATE_LIMITS: 'off' };
const person = { editable_by: 'person' } as const;
const labels = (en: string, de: string) => ({ labels: { en, de } });

test('the pages with attributes are accessible, light and dark, on a phone and on a desk, in both languages', async (t) => {
  const signet = await startSignet(t, { env, mail: true });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const kinds = await Promise.all([
    newAttribute(signet, 'customer_type', {
      ...person,
      ...labels('Kind of customer', 'Art des Kunden'),
      sign_up: 'required',
      choices: ['private', 'business'],
    }),
    newAttribute(signet, 'newsletter', {
      ...person,
      ...labels('Send me the newsletter', 'Newsletter zusenden'),
      sign_up: 'offered',
      value_type: 'boolean',
    }),
    newAttribute(signet, 'children', {
      ...person,
      ...labels('Number of children', 'Zahl der Kinder'),
      sign_up: 'offered',
      value_type: 'integer',
      minimum: 0,
      maximum: 30,
    }),
    newAttribute(signet, 'hobbies', {
      ...person,
      ...labels('Hobbies', 'Hobbys'),
      sign_up: 'offered',
      value_type: 'strings',
      choices: ['Chess', 'Gardening'],
    }),
    newAttribute(signet, 'wedding', {
      ...person,
      ...labels('Wedding day', 'Hochzeitstag'),
      sign_up: 'offered',
      value_type: 'date',
    }),
    newAttribute(signet, 'department', labels('Department', 'Abteilung')),
  ]);
  const attributes = { department: `<b>${'Long'.repeat(40)}</b>` };
  await admin.browser.patch(`/v1/admin/users/${user.user_id}`, { attributes, reason: 'Hired.' });

  const administration = await openBrowser(t, { origins: [signet.url] });
  await lendSession(administration, admin, signet);
  for (const path of [
    '/admin/attributes',
    `/admin/attributes/${kinds[0].attribute_id}`,
    `/admin/users/${user.user_id}`,
    `/admin/users/${user.user_id}/edit`,
  ])
    await expectPage(administration.page, signet, { path, act: openDetails });
  administration.expectQuiet();

  const own = await openBrowser(t, { origins: [signet.url] });
  await lendSession(own, user, signet);
  await expectPage(own.page, signet, { path: '/account' });
  const client = await signet.registerClient();
  await own.page.goto(signet.url + client.authorizePath());
  const details = new URL(own.page.url());
  assert.equal(details.pathname, '/signin/details');
  await expectPage(own.page, signet, { path: details.pathname + details.search });
  own.expectQuiet();

  const stranger = await openBrowser(t, { origins: [signet.url] });
  await signet.newBrowser().post('/signup', { email: 'new@example.com' });
  const path = linkIn(await signet.mailbox.next('new@example.com'), /^\/signup\//);
  await expectPage(stranger.page, signet, { path });
  stranger.expectQuiet();
});

test('without JavaScript, an administrator defines an attribute, and a person says it at sign-up', async (t) => {
  const signet = await startSignet(t, { env, mail: true });
  const admin = await signet.signedInUser({ role: 'admin' });
  const visitor = await openBrowser(t, { origins: [signet.url], javaScript: false });
  await lendSession(visitor, admin, signet);
  const { page } = visitor;
  await page.goto(`${signet.url}/admin`);
  await page.getByRole('link', { name: 'Attributes' }).click();
  await page.locator('#name').fill('customer_type');
  await page.locator('#label_en').fill('Kind of customer');
  await page.locator('summary', { hasText: 'What values may be' }).click();
  await page.locator('#choices').fill('private\nbusiness');
  await page.locator('#scope').fill('userinfo:shop');
  await page.locator('#editable_by').selectOption('person');
  await page.locator('#sign_up').selectOption('required');
  await page.locator('#attribute-define').click();
  assert.match((await page.locator('main').textContent()) ?? '', sentence('admin.attributes.done.defined'));

  const stranger = await openBrowser(t, { origins: [signet.url], javaScript: false });
  await signet.newBrowser().post('/signup', { email: 'new@example.com' });
  await stranger.page.goto(signet.url + linkIn(await signet.mailbox.next('new@example.com'), /^\/signup\//));
  await stranger.page.locator('#name').fill('Ada');
  await stranger.page.getByLabel('Kind of customer').selectOption('business');
  await stranger.page.locator('#password').fill('harbour velvet cactus ninety');
  await stranger.page.locator('#signup-create').click();
  await stranger.page.waitForURL(`${signet.url}/account`);
  assert.equal(await stranger.page.getByLabel('Kind of customer').inputValue(), 'business');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openBrowser } from '../support/chromium.ts';
import { message, sentence } from '../support/messages.ts';
import { startSignet } from '../support/signet.ts';
import { expectPage } from './expect-page.ts';
import { cataloguePages, type Visitors } from './page-catalogue.ts';
import { agents, lendSession, signInWith, startSeededSignet } from './seeded-signet.ts';

/** Every page, seen by a real browser: light and dark, on a phone and on a desk, in each language, with and without JavaScript. */

test('every page', async (t) => {
  const seeded = await startSeededSignet(t);
  const { signet } = seeded;
  const visitor = () => openBrowser(t, { origins: [signet.url] });
  const visitors: Visitors = {
    visitor: await visitor(),
    ada: await visitor(),
    grace: await visitor(),
    mary: await visitor(),
    halfway: await visitor(),
  };
  for (const name of ['ada', 'grace', 'mary'] as const) await lendSession(visitors[name], seeded[name], signet);
  for (const entry of await cataloguePages(seeded, visitors)) {
    await t.test(entry.name, async () => {
      const { page, expectQuiet } = visitors[entry.as];
      await expectPage(page, signet, entry);
      expectQuiet();
    });
  }
});

test('an account is looked after without JavaScript', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ name: 'Field Notes' });
  const user = await signet.newUser({ name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false });
  await signInWith(user, agents.phone);
  await user.obtainTokens(client);
  const { page, expectQuiet } = await openBrowser(t, { origins: [signet.url], javaScript: false });
  await page.goto(`${signet.url}/account/apps`);
  await page.locator('#username').fill(user.email);
  await page.locator('#password').fill(user.password);
  await page.locator('#signin-submit').click();

  await page.waitForURL(`${signet.url}/account/apps`); // where the user wanted to go
  await page.getByRole('button', { name: message('apps.disconnect') }).click();
  assert.match((await page.getByRole('status').textContent()) ?? '', sentence('apps.done'));
  assert.match((await page.textContent('main')) ?? '', sentence('apps.none'));

  await page.getByRole('link', { name: message('account.tab.sessions') }).click();
  await page
    .getByRole('listitem')
    .filter({ hasText: 'Safari, iPhone' })
    .getByRole('button', { name: message('sessions.end') })
    .click();
  assert.match((await page.getByRole('status').textContent()) ?? '', sentence('sessions.done.one'));
  assert.equal(await page.locator('.items > li').count(), 1);

  await page.getByRole('link', { name: message('account.tab.profile') }).click();
  await page.getByLabel(message('field.name'), { exact: true }).fill('Augusta Ada King');
  await page.getByLabel(message('account.language')).selectOption({ label: 'Deutsch' });
  await page.getByText(message('account.claims'), { exact: true }).click();
  const born = page.getByRole('group', { name: message('claim.birthdate') });
  await born.getByLabel(message('account.birthdate.day')).fill('31');
  await born.getByLabel(message('account.birthdate.month')).selectOption({ label: 'November' });
  await born.getByLabel(message('account.birthdate.year')).fill('1915');
  await page.getByLabel(message('claim.zoneinfo')).selectOption({ label: 'London' });
  await page.getByRole('button', { name: message('account.save') }).click();
  assert.match((await page.getByRole('alert').textContent()) ?? '', sentence('account.birthdate.problem', {}, 'en'));
  const day = born.getByLabel(message('account.birthdate.day'));
  assert.equal(await day.evaluate((field) => field === document.activeElement), true);
  await day.fill('30');
  await page.getByRole('button', { name: message('account.save') }).click();
  const saved = ['#birth_day', '#birth_month', '#birth_year', '#zoneinfo'].map((id) => page.locator(id).inputValue());
  assert.deepEqual(await Promise.all(saved), ['30', '11', '1915', 'London']);
  assert.equal(await page.locator('h1').textContent(), 'Augusta Ada King');
  assert.match((await page.textContent('main')) ?? '', sentence('account.done.yes', {}, 'de'));

  await page.locator('#user-menu').click();
  await page.getByRole('button', { name: message('account.sign_out', {}, 'de') }).click();
  await page.locator('.foot summary').click();
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await page.getByRole('heading', { name: message('logout.done.title', {}, 'de') }).waitFor();
  expectQuiet();
});

test('the keyboard alone reaches everything, first of all the content', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.newUser({ name: 'Ada Lovelace', email: 'ada@example.com', emailVerified: false });
  await signInWith(user, agents.desk);
  const visitor = await openBrowser(t, { origins: [signet.url] });
  await lendSession(visitor, user, signet);
  const { page } = visitor;
  await page.goto(`${signet.url}/account/security`);
  const focused = () =>
    page.evaluate(() => {
      const { activeElement: element } = document;
      const { top, bottom } = element!.getBoundingClientRect();
      const { outlineStyle, outlineWidth } = getComputedStyle(element!);
      const isSeen = top >= 0 && bottom <= innerHeight && outlineStyle !== 'none' && outlineWidth !== '0px';
      return { text: element!.textContent?.trim(), isSeen };
    });
  const order: (string | undefined)[] = [];
  for (let steps = 0; steps < 11; steps += 1) {
    await page.keyboard.press('Tab');
    const { text, isSeen } = await focused();
    assert.ok(isSeen, `${text} has the focus and does not show it`);
    order.push(text);
  }
  assert.deepEqual(order.slice(0, 10), [
    message('layout.skip'),
    'Signet',
    'AL Ada Lovelace',
    message('account.tab.profile'),
    message('account.tab.security'),
    message('account.tab.sessions'),
    message('activity.title'),
    message('my_apps.title'),
    message('account.tab.apps'),
    message('account.tab.entitlements'),
  ]);
  await page.goto(`${signet.url}/account/security`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal((await focused()).text, message('security.change')); // the first thing in the content
  // A script tells the time of the reader, and keeps the exact one of the server.
  await page.goto(`${signet.url}/account`);
  const { text, title } = await page.evaluate(() => {
    const { textContent, title } = document.querySelector<HTMLElement>('main time')!;
    return { text: textContent, title };
  });
  assert.match(text, /^\d{1,2}\u00a0January 2027$/); // of en-GB; the day stays with its month
  assert.match(title, /^\d{1,2} January 2027 at .* \(2027-01-15 08:00:00 UTC\)$/);
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { expectAccessible, openBrowser } from '../support/chromium.ts';
import { message, sentence } from '../support/messages.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { type CataloguePage, cataloguePages, type Visitors } from './page-catalogue.ts';
import { picture } from './picture.ts';
import { agents, lendSession, signInWith, startSeededSignet } from './seeded-signet.ts';

/** Every page, seen by a real browser: light and dark, on a phone and on a desk, in each language, with and without JavaScript. */

const byteBudget = 60_000;
const messages = (locale: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`../../src/platform/i18n/${locale}.json`, import.meta.url), 'utf8'));
const english = messages('en');
const german = messages('de');

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
      await open(page, signet, entry);
      await expectAccessible(page);
      await expectInBudget(page);
      await expectInLanguage(page, 'en');
      await takePictures(page, entry);
      await open(page, signet, entry, 'de');
      await expectInLanguage(page, 'de');
      await expectToFit(page);
      if (entry.isMain) await picture(page, `${entry.name}-german`, 'phone', 'light');
      expectQuiet();
    });
  }
});

async function open(page: Page, { url }: Signet, { path, status = 200, act }: CataloguePage, locale = 'en') {
  const answer = await page.goto(`${url}${path}${path.includes('?') ? '&' : '?'}ui_locales=${locale}`);
  assert.equal(answer?.status(), status, `${path}: ${await page.textContent('main')}`);
  assert.equal(new URL(page.url()).pathname, path.split('?')[0]);
  await act?.(page);
}

/** The page with its stylesheet, scripts and pictures. */
async function expectInBudget(page: Page) {
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].reduce(
      (sum, entry) => sum + (entry as PerformanceResourceTiming).decodedBodySize,
      0,
    ),
  );
  assert.ok(bytes > 5000 && bytes <= byteBudget, `${page.url()} is ${bytes} bytes`);
}

/** No key instead of its message, no placeholder left, and no English in German. */
async function expectInLanguage(page: Page, locale: 'en' | 'de') {
  assert.equal(await page.locator('html').getAttribute('lang'), locale);
  const texts = await page.evaluate(() => {
    const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    while (walker.nextNode()) {
      const parent = walker.currentNode.parentElement;
      if (parent?.closest('script, style, [lang]')?.tagName === 'HTML')
        found.push(walker.currentNode.textContent ?? '');
    }
    return found.map((text) => text.trim()).filter(Boolean);
  });
  const untranslated = new Set(
    locale === 'de' ? Object.keys(english).flatMap((key) => (german[key] === english[key] ? [] : english[key]!)) : [],
  );
  for (const text of texts) {
    assert.ok(!(text in english), `${page.url()} shows the key ${text}`);
    assert.doesNotMatch(text, /\{\w+\}|\bundefined\b|\[object/, page.url());
    assert.ok(!untranslated.has(text), `${page.url()} says in English: ${text}`);
  }
}

/** German words are long, and 320 px is what a page must bear without scrolling sideways (WCAG 2.2, 1.4.10). */
async function expectToFit(page: Page) {
  await page.setViewportSize({ width: 320, height: 800 });
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  assert.ok(overflow <= 0, `${page.url()} is ${overflow} px wider than the narrowest phone`);
}

async function takePictures(page: Page, { name, isMain }: CataloguePage) {
  if (isMain) {
    for (const width of ['phone', 'desktop'] as const) {
      for (const scheme of ['light', 'dark'] as const) await picture(page, name, width, scheme);
    }
  } else await picture(page, name, 'phone', 'light');
}

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
  await page.getByRole('listitem').filter({ hasText: 'Safari, iPhone' }).getByRole('button').click();
  assert.match((await page.getByRole('status').textContent()) ?? '', sentence('sessions.done.one'));
  assert.equal(await page.locator('.items > li').count(), 1);

  await page.getByRole('link', { name: message('account.tab.profile') }).click();
  await page.getByLabel(message('field.name'), { exact: true }).fill('Augusta Ada King');
  await page.getByLabel(message('account.language')).selectOption({ label: 'Deutsch' });
  await page.getByRole('button', { name: message('account.save') }).click();
  assert.equal(await page.locator('h1').textContent(), 'Augusta Ada King');
  assert.match((await page.textContent('main')) ?? '', sentence('account.saved', {}, 'de'));

  await page.getByRole('button', { name: message('account.sign_out', {}, 'de') }).click();
  await page.getByRole('link', { name: 'Deutsch' }).click();
  await page.getByRole('heading', { name: message('signin.title', {}, 'de') }).waitFor();
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
  assert.deepEqual(order.slice(0, 8), [
    message('layout.skip'),
    'Signet',
    message('account.sign_out'),
    message('account.tab.profile'),
    message('account.tab.security'),
    message('account.tab.sessions'),
    message('account.tab.apps'),
    message('account.tab.entitlements'),
  ]);
  await page.goto(`${signet.url}/account/security`);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  assert.equal((await focused()).text, message('security.change')); // the first thing in the content
});

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { readConfig } from '../../src/app/config.ts';
import { type Locale, locales } from '../../src/platform/i18n/translate.ts';
import { exampleMail } from '../../src/platform/mail/examples.ts';
import { type LetterName, letters } from '../../src/platform/mail/letters.ts';
import { faultsOf, openBrowser } from '../support/chromium.ts';
import { pngOf } from '../support/pictures.ts';
import { scratchFolder } from '../support/scratch.ts';
import { expectToFit } from './expect-page.ts';

/**
 * Every mail as a browser shows its HTML: light and dark, on phones and on a desk. `TEST_LANGUAGES=all`, or some, looks at them in other
 * languages than English and Arabic. `MAIL_PICTURES`, a folder, keeps what was seen, for people to look at.
 */

const { TEST_LANGUAGES: wanted, MAIL_PICTURES: pictures } = process.env;
const languages: readonly Locale[] =
  wanted === undefined ? ['en', 'ar'] : wanted === 'all' ? locales : wanted.split(',');
const widths = [320, 390, 1280] as const;
const names = Object.keys(letters) as LetterName[];
const clock = () => 1_800_000_000_000;

const newPage = async (t: TestContext) => (await openBrowser(t, { origins: [] })).page;

for (const locale of languages) {
  test(`every mail can be read on each screen, in the language ${locale}`, async (t) => {
    const config = readConfig({ SIGNET_SUPPORT: 'help@example.com' });
    const { page, expectQuiet } = await openBrowser(t, { origins: [] });
    for (const name of names) {
      const { html } = exampleMail({ config, clock }, name, locale);
      assert.deepEqual(await faultsOf(page, html), [], name);
      await page.locator('[role=article]').evaluate((mail) => mail.removeAttribute('lang')); // it is of the page's language
      for (const width of widths) await expectToFit(page, width);
      if (pictures !== undefined) await takePictures(page, join(pictures, locale), name);
    }
    expectQuiet();
  });
}

test('a mail can be read in any accent colour', async (t) => {
  const page = await newPage(t);
  for (const accent of ['#ffd400', '#000000', '#ffffff', '#e4002b', '#7f7f7f']) {
    const { html } = exampleMail({ config: readConfig({ SIGNET_ACCENT: accent }), clock }, 'new_device', 'en');
    assert.deepEqual(await faultsOf(page, html), [], accent);
  }
});

test('a dark logo can be seen in the dark, also where a program takes light backgrounds away', async (t) => {
  const page = await newPage(t);
  const logo = join(await scratchFolder('logo'), 'logo.png');
  await writeFile(logo, pngOf());
  const { html } = exampleMail({ config: readConfig({ SIGNET_LOGO: logo }), clock }, 'new_device', 'en');
  await page.setContent(html);
  const ground = () =>
    page.locator('img').evaluate((image) => {
      const { backgroundColor, boxShadow, borderTopColor } = getComputedStyle(image);
      const paper = getComputedStyle(image.closest('.paper')!).backgroundColor;
      return { paper, ground: [backgroundColor, borderTopColor, boxShadow] };
    });
  const light = 'rgb(246, 245, 241)';
  const below = `${light} 0px 0px 0px 220px inset`;
  await page.emulateMedia({ colorScheme: 'light' });
  assert.deepEqual(await ground(), { paper: light, ground: [light, light, below] }, 'nothing is seen of it');
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.deepEqual(await ground(), { paper: 'rgb(21, 24, 22)', ground: [light, light, below] });
  const frame = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(frame, 'rgb(21, 24, 22)', 'what is around the mail is as dark');
});

async function takePictures(page: Page, folder: string, name: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const width of widths) {
      await page.setViewportSize({ width, height: 400 });
      await page.screenshot({ path: join(folder, `${name}-${colorScheme}-${width}.png`), fullPage: true });
    }
  }
}

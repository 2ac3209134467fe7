/**
 * Every page that people meet, as sheets of pictures: what a designer or a native reader looks at before a language or a look changes.
 * `--help` says how. Letters are drawn with the fonts of the machine.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { type Locale, locales } from '../../src/platform/i18n/translate.ts';
import { openBrowser } from '../support/chromium.ts';
import { type CataloguePage, cataloguePages, type Visitors } from './page-catalogue.ts';
import { lendSession, startSeededSignet } from './seeded-signet.ts';

/** Two rows of phones. */
const perSheet = 16;
const tallest = 2800;

const usage = `usage: npm run sheets -- [--languages ja,ar] [--pages sign-in,consent] --to FOLDER

Draws every page that people meet in each language (or in those that are named) at 320, 390 and 1280 px, light and dark,
and puts the pictures of a language, width and scheme on sheets of ${perSheet}. The names of pages are in
test/browser/page-catalogue.ts. Install the fonts of the languages first (fonts-noto-core, fonts-noto-cjk).`;

type Choice = { languages: readonly Locale[]; pages?: readonly string[]; folder: string };

/** @returns what to draw, or a message. */
function choose(args: string[]): Choice | string {
  try {
    const text = { type: 'string' } as const;
    const options = { languages: text, pages: text, to: text, help: { type: 'boolean', short: 'h' } } as const;
    const { languages: named = locales.join(), pages, to, help } = parseArgs({ args, options }).values;
    if (help) return usage;
    const unknown = named.split(',').find((name) => !(locales as readonly string[]).includes(name));
    if (unknown !== undefined) return `There is no language '${unknown}'. The languages: ${locales.join(', ')}.`;
    if (to === undefined) return 'Say with --to where the sheets go.';
    return { languages: named.split(',') as Locale[], pages: pages?.split(','), folder: resolve(to) };
  } catch (error) {
    return (error as Error).message;
  }
}

const choice = choose(process.argv.slice(2));
if (typeof choice === 'string') {
  console.log(choice);
  process.exit(choice === usage ? 0 : 2);
}
const { languages, pages: wanted, folder } = choice;
process.env.TEST_FONTS = 'system';
const looks = [320, 390, 1280].flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ width, scheme })));

type Picture = { name: string; png: Buffer };

for (const locale of languages) {
  test(`sheets in ${locale}`, async (t) => {
    const seeded = await startSeededSignet(t);
    const { signet } = seeded;
    const open = () => openBrowser(t, { origins: [signet.url] });
    const visitors: Visitors = {
      visitor: await open(),
      ada: await open(),
      grace: await open(),
      mary: await open(),
      halfway: await open(),
    };
    for (const name of ['ada', 'grace', 'mary'] as const) await lendSession(visitors[name], seeded[name], signet);
    const sheets = new Map<string, Picture[]>();
    for (const entry of await cataloguePages(seeded, visitors)) {
      if (/^\/(?:admin|developer|reference|docs)(?:[/?]|$)/.test(entry.path)) continue;
      if (wanted && !wanted.includes(entry.name)) continue;
      const { page } = visitors[entry.as];
      await page.setViewportSize({ width: looks[0]!.width, height: 700 }); // `page.js` scrolls the tabs of a phone when it loads
      await show(page, signet.url, entry, locale);
      for (const { width, scheme } of looks) {
        await page.setViewportSize({ width, height: 700 });
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
        const height = await page.evaluate(() => document.documentElement.scrollHeight);
        const png = await page.screenshot({
          fullPage: true,
          clip: { x: 0, y: 0, width, height: Math.min(Math.max(height, 700), tallest) },
        });
        const key = `${locale}-${width}-${scheme}`;
        sheets.set(key, [...(sheets.get(key) ?? []), { name: entry.name, png }]);
      }
    }
    assert.ok(sheets.size > 0, `no page has a name of ${wanted}`);
    mkdirSync(folder, { recursive: true });
    const { page } = await openBrowser(t, { origins: [] });
    for (const [key, pictures] of sheets) await compose(page, key, pictures);
  });
}

async function show(page: Page, url: string, { path, act }: CataloguePage, locale: Locale) {
  await page.goto(`${url}${path}${path.includes('?') ? '&' : '?'}ui_locales=${locale}`);
  await act?.(page);
}

async function compose(page: Page, key: string, pictures: readonly Picture[]) {
  const wide = key.includes('-1280-');
  await page.setViewportSize({ width: 2000, height: 800 });
  for (let from = 0; from < pictures.length; from += perSheet) {
    const figures = pictures
      .slice(from, from + perSheet)
      .map(
        ({ name, png }) =>
          `<figure><figcaption>${name}</figcaption><img src="data:image/png;base64,${png.toString('base64')}"></figure>`,
      );
    await page.setContent(
      `<style>body{margin:8px;display:grid;grid-template-columns:repeat(${wide ? 4 : 8},1fr);gap:8px;font:12px sans-serif}
      figure{margin:0}img{width:100%;border:1px solid #999}</style>${figures.join('')}`,
    );
    await page.evaluate(() => Promise.all([...document.images].map((image) => image.decode())));
    const name = `${key}-${from / perSheet + 1}.png`;
    writeFileSync(join(folder, name), await page.screenshot({ fullPage: true }));
  }
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { consoleLocales, type Locale, locales } from '../../src/platform/i18n/translate.ts';
import { isEventType } from '../../src/webhooks/event-types.ts';
import { expectAccessible, expectLabelsInNames } from '../support/chromium.ts';
import type { Signet } from '../support/signet.ts';

/** Of the page with the longest list, that of what the audit log may be filtered by. */
const byteBudget = 65_000;
const messages = (locale: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`../../src/platform/i18n/${locale}.json`, import.meta.url), 'utf8'));
const english = messages('en');
const translations: readonly Locale[] = locales.filter((locale) => locale !== 'en');

const consoles = /^\/(?:admin|developer|reference|docs)(?:[/?]|$)/;
let pagesForPeople = 0;

const { TEST_LANGUAGES: wanted } = process.env;

/** Of a page for people those of `TEST_LANGUAGES`, `all` or some; else the next one, so that each is on some page of a run. */
function translationsOf({ path, isLimited }: ExpectedPage): readonly Locale[] {
  if (consoles.test(path)) return translations.filter((locale) => consoleLocales.includes(locale));
  if (wanted !== undefined && !isLimited)
    return translations.filter((locale) => wanted === 'all' || wanted.split(',').includes(locale));
  pagesForPeople += 1;
  return [translations[pagesForPeople % translations.length]!];
}

export type ExpectedPage = {
  path: string;
  status?: number;
  /** What is done on that page to get to the one that is meant. */
  act?: (page: Page) => Promise<void>;
  /** It can be had a few times only. */
  isLimited?: boolean;
};

/** The page in English, light and dark, on a phone and on a desk, and in other languages on the narrowest phone. */
export async function expectPage(
  page: Page,
  signet: Signet,
  expected: ExpectedPage,
  seen: (locale: Locale) => Promise<void> = async () => {},
): Promise<void> {
  await open(page, signet, expected, 'en');
  await expectAccessible(page);
  assert.deepEqual(
    await page.evaluate(unstyled, classesOfAreas),
    [],
    `${page.url()} has rules that it is sent without`,
  );
  const bytes = await expectInLanguage(page, 'en');
  assert.ok(bytes > 5000 && bytes <= byteBudget, `${page.url()} is ${bytes} bytes`);
  await seen('en');
  for (const locale of translationsOf(expected)) {
    await open(page, signet, expected, locale);
    await expectInLanguage(page, locale);
    await expectLabelsInNames(page);
    for (const width of [1280, 320]) await expectToFit(page, width); // German words are long (WCAG 2.2, 1.4.10)
    await seen(locale);
  }
}

/** The classes that are styled only where a page has a navigation. */
const classesOfAreas = (() => {
  const [before, ...blocks] = readFileSync(
    new URL('../../src/platform/pages/assets/signet.css', import.meta.url),
    'utf8',
  ).split('/* Areas only */');
  const named = (texts: (string | undefined)[]) => new Set(texts.join('').match(/(?<=\.)[a-z][\w-]*/g));
  const parts = blocks.map((block) => block.split('/* All pages */'));
  const all = named([before, ...parts.map(([, onAllPages]) => onAllPages)]);
  return [...named(parts.map(([onlyInAreas]) => onlyInAreas)).difference(all)];
})();

/** Runs in the page. @returns those of the classes that a page without a navigation uses. */
const unstyled = (classes: string[]): string[] =>
  document.body.classList.contains('account') ? [] : classes.filter((name) => document.querySelector(`.${name}`));

/** An `act`: all that is folded is unfolded. */
export async function openDetails(page: Page): Promise<void> {
  await page.locator('main details').evaluateAll((all) => {
    for (const one of all) one.setAttribute('open', '');
  });
}

/** The page does not scroll sideways, and breaks no word of ours. */
export async function expectToFit(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  const { overflow, broken } = await page.evaluate(measure);
  assert.ok(overflow <= 0, `${page.url()} is ${overflow} px wider than ${width} px`);
  assert.deepEqual(broken, [], `${page.url()} breaks these words at ${width} px`);
}

/** Runs in the page. A hyphen is no break, but for that after a Hebrew prefix; what programs and people have written may be one long word. */
function measure(): { overflow: number; broken: string[] } {
  const broken: string[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { currentNode: node } = walker;
    const { parentElement: element, textContent } = node;
    if (!element?.checkVisibility() || element.closest('code, pre, bdi, option, .unseen, [lang]:not(html)')) continue;
    // Chinese and Japanese have no spaces, and break anywhere.
    const words =
      /(?<![\w@.\/])[[\p{L}\u05be]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]]+(?!\p{L}|[@.\/_]\w)/gv;
    for (const { 0: word, index } of (textContent ?? '').matchAll(words)) {
      const range = document.createRange();
      range.setStart(node, index);
      range.setEnd(node, index + word.length);
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => top));
      if (lines.size > 1) broken.push(word);
    }
  }
  return { overflow: document.documentElement.scrollWidth - window.innerWidth, broken };
}

async function open(page: Page, { url }: Signet, { path, status = 200, act }: ExpectedPage, locale: Locale) {
  const answer = await page.goto(`${url}${path}${path.includes('?') ? '&' : '?'}ui_locales=${locale}`);
  assert.equal(answer?.status(), status, `${path}: ${await page.textContent('main')}`);
  assert.equal(new URL(page.url()).pathname, path.split('?')[0]);
  await act?.(page);
}

/** English texts that another language says otherwise. */
const untranslatedIn = new Map(
  translations.map((locale) => {
    const own = new Set(Object.values(messages(locale))); // some words are the same in both
    return [locale, new Set(Object.values(english).filter((text) => !own.has(text)))];
  }),
);

/** No key instead of its message, no placeholder left, and no English in another language. */
async function expectInLanguage(page: Page, locale: Locale) {
  const { language, texts, bytes } = await page.evaluate(read);
  assert.equal(language, locale);
  for (const text of texts) {
    assert.ok(!(text in english) || isEventType(text), `${page.url()} shows the key ${text}`);
    assert.doesNotMatch(text, /\{\w+\}|\bundefined\b|\[object/, page.url());
    assert.ok(!untranslatedIn.get(locale)?.has(text), `${page.url()} says in English: ${text}`);
  }
  return bytes;
}

/** Runs in the page: what a reader gets, and what it weighs with its stylesheet, scripts and pictures. */
function read() {
  const texts: string[] = [];
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, textContent } = walker.currentNode;
    if (parentElement?.closest('script, style, [lang]')?.tagName === 'HTML') texts.push(textContent ?? '');
  }
  const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  return {
    language: document.documentElement.lang,
    texts: texts.map((text) => text.trim()).filter(Boolean),
    // A preview in a frame is a page that is held to this itself.
    bytes: (loaded as PerformanceResourceTiming[])
      .filter(({ initiatorType }) => initiatorType !== 'iframe')
      .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
  };
}

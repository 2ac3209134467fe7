import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Result } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from './launch-chromium.ts';

/** A user's browser: cookies of its own, and an eye on what must not happen. */
export type Visitor = {
  context: BrowserContext;
  page: Page;
  /** Fails if a page asked another origin for anything (AZ-19), broke its own security policy, or threw. */
  expectQuiet(): void;
};

export type VisitorOptions = {
  /** Every origin that takes part in the test. A request to another one is a fault. */
  origins: readonly string[];
  /** False: JavaScript is switched off. */
  javaScript?: boolean;
};

/** Opens an empty browser, which is closed after the test. The process behind it is shared by the whole file. */
export async function openBrowser(t: TestContext, { origins, javaScript = true }: VisitorOptions): Promise<Visitor> {
  lazyBrowser ??= launchChromium();
  const context = await (await lazyBrowser).newContext({ javaScriptEnabled: javaScript, locale: 'en-GB' });
  context.setDefaultTimeout(120_000);
  t.after(() => context.close());
  const faults: string[] = [];
  context.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (!origins.includes(origin) && protocol !== 'data:') faults.push(`asked a foreign origin: ${request.url()}`);
  });
  // Chromium reports each violation of a Content-Security-Policy here, also for pages without JavaScript.
  context.on('console', (message) => {
    if (/content security policy|refused to/i.test(message.text())) faults.push(message.text());
  });
  context.on('weberror', (error) => faults.push(`threw: ${error.error().message}`));
  const page = await context.newPage();
  return { context, page, expectQuiet: () => assert.deepEqual(faults, []) };
}

type Look = { colorScheme: 'light' | 'dark'; width: number };

/**
 * Each scheme and each width once for a page, of which the first is looked at with all rules; what pages have in common
 * is met in all four from page to page.
 */
const diagonals: readonly (readonly Look[])[] = [
  [
    { colorScheme: 'light', width: 375 },
    { colorScheme: 'dark', width: 1280 },
  ],
  [
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 375 },
  ],
];
let looked = 0;

/** What a color scheme or a width can break, of the rules of axe-core; for the others it is the same document. */
const rulesOfLooks = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable'];

/** Runs axe-core on the page as it stands, light and dark, on a phone and on a desk. */
export async function expectAccessible(page: Page): Promise<void> {
  await injectAxe(page);
  for (const [place, { colorScheme, width }] of diagonals[looked++ % diagonals.length]!.entries()) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' }); // colors in the middle of a transition are in no palette
    await page.setViewportSize({ width, height: 800 });
    const { violations, overflow } = await page.evaluate(runAxe, place === 0 ? undefined : rulesOfLooks);
    const found = violations.map(describe);
    if (overflow > 0) found.push(`- is ${overflow} px wider than the window`);
    assert.ok(found.length === 0, `${page.url()}, ${colorScheme}, ${width} px:\n${found.join('\n')}`);
  }
}

declare const axe: typeof import('axe-core');
const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/**
 * By the debugger, which no Content-Security-Policy holds back; a script element would be refused. The storage of the
 * origin keeps it for the next document: sending and compiling it each time would take longer than all the rules.
 */
async function injectAxe(page: Page): Promise<void> {
  const load = () => page.evaluate<boolean>("eval(localStorage.getItem('axe-core') ?? 'false')");
  if (await load()) return;
  await page.evaluate((source) => localStorage.setItem('axe-core', source), axeSource);
  assert.ok(await load());
}

/** A mail is shown within the page of a mail program, whose landmarks it is among. */
const rulesOfWholePages = ['landmark-one-main', 'region'];

/**
 * What axe-core finds in documents that are set into one page one after the other, which keeps what is loaded into it: by all rules in the
 * light scheme, and by those that a scheme can break in the dark one.
 */
export async function faultsOf(page: Page, markup: string): Promise<string[]> {
  const faults: string[] = [];
  await page.setContent(markup, { waitUntil: 'commit' });
  if (!(await page.evaluate("typeof axe === 'object'"))) await page.evaluate(axeSource);
  for (const [colorScheme, rules] of [
    ['light', { without: rulesOfWholePages }],
    ['dark', rulesOfLooks],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await page.evaluate(runAxe, rules);
    faults.push(...violations.map((one) => `${colorScheme} ${describe(one)}`));
  }
  return faults;
}

/** What is read is part of the name (WCAG 2.2, 2.5.3): all that a language can break, of the rules of axe-core. */
export async function expectLabelsInNames(page: Page): Promise<void> {
  await injectAxe(page);
  const { violations } = await page.evaluate(runAxe, ['label-content-name-mismatch']);
  assert.ok(violations.length === 0, `${page.url()}:\n${violations.map(describe).join('\n')}`);
}

/** Runs in the page. */
async function runAxe(rules?: string[] | { without: string[] }): Promise<{ violations: Result[]; overflow: number }> {
  const some = Array.isArray(rules)
    ? { runOnly: rules }
    : { rules: Object.fromEntries((rules?.without ?? []).map((rule) => [rule, { enabled: false }])) };
  // What passes would be described as well, at twice the cost.
  const { violations } = await axe.run({ resultTypes: ['violations'], ...some });
  return { violations, overflow: document.documentElement.scrollWidth - window.innerWidth };
}

const describe = ({ id, help, nodes }: Result): string =>
  [`- ${id}: ${help}`, ...nodes.map(({ html, failureSummary }) => `    ${html}\n    ${failureSummary}`)].join('\n');

let lazyBrowser: Promise<Browser> | undefined;

// Registered here, on import, where `after` means "after this file".
after(async () => {
  await (await lazyBrowser?.catch(() => undefined))?.close();
});

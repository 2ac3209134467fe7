import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Picture } from './pictures.ts';

/**
 * What the pictures are made of, beside them: of each page its markup, as its scripts have left it, and of all pages the style
 * sheet and the logo. Pixels are not compared, since they depend on the machine that draws them.
 */
export type Fingerprints = { style: string; pages: Record<string, string> };
export const fingerprintsFile = 'pages.json';

const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 16);

const assets = join(import.meta.dirname, '../../src/platform/pages/assets');
export const fingerprintOfStyle = (): string =>
  digest(['signet.css', 'signet.svg'].map((name) => readFileSync(join(assets, name), 'utf8')).join('\n'));

export async function fingerprintOf(
  { width, height, dark, locale, chance = '' }: Picture,
  page: Page,
): Promise<string> {
  const markup = await page.evaluate(readMarkup, chance);
  const withoutIds = markup.replaceAll(/\b[a-z]+_[\w-]{22,}|(?<![\w-])[\w-]{43}(?![\w-])/g, ''); // the latter: hashes
  return digest(JSON.stringify([width, height, dark, locale, withoutIds]));
}

/** Runs in the page. @returns its markup without files, which have names of their own, and without what chance has put there. */
function readMarkup(chance: string): string {
  const root = document.documentElement.cloneNode(true) as Element;
  for (const element of root.querySelectorAll('script, link')) element.remove();
  for (const input of root.querySelectorAll('input[type=hidden]')) input.removeAttribute('value');
  for (const element of root.querySelectorAll(chance || 'none')) element.outerHTML = '';
  return root.outerHTML;
}

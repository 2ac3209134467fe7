import assert from 'node:assert/strict';
import type { Answer, Browser } from './browser.ts';

/** A form of a page, with what the page has filled in itself. */
export type Form = { action: string; fields: Record<string, string> };

/** The text of a page before the choice of languages, which sends the query again. */
export const withoutLanguages = ({ text }: Pick<Answer, 'text'>): string => text.split('<form method="get">', 1)[0]!;

const attribute = (tag: string, name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];

/** @param fields are added to those of the page. */
export async function formAt(browser: Browser, page: string, action: string, fields: Record<string, string> = {}) {
  const { status, text } = await browser.get(page);
  assert.equal(status, 200, `${page}: ${status}`);
  return formIn(text, action, fields);
}

function formIn(text: string, action: string, fields: Record<string, string> = {}): Form {
  const found = [...text.matchAll(/<form method="post"([^>]*)>(.*?)<\/form>/gs)].find(
    ([, tag = '']) => attribute(tag, 'action') === action,
  );
  assert.ok(found, `no form that posts to ${action}`);
  const hidden = [...found[2]!.matchAll(/<input type="hidden"[^>]*>/g)].map(([tag]) => [
    attribute(tag, 'name')!,
    attribute(tag, 'value') ?? '',
  ]);
  return { action, fields: { ...Object.fromEntries(hidden), ...fields } };
}

export const submit = (browser: Browser, { action, fields }: Form): Promise<Answer> => browser.post(action, fields);

/**
 * Two clicks on a slow line: both requests have the cookies that the browser had at the first, whose answer is thrown away.
 * @returns the answers, the discarded one first.
 */
export async function clickTwice(browser: Browser, form: Form): Promise<[Answer, Answer]> {
  const cookies = new Map(browser.cookies);
  const first = await submit(browser, form);
  browser.cookies.clear();
  for (const [name, value] of cookies) browser.cookies.set(name, value);
  return [first, await submit(browser, form)];
}

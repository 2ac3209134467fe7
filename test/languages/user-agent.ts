import assert from 'node:assert/strict';
import { type Answer, type Browser, newBrowser } from '../support/browser.ts';

/** As of a navigation: some relying parties redirect nothing else. */
const headers = { accept: 'text/html,*/*;q=0.8' };

/** Where the browser has come to rest. It was not fetched if `until` named it. */
export type Page = { url: URL; answer: Answer | undefined };

/** A browser as far as HTTP goes, between several origins: follows redirects, sends forms as they stand on the page. */
export class UserAgent {
  readonly #browsers = new Map<string, Browser>();

  #at({ origin }: URL): Browser {
    const browser = this.#browsers.get(origin) ?? newBrowser(origin);
    this.#browsers.set(origin, browser);
    return browser;
  }

  /** @param until the start of an address that is to be reached, and not asked for. */
  async open(url: string | URL, until?: string): Promise<Page> {
    const at = new URL(url);
    return this.#follow(at, await this.#at(at).get(at.href, headers), until);
  }

  /** As a page of that origin does. */
  async post(url: string | URL, fields: Record<string, string> = {}, until?: string): Promise<Page> {
    const at = new URL(url);
    return this.#follow(at, await this.#at(at).post(at.href, fields, headers), until);
  }

  /** Sends the first form of a page that posts, with what its fields hold and what is typed into them. */
  async submit({ url, answer }: Page, typed: Record<string, string> = {}, until?: string): Promise<Page> {
    const text = answer?.text ?? '';
    const forms = [...text.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gis)];
    const [, head = '', body = ''] =
      forms.find(([, attributes = '']) => /\bmethod="?post/i.test(attributes)) ??
      assert.fail(`no form at ${url}: ${answer?.status} ${text.slice(0, 1000)}`);
    const hidden = [...body.matchAll(/<input\b([^>]*)>/gi)].flatMap(([, input = '']) =>
      attribute(input, 'type') === 'hidden' ? [[attribute(input, 'name'), attribute(input, 'value')]] : [],
    );
    return this.post(new URL(attribute(head, 'action'), url), { ...Object.fromEntries(hidden), ...typed }, until);
  }

  async #follow(from: URL, first: Answer, until: string | undefined): Promise<Page> {
    let url = from;
    let answer = first;
    const way = [url.href];
    while (answer.status >= 300 && answer.status < 400 && answer.location !== '') {
      url = new URL(answer.location, url);
      way.push(url.href);
      if (until !== undefined && url.href.startsWith(until)) return { url, answer: undefined };
      assert.ok(way.length < 20, `redirected in circles:\n${way.join('\n')}`);
      answer = await this.#at(url).get(url.href, headers);
    }
    return { url, answer };
  }
}

function attribute(tag: string, name: string): string {
  const [, value = ''] = new RegExp(`\\b${name}\\s*=\\s*"([^"]*)"`, 'i').exec(tag) ?? [];
  const entities: Record<string, string> = { amp: '&', quot: '"', lt: '<', gt: '>' };
  return value
    .replace(/&#x([0-9a-f]+);/gi, (_, code: string) => String.fromCodePoint(Number.parseInt(code, 16)))
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
    .replace(/&(amp|quot|lt|gt);/g, (_, entity: string) => entities[entity] ?? '');
}

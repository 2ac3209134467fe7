import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../support/until.ts';
import { type Driver, DriverError } from './webdriver.ts';

/** How WebDriver marks an element in JSON (§12.1). */
const elementKey = 'element-6066-11e4-a52e-4f735466cecf';
type Element = Readonly<Record<typeof elementKey, string>>;

/** Keys that have no letter (§17.4.2). */
export const keys = { enter: '\uE007', escape: '\uE00C', control: '\uE009', tab: '\uE004' } as const;

/** While a page is exchanged for another one, a browser may answer so. */
const passing = new Set([
  'element click intercepted',
  'element not interactable',
  'javascript error',
  'no such element',
  'no such window',
  'stale element reference',
  'unknown error',
]);

/** What a person does in a browser. A selector is one of CSS, and means what is visible of it. */
export class Tab {
  readonly #driver: Driver;
  #left = 0;
  /** What was tried again, for a failure: a browser may have done it before it answered with an error. */
  readonly #retried: string[] = [];

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  /** Opens a page, and waits until the browser shows what it leads to. */
  async goto(url: string): Promise<void> {
    await this.#leaving(() => this.#driver.send('navigate', { url }));
  }

  reload(): Promise<void> {
    return this.#leaving(() => this.#driver.send('refresh'));
  }

  /** Clicks what leads to another page, and waits for that. */
  follow(selector: string): Promise<void> {
    return this.#leaving(() => this.click(selector));
  }

  /** The back button. What it leads to may be a page as it was left. */
  back(): Promise<void> {
    return this.#leaving(() => this.#driver.send('back'));
  }

  /** Of the document that is shown: WebKit's driver knows that of the one that is awaited. */
  async url(): Promise<string> {
    return (await this.evaluate('return location.href')) as string;
  }

  /** @param wanted the whole of it, or its beginning before a `*`. */
  async arriveAt(wanted: string): Promise<void> {
    const start = wanted.replace(/\*$/, '');
    const matches = (url: string) => (start === wanted ? url === wanted : url.startsWith(start));
    let at = '';
    const has = async () => {
      // Firefox has nothing to say while it exchanges the page.
      const seen = this.evaluate('return [location.href, document.readyState]') as Promise<[string, string] | null>;
      const [url, state] = (await seen.catch(() => null)) ?? ['', ''];
      at = url;
      return matches(url) && state === 'complete';
    };
    await until(`the browser arrives at ${wanted}`, has, () => `It is at ${at}.`);
  }

  async click(selector: string): Promise<void> {
    await this.#patiently(`${selector} is clicked`, async () => {
      await this.scrollTo(selector); // a bar at the edge of the window may cover it
      await this.#driver.send('click', { id: await this.#find(selector) });
    });
  }

  /** Types over what is in a field. */
  async fill(selector: string, text: string): Promise<void> {
    await this.#patiently(`${selector} is filled in`, async () => {
      const id = await this.#find(selector);
      await this.#driver.send('clear', { id });
      await this.#driver.send('type', { id, text });
    });
  }

  async choose(selector: string, value: string): Promise<void> {
    await this.click(`${selector} option[value="${value}"]`);
  }

  /** Of a field for files. */
  async attach(selector: string, file: string): Promise<void> {
    await this.#driver.send('type', { id: await this.#find(selector), text: file });
  }

  /** Presses keys, all of them together. */
  async press(...together: string[]): Promise<void> {
    const down = together.map((value) => ({ type: 'keyDown', value }));
    const up = together.toReversed().map((value) => ({ type: 'keyUp', value }));
    await this.#driver.send('act', { actions: [{ type: 'key', id: 'keyboard', actions: [...down, ...up] }] });
  }

  async typeWhereverItIs(text: string): Promise<void> {
    for (const letter of text) await this.press(letter);
  }

  scrollTo(selector: string): Promise<unknown> {
    return this.evaluate(
      'document.querySelector(arguments[0])?.scrollIntoView({ block: "center", behavior: "instant" })',
      selector,
    );
  }

  /** Waits until there is something visible that the selector means, and that has the text in it. */
  async see(selector: string, text: string | RegExp = ''): Promise<void> {
    const visible = () =>
      this.evaluate(
        'return [...document.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility()).map((one) => one.textContent)',
        selector,
      ).catch(() => null) as Promise<string[] | null>;
    const hasText = (one: string) => (typeof text === 'string' ? one.includes(text) : text.test(one));
    await this.#untilSeen(`${selector} shows ${text}`, async () => (await visible())?.some(hasText) === true);
  }

  async seeNone(selector: string): Promise<void> {
    const has = () =>
      this.evaluate(
        'return [...document.querySelectorAll(arguments[0])].some((one) => one.checkVisibility())',
        selector,
      ).catch(() => true);
    await this.#untilSeen(`${selector} is shown no more`, async () => (await has()) === false);
  }

  /** @returns what a reader gets of the first such element. */
  async text(selector: string): Promise<string> {
    await this.see(selector);
    return (await this.evaluate('return document.querySelector(arguments[0]).innerText.trim()', selector)) as string;
  }

  async value(selector: string): Promise<string> {
    return (await this.evaluate('return document.querySelector(arguments[0]).value', selector)) as string;
  }

  async seeFocus(id: string): Promise<void> {
    await this.#untilSeen(`#${id} has the focus`, async () => (await this.focused()) === id);
  }

  /** The id of what has the focus. */
  async focused(): Promise<string> {
    return (await this.evaluate('return document.activeElement?.id ?? ""')) as string;
  }

  async count(selector: string): Promise<number> {
    return (await this.evaluate('return document.querySelectorAll(arguments[0]).length', selector)) as number;
  }

  /** What is pasted into a field of this page. */
  async pasted(): Promise<string> {
    await this.evaluate('document.body.prepend(Object.assign(document.createElement("textarea"), { id: "pasted" }))');
    await this.click('#pasted');
    await this.press(keys.control, 'v');
    await until('something is pasted', async () => (await this.value('#pasted')) !== '');
    const text = await this.value('#pasted');
    await this.evaluate('document.querySelector("#pasted").remove()');
    return text;
  }

  /** @param script a function body, with `arguments`. */
  evaluate(script: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#driver.send('execute', { script, args });
  }

  /** The part of the window where the page is. */
  async resizeTo(width: number, height = 900): Promise<void> {
    await this.#driver.send('resize', { width, height });
    const [inner, outer] = (await this.evaluate('return [innerWidth, outerWidth]')) as [number, number];
    await this.#driver.send('resize', { width: width + outer - inner, height });
    await until(`the window is ${width} px wide`, async () => (await this.evaluate('return innerWidth')) === width);
  }

  /** As narrow as the browser lets a window be. @returns how wide the page is then. */
  async narrow(): Promise<number> {
    await this.#driver.send('resize', { width: 320, height: 900 });
    await until('the window is narrow', async () => Number(await this.evaluate('return innerWidth')) < 600);
    return (await this.evaluate('return innerWidth')) as number;
  }

  windows(): Promise<string[]> {
    return this.#driver.send('windows') as Promise<string[]>;
  }

  /** Goes on in another window: one that has been opened, or the one before. */
  async switchTo(handle: string): Promise<void> {
    await this.#driver.send('switchTo', { handle, name: handle });
  }

  /** @param url of a page of the site whose cookies are cleared. */
  async forgetCookies(url: string): Promise<void> {
    await this.goto(url);
    await this.arriveAt(url);
    await this.#driver.send('deleteCookies');
  }

  /** A passkey is created and used without a question. @returns how to take it away. */
  async plugInAuthenticator(): Promise<() => Promise<unknown>> {
    const authenticatorId = await this.#driver.send('addAuthenticator', {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserConsenting: true,
      isUserVerified: true,
    });
    return () => this.#driver.send('removeAuthenticator', { authenticatorId });
  }

  /** For a failure. @returns where the picture is. */
  async picture(name: string): Promise<string> {
    const folder = join(tmpdir(), 'signet-browsers');
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${name.replace(/[^\w]+/g, '-').slice(0, 80)}.png`);
    const isLate = sleep(10_000, undefined, { ref: false }).then(() =>
      Promise.reject(new Error('no picture is drawn')),
    );
    const picture = await Promise.race([this.#driver.send('screenshot', { full: false }), isLate]);
    writeFileSync(file, picture as string, 'base64');
    return file;
  }

  async #find(selector: string): Promise<string> {
    const found = (await this.#driver.send('findElements', { using: 'css selector', value: selector })) as Element[];
    if (found.length === 0) throw new DriverError('find', { error: 'no such element', message: selector });
    return found[0]![elementKey];
  }

  /** The document that is left gets a mark of its own, which no other one has. */
  async #leaving(act: () => Promise<unknown>): Promise<void> {
    this.#left += 1;
    const mark = String(this.#left);
    await this.evaluate('document.documentElement.setAttribute("data-left", arguments[0])', mark).catch(
      () => undefined,
    );
    await act();
    // Firefox shows an empty document while it goes from one to the other.
    const script = `return document.readyState === 'complete' && location.href !== 'about:blank' &&
      document.documentElement.getAttribute('data-left') !== arguments[0]`;
    const isThere = () => this.evaluate(script, mark).catch(() => false);
    await this.#untilSeen('another page is shown', async () => (await isThere()) === true);
  }

  async #untilSeen(what: string, condition: () => Promise<boolean>): Promise<void> {
    try {
      await until(what, condition);
    } catch (error) {
      const page = await this.evaluate('return document.body.innerText.slice(0, 2000)').catch(String);
      const state = await this.evaluate('return location.href + " is " + document.readyState').catch(String);
      assert.fail([(error as Error).message, state, page, ...this.#retried].join('\n'));
    }
  }

  async #patiently(what: string, act: () => Promise<void>): Promise<void> {
    let last: unknown;
    await until(
      what,
      async () => {
        try {
          await act();
          return true;
        } catch (error) {
          if (!(error instanceof DriverError) || !passing.has(error.code)) throw error;
          if (String(error) !== String(last)) this.#retried.push(`${what}: ${error.message}`);
          last = error;
          return false;
        }
      },
      () => String(last),
    );
  }
}

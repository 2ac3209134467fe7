import assert from 'node:assert/strict';
import type { Answer, Browser } from '../support/browser.ts';
import { newBrowser } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import type { Signet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** Where a browser has come to rest. */
export type Visit = {
  url: URL;
  /** Absent if nothing listens there: the address is for the relying party to read. */
  answer: Answer | undefined;
  /** Whether the sign-in page asked for the password. */
  typedPassword: boolean;
};

/** A user at a relying party: follows redirects between it and Signet, and types the password when the page asks. */
export class Visitor {
  readonly user: TestUser;
  readonly app: Browser | undefined;
  /** As if the relying party were opened at another host than that of its redirect URI. */
  losesCookies = false;
  /** How often the user was asked to allow something, and did. */
  consents = 0;
  readonly #signet: Signet;
  readonly #origin: string;

  /** @param listens false: the relying party is functions that a test calls. */
  constructor(signet: Signet, user: TestUser, origin: string, listens = true) {
    this.#signet = signet;
    this.user = user;
    this.#origin = origin;
    this.app = listens ? newBrowser(origin) : undefined;
  }

  get issuer(): string {
    return this.#signet.url;
  }

  async open(address: string | URL): Promise<Visit> {
    return this.#follow(new URL(address, this.#origin), undefined);
  }

  /** Posts a form of the relying party. */
  async post(path: string, fields: Record<string, string>): Promise<Visit> {
    const answer = await this.app!.post(path, fields);
    return this.#follow(new URL(path, this.#origin), answer);
  }

  async #follow(url: URL, first: Answer | undefined): Promise<Visit> {
    let typedPassword = false;
    let answer = first;
    for (let steps = 0; steps < 12; steps += 1) {
      if (answer === undefined) {
        const isAtSignet = url.origin === this.#signet.url;
        if (isAtSignet && this.losesCookies) this.app?.cookies.clear();
        const browser = isAtSignet ? this.user.browser : this.app;
        if (browser === undefined) return { url, answer, typedPassword };
        answer = await browser.get(url.href);
      }
      if (url.origin === this.#signet.url && url.pathname === '/signin' && answer.status === 200) {
        typedPassword = true;
        answer = await this.user.signIn(hiddenFieldsOf(answer));
        assert.equal(answer.status, 303, answer.text);
      }
      if (url.origin === this.#signet.url && url.pathname === '/consent' && answer.status === 200) {
        this.consents += 1;
        answer = await this.user.browser.post('/consent', { ...hiddenFieldsOf(answer), decision: 'allow' });
      }
      const [, action] = /<form method="post" action="([^"]*)" id="form-post">/.exec(answer.text) ?? [];
      if (action !== undefined && this.app) {
        url = new URL(action);
        answer = await this.app.post(url.pathname, hiddenFieldsOf(answer), { origin: this.#signet.url });
      }
      if (answer.location === '') return { url, answer, typedPassword };
      url = new URL(answer.location, url);
      answer = undefined;
    }
    return assert.fail(`redirected without an end, last to ${url.href}`);
  }

  /** Presses the button of the page that asks whether to sign out. */
  async confirmSignOut({ url, answer }: Visit): Promise<Visit> {
    assert.equal(url.pathname, '/oauth/logout/confirm');
    assert.match(answer?.text ?? '', sentence('logout.title'));
    const form = { ...hiddenFieldsOf(answer!), decision: 'sign_out' };
    const posted = await this.user.browser.post('/oauth/logout/confirm', form);
    return this.#follow(url, posted);
  }
}

const hiddenFieldsOf = ({ text }: Answer): Record<string, string> =>
  Object.fromEntries(
    text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g).map(([, name, value]) => [name!, value!]),
  );

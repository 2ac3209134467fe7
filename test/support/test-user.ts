import assert from 'node:assert/strict';
import { type Answer, type Browser, newBrowser } from './browser.ts';
import { addPasskey } from './passkeys.ts';
import { type Fields, type RegisteredClient, redirectedTo, type Tokens, tokensOf } from './relying-party.ts';
import type { Signet } from './signet.ts';
import { type Authenticator, enableTotp } from './two-factor.ts';

type Account = { user_id: string; email: string; password: string; browser: Browser };

/** A user with an account, and the browser in front of them. */
export class TestUser implements Account {
  readonly user_id: string;
  readonly email: string;
  password: string;
  readonly browser: Browser;
  readonly #signet: Signet;

  constructor(signet: Signet, account: Omit<Account, 'browser'> & { browser?: Browser }) {
    this.#signet = signet;
    this.user_id = account.user_id;
    this.email = account.email;
    this.password = account.password;
    this.browser = account.browser ?? newBrowser(signet.url);
  }

  /** The same user with another browser, or who types another password or address. */
  with(changes: Partial<Account>): TestUser {
    const { user_id, email, password, browser } = this;
    return new TestUser(this.#signet, { user_id, email, password, browser, ...changes });
  }

  /** The same user in a browser without cookies. */
  elsewhere(): TestUser {
    return this.with({ browser: newBrowser(this.#signet.url) });
  }

  /** Posts the form of the sign-in page. */
  signIn(fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.browser.post('/signin', { username: this.email, password: this.password, ...fields }, headers);
  }

  /** The same user in another browser, signed in with the password. */
  async signedInElsewhere(headers?: Record<string, string>): Promise<TestUser> {
    const other = this.elsewhere();
    const answer = await other.signIn({}, headers);
    assert.deepEqual([answer.status, answer.location], [303, '/account'], answer.text);
    return other;
  }

  /** The same user in another browser, which has sent the password and waits for the second factor. */
  async awaitingSecondFactor(browser = newBrowser(this.#signet.url)): Promise<TestUser> {
    const other = this.with({ browser });
    const answer = await other.signIn();
    assert.equal(answer.location, '/signin/second-factor', answer.text);
    return other;
  }

  /** The same user with a copy of the cookies, as a thief has them. */
  withCopiedCookies(): TestUser {
    const other = this.elsewhere();
    for (const [name, value] of this.browser.cookies) other.browser.cookies.set(name, value);
    return other;
  }

  /** Posts the form of the page for the second factor. */
  giveCode(code: string): Promise<Answer> {
    return this.browser.post('/signin/second-factor', { code });
  }

  /** An authorization code. The session must be enough for it: no page comes in between. */
  async authorize(client: RegisteredClient, changes?: Fields): Promise<string> {
    const answer = await this.browser.get(client.authorizePath(changes));
    const code = redirectedTo(answer).get('code');
    if (!code) throw new Error(`no code: ${answer.status} ${answer.location}`);
    return code;
  }

  /** The code flow from the authorization request to the tokens. */
  async obtainTokens(client: RegisteredClient, changes?: Fields): Promise<Tokens> {
    return tokensOf(await client.redeem(await this.authorize(client, changes)));
  }

  /** Sets up an authenticator app. The session must be recent. */
  enableTotp(options?: { end_other_sessions?: boolean }): Promise<Authenticator> {
    return enableTotp(this.#signet, this, options);
  }

  /** Registers a passkey, and confirms the session with it unless it has seen two factors. */
  addPasskey(...options: Parameters<typeof addPasskey> extends [unknown, unknown, ...infer Rest] ? Rest : never) {
    return addPasskey(this.#signet, this, ...options);
  }
}

import assert from 'node:assert/strict';
import { twoFactors } from '../../src/authentication/sessions/authentication.ts';
import { type Authenticator, type Lies, newAuthenticator, type Options } from './authenticator.ts';
import { type Answer, type Browser, newBrowser } from './browser.ts';
import type { Signet } from './signet.ts';
import type { TestUser } from './test-user.ts';

export const pages = '/account/security/passkeys';

/** What a browser is to hand to its authenticator. */
export async function passkeyOptions(browser: Browser, path: string): Promise<Options> {
  const answer = await browser.postEmpty(`${path}/options`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as Options;
}

/** Posts what `create` made. */
export const postPasskey = (browser: Browser, credential: unknown, name = 'Key') =>
  browser.postJson('/v1/me/passkeys', { credential, name });

/** A registered passkey, in a session that has been confirmed with it if it had seen one factor alone. */
export async function addPasskey(
  signet: Signet,
  { browser }: TestUser,
  authenticator = newAuthenticator(signet.url),
  name = 'Key',
) {
  const options = await passkeyOptions(browser, '/v1/me/passkeys');
  const answer = await postPasskey(browser, authenticator.create(options), name);
  assert.equal(answer.status, 201, answer.text);
  if ((await sessionOf(browser)).acr !== twoFactors) await confirmWithPasskey(browser, authenticator);
  return Object.assign(authenticator, { id: String(answer.json?.id) });
}

/** Confirms with a passkey, for what takes a session that has seen it. */
export async function confirmWithPasskey(browser: Browser, authenticator: Authenticator) {
  const path = '/signin/confirm/passkey';
  const answer = await postAssertion(browser, path, authenticator.get(await passkeyOptions(browser, path)));
  assert.equal(answer.status, 303, answer.text);
}

/** Posts what `get` made, as the form of a page does. */
export const postAssertion = (
  browser: Browser,
  path: string,
  credential: unknown,
  fields: Record<string, string> = {},
) => browser.post(path, { ...fields, credential: JSON.stringify(credential) });

/** Signs in with a new browser. */
export async function signInWithPasskey(
  signet: Signet,
  authenticator: Authenticator,
  lies: Lies = {},
  browser = newBrowser(signet.url),
) {
  const options = await passkeyOptions(browser, '/signin/passkey');
  return { browser, answer: await postAssertion(browser, '/signin/passkey', authenticator.get(options, lies)) };
}

export const passkeysOf = async ({ browser }: TestUser) =>
  (await browser.get('/v1/me/passkeys')).json?.passkeys as {
    id: string;
    name: string;
    synced: boolean;
    last_used_at: number | null;
  }[];

/** How the session of a browser came about. */
export const sessionOf = async (browser: Browser) =>
  (await browser.get('/v1/me')).json?.session as { amr: string[]; acr: string; auth_time: number };

export function assertSignedIn(answer: Answer, browser: Browser) {
  assert.equal(answer.status, 303, answer.text);
  assert.ok(browser.cookies.has('signet_identity_session'));
}

export function assertNotSignedIn(answer: Answer, browser: Browser, status: number, about = '') {
  assert.equal(answer.status, status, `${about} ${answer.text}`);
  assert.ok(!browser.cookies.has('signet_identity_session'), about);
}

export const twenty = <Result>(run: () => Promise<Result>) => Promise.all(Array.from({ length: 20 }, run));

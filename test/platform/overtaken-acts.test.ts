import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partOfEmail, partOfHandle } from '../../src/accounts/statements.ts';
import { newAuthenticator } from '../support/authenticator.ts';
import type { Answer } from '../support/browser.ts';
import { startFederatedSignet } from '../support/federated-signet.ts';
import { linkIn } from '../support/mailbox.ts';
import { passkeyOptions, postPasskey } from '../support/passkeys.ts';
import { aUser, newDirectory } from '../support/scim.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { holdNextCall } from '../support/store-spy.ts';
import { acceptConfirmation, followUpstream, signInUpstream } from '../support/upstream.ts';

// Acts that claim something in another part, by a node that stood still for so long that they were given up: nobody else has what
// they were for, and who is told so would choose another name, or another account. Of new accounts, nothing is made.

const cells = { engine: 'postgres', cells: 4, env: { SIGNET_RATE_LIMITS: 'off' } } as const;

/** @param change which is held until the job has given the act up. */
async function standingStill(signet: Signet, change: RegExp, act: () => Promise<Answer>): Promise<Answer> {
  const held = holdNextCall(signet.deps.db, change);
  const answer = act();
  assert.equal(await Promise.race([held.reached, answer]), undefined, 'nothing was to be held');
  signet.clock.advance(60);
  await signet.runJobs();
  held.release();
  return answer;
}

function assertGivenUp({ status, text, headers }: Answer): void {
  assert.equal(status, 503, text);
  assert.match(text, /This took too long, so nothing was changed\. Try again\./);
  assert.ok(Number(headers.get('retry-after')) > 0);
}

test('an invitation whose acceptance stood still does not call the username taken, and can be accepted', async (t) => {
  const signet = await startSignet(t, cells);
  const admin = await signet.signedInUser({ role: 'admin' });
  const { deps } = signet;
  const email = 'invited@example.com';
  const names = ['ada', 'bob', 'eve', 'joe', 'kim', 'leo', 'max', 'sue'].map((name) => `${name}-of-another-part`);
  const preferred_username = names.find((name) => partOfHandle(deps.db, name) !== partOfEmail(deps, email));
  const invitation = { email, preferred_username, reason: 'Asked.' };
  const { json } = await admin.browser.postJson('/v1/admin/users/invite', invitation);
  const path = new URL(String(json?.url)).pathname;
  const accept = () => signet.newBrowser().post(path, { name: 'Invited', password: 'ordinary words in a row' });
  assertGivenUp(await standingStill(signet, /insert into users/, accept));
  assert.equal((await accept()).status, 303);
});

test('a directory whose request stood still is not told that the userName is taken, and can repeat it', async (t) => {
  const signet = await startSignet(t, cells);
  const directory = await newDirectory(signet);
  const make = () => directory.send('POST', '/Users', aUser({ userName: 'ada' }));
  assertGivenUp(await standingStill(signet, /insert into scim_users/, make));
  assert.equal((await make()).status, 201);
});

test('who signs in with a provider for the first time is not told that the address is taken', async (t) => {
  const { signet } = await startFederatedSignet(t, cells);
  const signIn = async () => (await signInUpstream(signet.newBrowser())).answer;
  assertGivenUp(await standingStill(signet, /insert into identities/, signIn));
  assert.equal((await signIn()).status, 303);
});

// Those who are there already find their act made anew.

test('an account at a provider whose link stood still is linked', async (t) => {
  const { signet } = await startFederatedSignet(t, cells);
  const { browser } = await signet.signedInUser();
  const link = async () => {
    const start = await browser.post('/account/security/providers/acme');
    const { pathname, search } = await followUpstream(start.location);
    return acceptConfirmation(browser, await browser.get(pathname + search));
  };
  const answer = await standingStill(signet, /insert into identities/, link);
  assert.equal(answer.location, '/account/security/providers?done=linked', answer.text);
});

test('a passkey whose registration stood still is registered', async (t) => {
  const signet = await startSignet(t, cells);
  const { browser } = await signet.signedInUser();
  const authenticator = newAuthenticator(signet.url);
  const register = async () =>
    postPasskey(browser, authenticator.create(await passkeyOptions(browser, '/v1/me/passkeys')));
  const answer = await standingStill(signet, /insert into passkeys/, register);
  assert.equal(answer.status, 201, answer.text);
});

test('an address whose confirmation stood still is changed', async (t) => {
  const signet = await startSignet(t, { ...cells, mail: true });
  const { browser } = await signet.signedInUser();
  const email = 'another@example.com';
  await browser.post('/account/email/change', { email });
  const path = linkIn(await signet.mailbox.next(email), /^\/verify-email\//);
  const answer = await standingStill(signet, /^update users set email =/, () => browser.post(path));
  assert.equal(answer.location, '/account/email?done=changed', answer.text);
  assert.equal((await browser.get('/v1/me')).json?.email, email);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteUser } from '../../src/accounts/store.ts';
import { suspendClient } from '../../src/clients/review-client.ts';
import { now } from '../../src/platform/clock.ts';
import type { Answer } from '../support/browser.ts';
import { message, pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type RegisteredClient, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

/** CO-01, decisions §9: a user who is asked knows by whom and for what, and an answer counts for that alone. */

const ask = (user: TestUser, client: RegisteredClient, changes: Record<string, string> = {}) =>
  user.browser.get(client.authorizePath(changes));

/** The id of the waiting request whose consent page comes next. */
function askedAbout(answer: Answer): string {
  const to = redirectedTo(answer);
  assert.match(to.base, /\/consent$/, answer.location);
  return to.get('request') ?? assert.fail('no request');
}

const decide = (user: TestUser, request: string, decision: string) =>
  user.browser.post('/consent', { request, user: user.user_id, decision });

async function goOn(user: TestUser, answer: Answer): Promise<URLSearchParams> {
  assert.equal(answer.status, 303, answer.text);
  return redirectedTo(await user.browser.get(answer.location));
}

test('CO-01: the page names client, owner, host, review, scopes in plain words, and how long it lasts', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const policy_uri = 'https://rp.test/privacy';
  const client = await signet.registerClient({ owner, name: 'Field Notes', consent: 'required', policy_uri });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client, { scope: 'openid email offline_access' }));
  const { status, text } = await user.browser.get(`/consent?request=${request}`);
  assert.equal(status, 200);
  assert.match(text, pattern`<h1>${sentence('consent.title', { client: '<bdi>Field Notes</bdi>' })}</h1>`);
  assert.match(text, sentence('consent.owner', { domain: '<bdi>example.com</bdi>' }));
  assert.doesNotMatch(text, /Person \d+<\/bdi>/, 'a name that was not reviewed vouches for nothing');
  assert.match(text, sentence('consent.app', { host: '<code>rp.test</code>' }));
  assert.match(
    text,
    pattern`${sentence('scope.openid')}.*${sentence('scope.email')}.*${sentence('scope.offline_access')}`,
  );
  assert.match(text, sentence('consent.lasting'));
  assert.doesNotMatch(text, /<img[^>]+src="http/);
  assert.match(text, new RegExp(`<a href="${policy_uri}" target="_blank" rel="noopener[^"]*">`));
  assert.doesNotMatch(text, sentence('clients.field.tos_uri'));
  assert.match(text, new RegExp(`${message('claim.email')}: <bdi>${user.email}</bdi>`), 'what it would be told');
  assert.doesNotMatch(text, new RegExp(`${message('claim.name')}:`), 'and nothing that it did not ask for');
  assert.equal((await user.browser.patch('/v1/me', { nickname: 'Ada <b>', locale: 'de' })).status, 200);
  const profile = askedAbout(await ask(user, client, { scope: 'openid profile' }));
  const values = (await user.browser.get(`/consent?request=${profile}&ui_locales=en`)).text;
  assert.match(
    values,
    pattern`${sentence('claim.nickname')}: <bdi>Ada &lt;b&gt;</bdi>.*${sentence('claim.locale')}: <bdi>Deutsch</bdi>`,
  );
  const short = askedAbout(await ask(user, client, { scope: 'openid' }));
  assert.match((await user.browser.get(`/consent?request=${short}&ui_locales=en`)).text, sentence('consent.short'));
});

test('CO-01: an app with a scheme of its own is named by it, whatever looks like a host behind it', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({
    client_type: 'public',
    redirect_uris: ['com.example.app://accounts.google.com/cb'],
    consent: 'required',
  });
  const user = await signet.signedInUser();
  const { text } = await user.browser.get(`/consent?request=${askedAbout(await ask(user, client))}`);
  assert.match(text, sentence('consent.app', { host: '<code>com.example.app:</code>' }));
  assert.doesNotMatch(text, /google/);
});

test('CO-01: a first-party client is attributed to the service', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  await plain(signet.deps.db).run('update clients set owner_user_id = null, is_first_party = 1 where client_id = $1', [
    client.client_id,
  ]);
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  assert.match(
    (await user.browser.get(`/consent?request=${request}`)).text,
    sentence('consent.ownerless', { service: 'Signet' }),
  );
});

test('CO-01: consent for a client without an owner shows no owner', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner, consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  await plain(signet.deps.db).run('update users set email_verified_at = null where user_id = $1', [owner.user_id]);
  const shown = async () => (await user.browser.get(`/consent?request=${request}`)).text;
  assert.match(await shown(), sentence('consent.owner_unverified'));
  await plain(signet.deps.db).batch(deleteUser(owner.user_id, now(signet.deps)));
  assert.match(await shown(), sentence('consent.owner_gone'));
  assert.doesNotMatch(await shown(), sentence('consent.ownerless'));
});

testSignet('CO-01: Allow leads to a code, and is remembered for those scopes and no others', async ({ signet }) => {
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client, { scope: 'openid email' }));
  const code = (await goOn(user, await decide(user, request, 'allow'))).get('code');
  assert.ok(code);
  assert.equal((await client.redeem(code)).status, 200);
  assert.ok(redirectedTo(await ask(user, client, { scope: 'openid email' })).get('code'));
  assert.ok(redirectedTo(await ask(user, client, { scope: 'email' })).get('code'));
  const more = askedAbout(await ask(user, client, { scope: 'openid profile' }));
  assert.ok((await goOn(user, await decide(user, more, 'allow'))).get('code'));
  // What was allowed before still is.
  assert.ok(redirectedTo(await ask(user, client, { scope: 'openid email profile' })).get('code'));
  const other = await signet.signedInUser();
  askedAbout(await ask(other, client, { scope: 'openid email' }));
});

testSignet('CO-01: Cancel sends access_denied to the client and nothing is remembered', async ({ signet }) => {
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  const denied = redirectedTo(await decide(user, request, 'deny'));
  assert.equal(denied.base, client.redirect_uri);
  assert.deepEqual([denied.get('error'), denied.get('state'), denied.get('iss')], ['access_denied', 's1', signet.url]);
  assert.equal(denied.get('code'), null);
  // The request is over with it; a press on Allow in an older tab comes too late.
  assert.equal((await decide(user, request, 'allow')).status, 400);
  askedAbout(await ask(user, client));
});

test('CO-01: prompt=consent asks a user who has allowed it, also where no user is asked otherwise', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  for (const consent of ['required', 'skip'] as const) {
    const client = await signet.registerClient({ consent });
    if (consent === 'required') await goOn(user, await decide(user, askedAbout(await ask(user, client)), 'allow'));
    const request = askedAbout(await ask(user, client, { prompt: 'consent' }));
    assert.ok((await goOn(user, await decide(user, request, 'allow'))).get('code'));
  }
});

test('CO-01: prompt=none says consent_required instead of asking', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  assert.equal(redirectedTo(await ask(user, client, { prompt: 'none' })).get('error'), 'consent_required');
});

testSignet('CO-01: a consent that was taken back asks again', async ({ signet }) => {
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  await goOn(user, await decide(user, askedAbout(await ask(user, client)), 'allow'));
  const code = redirectedTo(await ask(user, client)).get('code') ?? '';
  const tokens = tokensOf(await client.redeem(code));
  const disconnected = await user.browser.delete(`/v1/me/grants/${client.client_id}`);
  assert.equal(disconnected.status, 204, disconnected.text);
  askedAbout(await ask(user, client));
  assert.equal((await client.refresh(tokens.refresh_token ?? '')).status, 400);
  assert.deepEqual((await client.introspect(tokens.access_token)).json, { active: false });
});

test("CO-01: another browser, another user and a stranger cannot answer a user's question", async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  const attacker = await signet.signedInUser();
  await ask(attacker, client); // has a browser token of its own
  assert.equal((await decide(attacker, request, 'allow')).status, 400);
  assert.equal((await attacker.browser.get(`/consent?request=${request}`)).status, 400);
  assert.equal((await decide(await signet.newUser(), request, 'allow')).status, 400);
  const crossSite = { origin: 'https://evil.example' };
  const forged = await user.browser.post('/consent', { request, decision: 'allow' }, crossSite);
  assert.equal(forged.status, 403);
  askedAbout(await ask(user, client));
});

test('CO-01: an answer counts only for the user who was asked, not for one who signed in meanwhile', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const first = await signet.signedInUser();
  const request = askedAbout(await ask(first, client));
  const page = await first.browser.get(`/consent?request=${request}`);
  const [, user = ''] = /name="user" value="([^"]+)"/.exec(page.text) ?? [];
  assert.equal(user, first.user_id);
  const second = (await signet.newUser()).with({ browser: first.browser });
  assert.equal((await second.signIn()).status, 303);
  const answers = [{ user }, {}, { user: '' }, { user: `${second.user_id}x` }] as Record<string, string>[];
  for (const decision of ['allow', 'deny']) {
    for (const answer of answers) {
      const late = await second.browser.post('/consent', { request, ...answer, decision });
      assert.equal(late.location, `/consent?request=${request}`, JSON.stringify(answer));
    }
  }
  askedAbout(await ask(second, client));
  assert.ok((await goOn(second, await decide(second, request, 'allow'))).get('code'), 'the request still waits');
});

test('CO-01: a session that has ended is not asked and does not answer', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  await user.browser.post('/signout');
  const location = `/signin?request=${request}`;
  assert.equal((await user.browser.get(`/consent?request=${request}`)).location, location);
  assert.equal((await decide(user, request, 'allow')).location, location);
});

test('CO-01: a client that was suspended meanwhile gets no consent page, and no answer counts', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  await suspendClient(signet.deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'Phishing');
  assert.equal((await user.browser.get(`/consent?request=${request}`)).status, 400);
  assert.equal((await decide(user, request, 'allow')).status, 400);
  assert.deepEqual(await plain(signet.deps.db).all('select client_id from consents'), []);
});

test('CO-01: a decision that is none is refused, and the request goes on waiting', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const request = askedAbout(await ask(user, client));
  assert.equal((await decide(user, request, 'perhaps')).status, 400);
  assert.ok((await goOn(user, await decide(user, request, 'allow'))).get('code'));
});

test('CO-01: a client approved with consent "skip" gets no consent page', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'skip' });
  const user = await signet.signedInUser();
  assert.ok((await user.obtainTokens(client)).access_token);
});

test('FL-01: an answer counts once, and only from the user who is being asked', async (t) => {
  const signet = await startSignet(t);
  const client = await signet.registerClient({ consent: 'required' });
  const user = await signet.signedInUser();
  const given = async () => (await signet.auditLog({ action: 'consent.given' })).length;

  const request = askedAbout(await ask(user, client));
  await Promise.all(Array.from({ length: 20 }, () => decide(user, request, 'allow')));
  assert.equal(await given(), 1);

  const early = redirectedTo(await ask(user, client, { prompt: 'login consent' }));
  assert.equal((await decide(user, String(early.get('request')), 'allow')).status, 303);
  assert.equal(await given(), 1, 'the sign-in that was asked for has not happened');
});

testSignet(
  'CO-01: consent that one user gave to an authorization request does not count for the next',
  async ({ signet }) => {
    const client = await signet.registerClient({ consent: 'required' });
    const [first, second] = [await signet.signedInUser(), await signet.newUser()];
    const request = askedAbout(await ask(first, client));
    assert.equal((await decide(first, request, 'allow')).status, 303);
    // The same browser, before it goes on: another user signs in for the same request.
    const shared = second.with({ browser: first.browser });
    assert.equal((await shared.signIn({ request })).status, 303);
    const next = await shared.browser.get(`/oauth/authorize/continue?request=${request}`);
    assert.match(next.location, /^\/consent\?request=/);
  },
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteClient } from '../../src/clients/delete-client.ts';
import { reinstateClient, suspendClient } from '../../src/clients/review-client.ts';
import type { Answer } from '../support/browser.ts';
import { sentence } from '../support/messages.ts';
import {
  assertRefused,
  claimsOf,
  type Fields,
  type RegisteredClient,
  redirectedTo,
  tokensOf,
} from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const cli = { actor: 'cli' } as const;
const requestOf = (path: string) => new URL(path, 'http://relative.invalid').searchParams.get('request') ?? '';

/** @returns the id of the request that waits behind one of our own pages. */
function waitsAt(page: '/signin' | '/signin/account' | '/consent', answer: Answer): string {
  assert.equal(answer.status, 302, answer.text);
  assert.ok(answer.location.startsWith(`${page}?request=ar_`), answer.location);
  return requestOf(answer.location);
}

test('what stands between a request and its code (OpenID Connect Core §3.1.2)', async (t) => {
  const signet = await startSignet(t);
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const asking = await signet.registerClient({ owner, consent: 'required', name: 'Asks <b>first</b>' });
  const proceed = (user: TestUser, request: string) => user.browser.get(`/oauth/authorize/continue?request=${request}`);

  await t.test('AZ-10: a stranger with a good request is led to our own sign-in, never straight back', async () => {
    const stranger = await signet.newUser();
    waitsAt('/signin', await stranger.browser.get(client.authorizePath()));
    // Decisions §1: what is wrong with a request of a reviewed client goes to its reviewed address at once.
    const bad = redirectedTo(await stranger.browser.get(client.authorizePath({ scope: 'bogus' })));
    assert.equal(bad.base, client.redirect_uri);
    const unreviewed = await signet.registerClient({ owner, approved: false });
    const answer = await stranger.browser.get(unreviewed.authorizePath({ scope: 'bogus' }));
    assert.equal(answer.status, 400);
    assert.equal(answer.location, '');
  });

  await t.test('AZ-10: a sign-in under way belongs to the browser that began it, for ten minutes', async () => {
    const user = await signet.newUser();
    const other = await signet.newUser();
    const request = waitsAt('/signin', await user.browser.get(client.authorizePath()));
    for (const path of ['/signin', '/signin/account', '/consent', '/oauth/authorize/continue']) {
      assert.equal((await other.browser.get(`${path}?request=${request}`)).status, 400, path);
    }
    assert.equal((await other.signIn({ request })).status, 400);
    signet.clock.advance(600);
    assert.equal((await user.signIn({ request })).status, 400);
  });

  await t.test('AZ-12: after credentials the answer is 303, never 307 or 308', async () => {
    const user = await signet.newUser();
    const request = waitsAt('/signin', await user.browser.get(asking.authorizePath()));
    const failed = await user.browser.post('/signin', { username: user.email, password: 'wrong', request });
    assert.equal(failed.status, 401);
    assert.equal(failed.location, '');
    const signedIn = await user.signIn({ request });
    assert.equal(signedIn.status, 303);
    waitsAt('/consent', await user.browser.get(signedIn.location));
    const allowed = await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
    assert.equal(allowed.status, 303);
    assert.ok(redirectedTo(await user.browser.get(allowed.location)).get('code'));
    assert.equal((await user.browser.post('/signout')).status, 303);
  });

  await t.test('AZ-13: prompt=none shows no page', async () => {
    const stranger = await signet.newUser();
    const user = await signet.signedInUser();
    const errorOf = async (who: TestUser, of: RegisteredClient, changes: Fields) =>
      redirectedTo(await who.browser.get(of.authorizePath(changes))).get('error');
    assert.equal(await errorOf(stranger, client, { prompt: 'none' }), 'login_required');
    assert.equal(stranger.browser.cookies.size, 0, 'nothing was kept for later');
    assert.equal(await errorOf(user, asking, { prompt: 'none' }), 'consent_required');
    for (const prompt of ['none login', 'login none', 'none consent', 'none select_account', 'bogus', 'NONE']) {
      assert.equal(await errorOf(user, client, { prompt }), 'invalid_request', prompt);
    }
    assert.equal(await errorOf(user, client, { prompt: 'none' }), null);
    signet.clock.advance(61);
    assert.equal(await errorOf(user, client, { prompt: 'none', max_age: '60' }), 'login_required');
    const somebodyElse = await signet.signedInUser();
    const { id_token } = await somebodyElse.obtainTokens(client);
    assert.equal(await errorOf(user, client, { prompt: 'none', id_token_hint: id_token }), 'login_required');
    assert.equal(await errorOf(somebodyElse, client, { prompt: 'none', id_token_hint: id_token }), null);
  });

  await t.test('AZ-14: prompt=login and max_age require a new sign-in, which auth_time shows', async () => {
    const user = await signet.signedInUser();
    signet.clock.advance(600);
    for (const changes of [{ prompt: 'login' }, { max_age: '60' }, { max_age: '0' }, { max_age: '599' }]) {
      const request = waitsAt('/signin', await user.browser.get(client.authorizePath(changes)));
      waitsAt('/signin', await proceed(user, request)); // walking past the page does not help
      const signedIn = await user.signIn({ request });
      const code = redirectedTo(await user.browser.get(signedIn.location)).get('code') ?? '';
      const { id_token } = tokensOf(await client.redeem(code));
      assert.equal(claimsOf(id_token).auth_time, signet.clock() / 1000);
      assert.equal((await proceed(user, request)).status, 400, 'a request gives one code');
      signet.clock.advance(600);
    }
    assert.ok(redirectedTo(await user.browser.get(client.authorizePath({ max_age: '600' }))).get('code'));
    for (const max_age of ['-1', 'abc', '1e9', '1.5', '0x10', ' 60', '99999999999']) {
      const answer = redirectedTo(await user.browser.get(client.authorizePath({ max_age })));
      assert.equal(answer.get('error'), 'invalid_request', max_age);
    }
  });

  await t.test('AZ-14: max_age=0 means prompt=login, also within the second of the last sign-in', async () => {
    const user = await signet.signedInUser();
    waitsAt('/signin', await user.browser.get(client.authorizePath({ max_age: '0' })));
    const silent = await user.browser.get(client.authorizePath({ max_age: '0', prompt: 'none' }));
    assert.equal(redirectedTo(silent).get('error'), 'login_required');
  });

  await t.test(
    'a page says why a signed-in user signs in again, and each page of a sign-in names the app',
    async () => {
      const user = await signet.signedInUser();
      const named = await signet.registerClient({ name: 'Atlas <CRM>' });
      const names = sentence('signin.to_client', { client: '<strong><bdi>Atlas <CRM></bdi></strong>' });
      const pageOf = async (changes: Fields) =>
        (await user.browser.get((await user.browser.get(named.authorizePath(changes))).location)).text;
      const asked = await pageOf({ prompt: 'login' });
      assert.match(asked, sentence('signin.again.asked', { email: `<strong><bdi>${user.email}</bdi></strong>` }));
      assert.match(asked, new RegExp(`value="${user.email}"`));
      signet.clock.advance(100);
      assert.match(await pageOf({ max_age: '99' }), sentence('signin.again.long_ago'));
      assert.doesNotMatch(await pageOf({ prompt: 'select_account' }), sentence('signin.again.asked'));

      const { browser, email, password } = user;
      await user.enableTotp();
      const stranger = user.elsewhere();
      const request = waitsAt('/signin', await stranger.browser.get(named.authorizePath()));
      const pages = ['/signin', '/signup', '/reset', '/reset/sent'];
      for (const path of pages)
        assert.match((await stranger.browser.get(`${path}?request=${request}`)).text, names, path);
      assert.doesNotMatch((await browser.get(`/reset?request=${request}`)).text, names, 'not in another browser');
      const second = await stranger.browser.post('/signin', { username: email, password, request });
      assert.match((await stranger.browser.get(second.location)).text, names);
    },
  );

  await t.test('AZ-14: a sign-in counts for the request that asked for it, not for another that waits', async () => {
    const user = await signet.signedInUser();
    const first = waitsAt('/signin', await user.browser.get(client.authorizePath({ prompt: 'login' })));
    const second = waitsAt('/signin', await user.browser.get(client.authorizePath({ prompt: 'login' })));
    await user.signIn({ request: first });
    waitsAt('/signin', await proceed(user, second));
    assert.ok(redirectedTo(await proceed(user, first)).get('code'));
  });

  await t.test('AZ-15: a form posted from another site takes one hop to our own GET', async () => {
    const user = await signet.signedInUser();
    const [path = '', query = ''] = client.authorizePath({ state: 'a&b=ü' }).split('?');
    const crossSite = { origin: 'https://rp.test', 'sec-fetch-site': 'cross-site' };
    const form = { ...crossSite, 'content-type': 'application/x-www-form-urlencoded' };
    const post = (body: string, headers: Record<string, string>, to = path) =>
      fetch(signet.url + to, { method: 'POST', body, headers, redirect: 'manual' }); // Lax: no cookie
    const posted = await post(query, form);
    assert.equal(posted.status, 303);
    const own = posted.headers.get('location') ?? '';
    assert.ok(own.startsWith('/oauth/authorize?'), own);
    const answered = redirectedTo(await user.browser.get(own));
    assert.ok(answered.get('code'));
    assert.equal(answered.get('state'), 'a&b=ü');
    const bad = [
      post(JSON.stringify(Object.fromEntries(new URLSearchParams(query))), {
        ...form,
        'content-type': 'application/json',
      }),
      post(query, { ...form, 'content-type': 'text/plain' }),
      post('', form),
      post(query.replace('https', 'http'), form),
      post('', form, client.authorizePath()), // what the URL says does not count
      post(`${query}&redirect_uri=https://rp.test/cb`, form),
    ];
    for (const answer of await Promise.all(bad)) {
      assert.equal(answer.status, 400);
      assert.equal(answer.headers.get('location'), null);
    }
    const elsewhere = ['/signin', '/signin/account', '/signout', '/consent', '/v1/oauth/clients'];
    for (const to of elsewhere) assert.equal((await post('', form, to)).status, 403, to);
  });

  await t.test(
    'AZ-19: a page is not framed, tells no other site where it is and loads nothing from elsewhere',
    async () => {
      const user = await signet.newUser();
      const pages = [
        await user.browser.get('/signin'),
        await user.browser.get(client.authorizePath({ client_id: 'x' })),
      ];
      const request = waitsAt('/signin', await user.browser.get(asking.authorizePath({ prompt: 'select_account' })));
      pages.push(await user.browser.get(`/signin?request=${request}`));
      pages.push(await user.browser.post('/signin', { username: user.email, password: 'wrong', request }));
      await user.signIn({ request });
      pages.push(await user.browser.get(`/consent?request=${request}`));
      pages.push(await user.browser.get(`/signin/account?request=${request}`));
      pages.push(await user.browser.get('/account'));
      for (const { headers, text, status } of pages) {
        assert.match(headers.get('content-type') ?? '', /^text\/html; charset=utf-8/, `${status} ${text}`);
        const policy = headers.get('content-security-policy') ?? '';
        assert.match(policy, /default-src 'none'/);
        assert.match(policy, /frame-ancestors 'none'/);
        assert.equal(headers.get('x-frame-options'), 'DENY');
        assert.equal(headers.get('referrer-policy'), 'same-origin');
        assert.equal(headers.get('cache-control'), 'no-store');
        const targets = [...text.matchAll(/\b(?:src|href|action)="([^"]*)"/g)].map(([, target = '']) => target);
        assert.ok(targets.length > 0);
        for (const target of targets) assert.equal(new URL(target, signet.url).origin, signet.url, target);
        assert.doesNotMatch(text, /<script(?! src="\/assets\/[\w-]+\.js" defer><\/script>)|<iframe|<b>first/);
      }
    },
  );
});

testSignet('AZ-14: the account that was chosen is the account the code is for', async ({ signet }) => {
  const client = await signet.registerClient();
  const [ann, bob] = [await signet.signedInUser(), await signet.newUser()];
  const { browser } = ann;
  const chooser = (request: string) => `/signin/account?request=${request}`;
  const goOn = (request: string) => browser.get(`/oauth/authorize/continue?request=${request}`);
  const ask = async () =>
    waitsAt('/signin/account', await browser.get(client.authorizePath({ prompt: 'select_account' })));
  const shownTo = async (request: string) => {
    const { text } = await browser.get(chooser(request));
    const [, user = ''] = /name="user" value="([^"]+)"/.exec(text) ?? [];
    return { user, text };
  };

  const request = await ask();
  const page = await shownTo(request);
  assert.match(page.text, sentence('choose.continue', { email: `<bdi>${ann.email}</bdi>` }));
  assert.equal(page.user, ann.user_id);
  // In another tab.
  assert.equal((await bob.with({ browser }).signIn()).status, 303);
  for (const answer of [{ user: page.user }, {}, { user: '' }, { user: `${bob.user_id}x` }] as Record<
    string,
    string
  >[]) {
    const late = await browser.post('/signin/account', { request, ...answer });
    assert.equal(late.location, chooser(request), JSON.stringify(answer));
    waitsAt('/signin/account', await goOn(request));
  }
  const anew = await shownTo(request);
  assert.match(anew.text, sentence('choose.continue', { email: `<bdi>${bob.email}</bdi>` }));
  assert.doesNotMatch(anew.text, new RegExp(ann.email));
  assert.match((await browser.post('/signin/account', { request, user: anew.user })).location, /continue/);
  const code = redirectedTo(await goOn(request)).get('code') ?? '';
  assert.equal(claimsOf(tokensOf(await client.redeem(code)).id_token).sub, bob.user_id);

  // Answered by one user, and another one is signed in when the request goes on.
  const second = await ask();
  assert.match((await browser.post('/signin/account', { request: second, user: bob.user_id })).location, /continue/);
  assert.equal((await ann.with({ browser }).signIn()).status, 303);
  waitsAt('/signin/account', await goOn(second));
  await browser.post('/signout');
  assert.match((await browser.post('/signin/account', { request: second, user: ann.user_id })).location, /continue/);
  waitsAt('/signin', await goOn(second));
});

testSignet('a client that is not approved', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const owner = user;
  const stop = (client: RegisteredClient) =>
    suspendClient(signet.deps, { ...client, caller: cli }, 'abuse was reported');

  async function assertNoCode(client: RegisteredClient, error = 'unauthorized_client') {
    const answer = await user.browser.get(client.authorizePath(), { accept: 'application/json' });
    assertRefused(answer, 400, error);
    assert.equal(answer.location, '');
    return answer;
  }

  const readInGerman = async (client: RegisteredClient) => {
    const page = await user.browser.get(client.authorizePath(), { accept: 'text/html', 'accept-language': 'de' });
    assert.equal(page.status, 400);
    const [forUsers = '', forDevelopers = ''] = page.text.split('id="for-developer"');
    assert.doesNotMatch(forUsers, /This client/);
    assert.match(forDevelopers, /<dd lang="en">This client/);
    return forUsers;
  };

  await t.test('AZ-18: gets no code while its review is pending, and its users see why', async () => {
    const client = await signet.registerClient({ owner, approved: false });
    await assertNoCode(client);
    const page = await readInGerman(client);
    assert.match(page, sentence('authorize.pending_review', {}, 'de'));
    assert.doesNotMatch(page, /Test product/, 'that name has not been reviewed');
  });

  await t.test('AZ-18: gets no tokens for a code from before its suspension, nor new ones', async () => {
    const client = await signet.registerClient({ owner });
    const code = await user.authorize(client);
    const tokens = await user.obtainTokens(client);
    const waiting = await signet.newUser();
    const request = waitsAt('/signin', await waiting.browser.get(client.authorizePath()));
    await stop(client);
    assert.match((await assertNoCode(client)).text, /This client is suspended, so it cannot start a sign-in\./);
    assert.match(await readInGerman(client), sentence('authorize.suspended', { client: 'Test product' }, 'de'));
    assertRefused(await client.redeem(code), 401, 'invalid_client');
    assertRefused(await client.refresh(tokens.refresh_token), 401, 'invalid_client');
    const late = await waiting.signIn({ request });
    const answer = await waiting.browser.get(late.location);
    assert.equal(answer.status, 400);
    assert.equal(answer.location, '');

    await reinstateClient(signet.deps, { ...client, caller: cli });
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
    assert.deepEqual((await client.introspect(tokens.access_token)).json, { active: false });
    tokensOf(await client.redeem(await user.authorize(client)));
  });

  await t.test('AZ-18: gets nothing either from a node that has not heard of the suspension yet', async () => {
    const client = await signet.registerClient({ owner });
    const node: Signet = await startSignet(t, { beside: signet });
    const code = await user.authorize(client);
    const tokens = tokensOf(await client.at(node).redeem(await user.authorize(client)));
    await stop(client); // the other node's copy of the client is fresh for as long as the clock stands still
    assertRefused(await client.at(node).redeem(code), 400, 'invalid_grant');
    assertRefused(await client.at(node).refresh(tokens.refresh_token), 400, 'invalid_grant');
    assert.deepEqual((await client.at(node).introspect(tokens.access_token)).json, { active: false });
    const cookie = [...user.browser.cookies].map((pair) => pair.join('=')).join('; ');
    const ask = () => fetch(node.url + client.authorizePath(), { headers: { cookie }, redirect: 'manual' });
    assert.doesNotMatch((await ask()).headers.get('location') ?? '', /code=/);
    signet.clock.advance(1);
    assert.equal((await ask()).status, 400);
    assertRefused(await client.at(node).redeem(code), 401, 'invalid_client');
  });

  await t.test('AZ-18: is unknown once it is deleted', async () => {
    const client = await signet.registerClient({ owner });
    const code = await user.authorize(client);
    const tokens = await user.obtainTokens(client);
    await deleteClient(signet.deps, { client_id: client.client_id, caller: cli });
    await assertNoCode(client, 'invalid_request');
    assertRefused(await client.redeem(code), 401, 'invalid_client');
    assertRefused(await client.refresh(tokens.refresh_token), 401, 'invalid_client');
  });

  await t.test('AZ-18: receives nothing from a consent page', async () => {
    const client = await signet.registerClient({ consent: 'required' });
    const request = waitsAt('/consent', await user.browser.get(client.authorizePath()));
    await stop(client);
    for (const decision of ['deny', 'allow']) {
      const decided = await user.browser.post('/consent', { request, user: user.user_id, decision });
      const answer = decided.status === 303 ? await user.browser.get(decided.location) : decided;
      assert.equal(answer.status, 400, decision);
      assert.equal(answer.location, '');
    }
  });
});

testSignet('the authorization code flow, from the sign-in page to tokens that work', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.newUser();

  const first = await user.browser.get(client.authorizePath());
  assert.equal(first.status, 302);
  const signInPath = first.location;
  assert.match(signInPath, /^\/signin\?request=/);
  assert.equal((await user.browser.get(signInPath)).status, 200);
  const request = new URL(signInPath, signet.url).searchParams.get('request') ?? '';
  const signedIn = await user.signIn({ request });
  assert.equal(signedIn.status, 303);
  const back = redirectedTo(await user.browser.get(signedIn.location));
  assert.equal(back.base, 'https://rp.test/cb');
  assert.equal(back.get('state'), 's1');
  assert.equal(back.get('iss'), signet.url);

  const tokens = tokensOf(await client.redeem(back.get('code') ?? ''));
  assert.equal(tokens.expires_in, 3600);
  assert.deepEqual((await signet.userinfo(tokens.access_token)).json, { sub: user.user_id });
  assert.equal((await client.introspect(tokens.access_token)).json?.active, true);
  const next = tokensOf(await client.refresh(tokens.refresh_token));
  assert.notEqual(next.refresh_token, tokens.refresh_token);
});

/** The id of the request that waits for this user's browser. */
async function waitingRequest(user: TestUser, client: RegisteredClient, changes: Record<string, string> = {}) {
  const answer = await user.browser.get(client.authorizePath(changes));
  return redirectedTo(answer).get('request') ?? assert.fail(`nothing waits: ${answer.location}`);
}

const goOn = (user: TestUser, request: string) =>
  user.browser.get(`/oauth/authorize/continue?request=${request}`, { accept: 'application/json' });

testSignet('FL-01: an authorization request continues only in the browser that began it', async ({ signet }) => {
  const client = await signet.registerClient();
  const [victim, attacker] = [await signet.newUser(), await signet.newUser()];
  const request = await waitingRequest(victim, client);
  await waitingRequest(attacker, client);
  assert.ok(attacker.browser.cookies.has('signet_browser'));
  assert.equal((await attacker.signIn({ request })).status, 400);
  assert.equal((await attacker.signIn()).status, 303);
  assertRefused(await goOn(attacker, request), 400, 'invalid_request');
});

testSignet('id_token_hint: the user who signs in must be the one that it names', async ({ signet }) => {
  const client = await signet.registerClient();
  const [meant, other] = [await signet.signedInUser(), await signet.newUser()];
  const { id_token: id_token_hint } = await meant.obtainTokens(client);
  const request = await waitingRequest(other, client, { id_token_hint });
  assert.equal((await other.signIn({ request })).status, 303);
  assert.equal(redirectedTo(await goOn(other, request)).get('error'), 'login_required');
});

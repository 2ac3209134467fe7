import assert from 'node:assert/strict';
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { asserted, assertionOf, keySetOf, newKeyPair } from '../support/client-keys.ts';
import { sentence } from '../support/messages.ts';
import { assertRefused, type Fields, type RegisteredClient, redirectedTo, tokensOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { until } from '../support/until.ts';

/** The canonical authorization request, as a form. */
const requestOf = (client: RegisteredClient, changes: Fields = {}): Fields =>
  Object.fromEntries(new URLSearchParams(client.authorizePath(changes).split('?')[1]));

async function pushed(client: RegisteredClient, changes: Fields = {}): Promise<string> {
  const answer = await client.post('/oauth/par', requestOf(client, changes));
  assert.equal(answer.status, 201, answer.text);
  return String(answer.json?.request_uri);
}

const pathOf = (client: RegisteredClient, request_uri: string, more = '') =>
  `/oauth/authorize?client_id=${client.client_id}&request_uri=${encodeURIComponent(request_uri)}${more}`;

/** A page, and never a redirect. */
async function assertOver(user: TestUser, path: string) {
  const answer = await user.browser.get(path);
  assert.deepEqual([answer.status, answer.location], [400, ''], answer.text.slice(0, 300));
  assert.match(answer.text, sentence('authorize.pushed_over'));
}

testSignet('PA-01: a pushed request begins a sign-in in which nothing else of the URL counts', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const answer = await client.post('/oauth/par', requestOf(client, { state: 'pushed', nonce: 'pushed' }));
  assert.deepEqual([answer.status, answer.json?.expires_in], [201, 60]);
  assert.match(String(answer.json?.request_uri), /^urn:ietf:params:oauth:request_uri:par_[\w-]{22}\.[\w-]{43}$/);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  const path = pathOf(
    client,
    String(answer.json?.request_uri),
    '&state=url&nonce=url&scope=email&redirect_uri=https%3A%2F%2Fevil.test',
  );
  const outcome = redirectedTo(await user.browser.get(path));
  assert.deepEqual([outcome.base, outcome.get('state')], ['https://rp.test/cb', 'pushed']);
  const tokens = tokensOf(await client.redeem(outcome.get('code') ?? ''));
  assert.equal(tokens.scope, 'openid offline_access');
  const posted = await signet.postForm('/oauth/authorize', {
    client_id: client.client_id,
    request_uri: await pushed(client),
  });
  assert.equal(posted.status, 303);
  assert.ok(redirectedTo(await user.browser.get(posted.location ?? '')).get('code'));
});

testSignet(
  'PA-02: what the authorization endpoint would refuse is refused as JSON, and nothing is kept',
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner });
    const wrong: [Fields, string][] = [
      [{ redirect_uri: undefined }, 'invalid_request'],
      [{ redirect_uri: 'https://evil.test/cb' }, 'invalid_request'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ response_type: undefined }, 'invalid_request'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ request_uri: 'urn:ietf:params:oauth:request_uri:x' }, 'request_uri_not_supported'],
      [{ request: 'e30.e30.x' }, 'invalid_request_object'],
      [{ scope: 'unknown' }, 'invalid_scope'],
      [{ resource: 'https://unknown.test' }, 'invalid_target'],
      [{ prompt: 'none login' }, 'invalid_request'],
    ];
    for (const [changes, error] of wrong) {
      const fields = { ...requestOf(client), ...changes };
      assertRefused(await client.post('/oauth/par', fields), 400, error);
    }
    assertRefused(
      await client.with({ client_secret: 'wrong' }).post('/oauth/par', requestOf(client)),
      401,
      'invalid_client',
    );
    assertRefused(await signet.postForm('/oauth/par', requestOf(client)), 401, 'invalid_client');
    assertRefused(await client.post('/oauth/par?state=x', requestOf(client)), 400, 'invalid_request');
    const twice = await fetch(`${signet.url}/oauth/par`, {
      method: 'POST',
      body: `${new URLSearchParams(requestOf(client) as Record<string, string>)}&state=again`,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}`,
      },
    });
    assert.equal(twice.status, 400);
    for (const method of ['GET', 'PUT', 'DELETE'])
      assert.equal((await fetch(`${signet.url}/oauth/par`, { method })).status, 405);
  },
);

testSignet('PA-02: what was wrong with a pushed request is in the console, once', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const push = (changes: Fields) => client.post('/oauth/par', { ...requestOf(client), ...changes });
  const wrong = [
    { code_challenge: undefined },
    { scope: 'unknown' },
    { redirect_uri: 'https://rp.test/other' },
    { request: 'e30.e30.x' },
  ];
  for (const changes of wrong) assert.equal((await push(changes)).status, 400);
  assert.equal((await push({ scope: 'openid unknown' })).status, 201);
  type Seen = { code: string; count: number }[];
  let seen: Seen = [];
  await until('the five failures are kept', async () => {
    const { json } = await user.browser.get(`/v1/oauth/clients/${client.client_id}/activity`);
    seen = json?.failures as Seen;
    return seen.length >= 5;
  });
  assert.deepEqual(seen.map(({ code, count }) => `${code} ${count}`).sort(), [
    'invalid_scope 1',
    'pkce 1',
    'redirect_uri_differs 1',
    'request 1',
    'scope_left_out 1',
  ]);
});

testSignet('PA-03: a request_uri is for its client, for a minute, and for one code', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const other = await signet.registerClient({ owner: user });
  const request_uri = await pushed(client);
  await assertOver(user, pathOf(other, request_uri));
  await assertOver(user, pathOf(client, `${request_uri.slice(0, -1)}-`));
  await assertOver(user, `${pathOf(client, request_uri)}&client_id=${client.client_id}`);

  // The page of the sign-in may be loaded twice; after its code nothing comes any more.
  const stranger = await signet.newUser();
  for (let times = 0; times < 2; times += 1)
    assert.match((await stranger.browser.get(pathOf(client, request_uri))).location ?? '', /^\/signin\?request=/);
  assert.ok(redirectedTo(await user.browser.get(pathOf(client, request_uri))).get('code'));
  await assertOver(user, pathOf(client, request_uri));

  const late = await pushed(client);
  const waiting = (await stranger.browser.get(pathOf(client, late))).location ?? '';
  signet.clock.advance(61);
  await assertOver(user, pathOf(client, late));
  const request = new URLSearchParams(waiting.split('?')[1]).get('request') ?? '';
  const signedIn = await stranger.signIn({ request });
  const landed = await stranger.browser.get(signedIn.location ?? '');
  assert.ok(redirectedTo(landed).get('code'), 'a sign-in that has begun goes on');
});

testSignet(
  'PA-04: of two sign-ins with one request_uri, on two nodes at once, one gets a code',
  async ({ signet, t }) => {
    const beside = await startSignet(t, { beside: signet });
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user });
    const request_uri = await pushed(client);
    const cookies = {
      headers: { cookie: [...user.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      redirect: 'manual',
    } as const;
    const answers = await Promise.all(
      [signet, beside, signet, beside].map(({ url }) => fetch(url + pathOf(client, request_uri), cookies)),
    );
    const codes = answers.filter((answer) => answer.headers.get('location')?.includes('code='));
    assert.deepEqual([codes.length, answers.filter(({ status }) => status === 400).length], [1, 3]);
  },
);

testSignet(
  'PA-05: a client that must push is refused without, and one that was suspended since as well',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user, require_pushed_authorization_requests: true });
    const refused = redirectedTo(await user.browser.get(client.authorizePath()));
    assert.deepEqual(
      [refused.get('error'), refused.get('state'), refused.get('code')],
      ['invalid_request', 's1', null],
    );
    assert.ok(redirectedTo(await user.browser.get(pathOf(client, await pushed(client)))).get('code'));
    const request_uri = await pushed(client);
    const admin = await signet.signedInUser({ role: 'admin' });
    const suspended = await admin.browser.postJson(`/v1/admin/clients/${client.client_id}/suspend`, {
      reason: 'A test.',
    });
    assert.equal(suspended.status, 200, suspended.text);
    const answer = await user.browser.get(pathOf(client, request_uri));
    assert.deepEqual([answer.status, answer.location], [400, '']);
  },
);

testSignet(
  'PA-06: the public client of anyone pushes within the limit of its address',
  { env: { SIGNET_LIMIT_WAITING_REQUESTS: '3', SIGNET_RATE_LIMITS: 'on' } },
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ owner: user, client_type: 'public' });
    for (let times = 0; times < 3; times += 1) await pushed(client);
    assertRefused(await client.post('/oauth/par', requestOf(client)), 429, 'rate_limited');
  },
);

testSignet(
  'RO-01: a request object is taken if its client has signed it for this server and moment',
  async ({ signet }) => {
    const pair = newKeyPair('ES256');
    const user = await signet.signedInUser();
    const method = { token_endpoint_auth_method: 'private_key_jwt', require_signed_request_object: true } as const;
    const client = await signet.registerClient({ owner: user, ...method, jwks: keySetOf(pair) });
    const at = Math.floor(signet.clock() / 1000);
    const claimsOf = (changes: JWTPayload = {}) => ({
      ...requestOf(client, { state: 'signed' }),
      iss: client.client_id,
      aud: signet.url,
      nbf: at,
      exp: at + 300,
      ...changes,
    });
    const sign = (changes?: JWTPayload, typ = 'oauth-authz-req+jwt', key = pair) =>
      new SignJWT(claimsOf(changes)).setProtectedHeader({ alg: 'ES256', kid: key.kid, typ }).sign(key.privateKey);
    const push = async (request: string | undefined, more: Fields = {}) =>
      signet.postForm('/oauth/par', { ...more, request, ...asserted(await assertionOf(signet, client, pair)) });

    const answer = await push(await sign({ claims: { userinfo: { email: null } }, max_age: 600 }), {
      state: 'outside',
      scope: 'email',
    });
    assert.equal(answer.status, 201, answer.text);
    const outcome = redirectedTo(await user.browser.get(pathOf(client, String(answer.json?.request_uri))));
    assert.deepEqual([outcome.get('state'), outcome.get('error')], ['signed', null], 'only what is inside counts');
    for (const accepted of [
      { aud: ['https://other.test', signet.url] },
      { nbf: at + 8 },
      { nbf: at - 3500, exp: at + 60 },
    ])
      assert.equal((await push(await sign(accepted))).status, 201, JSON.stringify(accepted));
    assert.equal((await push(await sign({}, 'JWT'))).status, 201);

    const foreign = newKeyPair('ES256');
    const wrong: [string, string | Promise<string>][] = [
      ['aud', sign({ aud: 'https://other.test' })],
      ['iss', sign({ iss: 'https://other.test' })],
      ['client_id', sign({ client_id: 'cl_other' })],
      ['no exp', sign({ exp: undefined })],
      ['expired', sign({ exp: at - 1 })],
      ['no nbf', sign({ nbf: undefined })],
      ['nbf ahead', sign({ nbf: at + 70, exp: at + 300 })],
      ['exp over 60 minutes', sign({ exp: at + 4200 })],
      ['nbf over 60 minutes', sign({ nbf: at - 4200, exp: at + 60 })],
      ['request_uri inside', sign({ request_uri: 'urn:ietf:params:oauth:request_uri:x' })],
      ['typ', sign({}, 'dpop+jwt')],
      ['a NUL', sign({ nonce: 'a\0b' })],
      ['half a letter', sign({ state: 'a\ud800' })],
      ['another key', sign({}, 'JWT', { ...foreign, kid: pair.kid })],
      ['alg none', new UnsecuredJWT(claimsOf()).encode()],
      ['no JWT', 'x'],
    ];
    for (const [name, request] of wrong)
      assertRefused(
        await push(await request),
        400,
        name === 'no redirect_uri' ? 'invalid_request' : 'invalid_request_object',
      );
    assertRefused(await push(undefined, requestOf(client)), 400, 'invalid_request');
    assertRefused(await push(await sign({ redirect_uri: 'https://evil.test' })), 400, 'invalid_request');
    const through = redirectedTo(await user.browser.get(`${client.authorizePath()}&request=${await sign()}`));
    assert.equal(through.get('error'), 'invalid_request', 'it must push');
  },
);

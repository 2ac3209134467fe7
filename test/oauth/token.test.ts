import assert from 'node:assert/strict';
import { test } from 'node:test';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { newSecret } from '../../src/platform/ids.ts';
import { readAnswer } from '../support/browser.ts';
import { assertRefused, basic, claimsOf, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { startSignet, testSignet } from '../support/signet.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const inactive = { active: false };

testSignet('an authorization code', async ({ signet, t }) => {
  const user = await signet.signedInUser();
  const owner = user;
  const redirect_uris = ['https://rp.test/cb', 'https://rp.test/other'];
  const client = await signet.registerClient({ owner, redirect_uris });
  const other = await signet.registerClient({ owner, redirect_uris });
  const app = await signet.registerClient({ owner, client_type: 'public', redirect_uris });
  const otherApp = await signet.registerClient({ owner, client_type: 'public', redirect_uris });
  const isActive = async (token: string) => (await client.introspect(token)).json?.active;

  await t.test('TK-01: is redeemed once; a second valid use ends everything the first one gave', async () => {
    const code = await user.authorize(client);
    const tokens = tokensOf(await client.redeem(code));
    const refreshed = tokensOf(await client.refresh(tokens.refresh_token));
    assertRefused(await client.redeem(code), 400, 'invalid_grant');
    for (const token of [tokens.access_token, refreshed.access_token, refreshed.refresh_token]) {
      assert.deepEqual((await client.introspect(token)).json, inactive);
    }
    assert.equal((await signet.userinfo(refreshed.access_token)).status, 401);
    assertRefused(await client.refresh(refreshed.refresh_token), 400, 'invalid_grant');
  });

  await t.test('TK-02: a second use that is wrong in anything ends nothing', async () => {
    const code = await user.authorize(client);
    const tokens = tokensOf(await client.redeem(code));
    const wrong = [
      client.redeem(code, { code_verifier: 'x'.repeat(43) }),
      client.redeem(code, { redirect_uri: 'https://rp.test/other' }),
      other.redeem(code),
      app.redeem(code),
    ];
    for (const answer of await Promise.all(wrong)) assertRefused(answer, 400, 'invalid_grant');
    assertRefused(await client.with({ client_secret: 'cs_wrong' }).redeem(code), 401, 'invalid_client');
    assert.equal(await isActive(tokens.access_token), true);
    tokensOf(await client.refresh(tokens.refresh_token));
  });

  await t.test('TK-03: belongs to its client', async () => {
    const pairs: [RegisteredClient, RegisteredClient][] = [
      [client, other],
      [app, otherApp],
      [client, app],
      [app, client],
    ];
    for (const [rightful, thief] of pairs) {
      const code = await user.authorize(rightful);
      assertRefused(await thief.redeem(code), 400, 'invalid_grant');
      tokensOf(await rightful.redeem(code)); // the thief's try cost the owner nothing
    }
  });

  await t.test('TK-04: belongs to its redirect_uri and its verifier', async () => {
    const code = await user.authorize(client);
    const wrong = [
      { redirect_uri: 'https://rp.test/other' },
      { redirect_uri: 'https://rp.test/cb/' },
      { code_verifier: 'x'.repeat(43) },
      { code_verifier: 'x'.repeat(128) },
      { code: `${code}A` },
      { code: code.toUpperCase() },
      { code: `${code}=` },
    ];
    for (const changes of wrong) assertRefused(await client.redeem(code, changes), 400, 'invalid_grant');
    const malformed = [
      ...['x'.repeat(42), 'x'.repeat(129), `${'x'.repeat(42)}+`, `${'x'.repeat(42)}ü`, `${'x'.repeat(43)}\n`],
    ].map((code_verifier) => ({ code_verifier }));
    const missing = [{ redirect_uri: undefined }, { redirect_uri: '' }, { code: undefined }, { code: '' }];
    for (const changes of [...malformed, ...missing]) {
      assertRefused(await client.redeem(code, changes), 400, 'invalid_request');
    }
    for (const code_verifier of [undefined, '']) {
      const refused = await client.redeem(code, { code_verifier });
      assertRefused(refused, 400, 'invalid_grant');
      assert.equal(refused.json?.error_description, 'code_verifier is missing.');
    }
    tokensOf(await client.redeem(code));
  });

  await t.test('TK-05: lives for 60 seconds', async () => {
    const inTime = await user.authorize(client);
    signet.clock.advance(59);
    tokensOf(await client.redeem(inTime));
    const [late, seen] = [await user.authorize(client), await user.authorize(client)];
    signet.clock.advance(60);
    assertRefused(await client.redeem(late), 400, 'invalid_grant');
    assertRefused(await other.redeem(seen), 400, 'invalid_grant');
    assertRefused(await client.redeem(seen), 400, 'invalid_grant');
    signet.clock.advance(-60);
    const replayed = await user.authorize(client);
    const tokens = tokensOf(await client.redeem(replayed));
    signet.clock.advance(61);
    assertRefused(await client.redeem(replayed), 400, 'invalid_grant');
    assert.equal(await isActive(tokens.access_token), false, 'a replay is a replay also after the minute');
  });

  await t.test('TK-12: is worth nothing once its user is disabled, nor is a refresh token', async () => {
    const leaving = await signet.signedInUser();
    const code = await leaving.authorize(client);
    const tokens = await leaving.obtainTokens(client);
    const untouched = await user.obtainTokens(client);
    await disableUser(signet.deps, { actor: 'cli' }, leaving.user_id, 'left');
    const assertDead = async () => {
      assertRefused(await client.redeem(code), 400, 'invalid_grant');
      assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
      assert.equal((await signet.userinfo(tokens.access_token)).status, 401);
      assert.equal(await isActive(tokens.access_token), false);
      assert.equal((await leaving.browser.get('/v1/me')).status, 401);
    };
    await assertDead();
    await enableUser(signet.deps, { actor: 'cli' }, leaving.user_id);
    await assertDead(); // what was ended stays ended
    tokensOf(await client.refresh(untouched.refresh_token));
  });
});

test('the token endpoint (OAuth 2.1 §3.2)', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const authorization = basic(client.client_id, client.client_secret ?? '');
  const send = async (init: RequestInit, path = '/oauth/token') =>
    readAnswer(await fetch(signet.url + path, { method: 'POST', ...init }));
  const fieldsFor = (code: string) => ({
    grant_type: 'authorization_code',
    code,
    redirect_uri: client.redirect_uri,
    code_verifier: 'dBjftJeZ4CVP-mBr0q8Yk3nM1oPz7sXwUaEcHgLiTvK',
    client_id: client.client_id,
  });

  await t.test('TK-06: takes a form by POST, and nothing from the URL', async () => {
    const code = await user.authorize(client);
    const fields = fieldsFor(code);
    const query = new URLSearchParams(fields).toString();
    const headers = { authorization };
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const answer = await send({ method, headers }, `/oauth/token?${query}`);
      assertRefused(answer, 405, 'method_not_allowed');
      assert.equal(answer.headers.get('allow'), 'POST');
    }
    const multipart = new FormData();
    for (const [name, value] of Object.entries(fields)) multipart.set(name, value);
    const wrong = [
      send({ headers: { ...headers, ...form } }, `/oauth/token?${query}`),
      send({ headers: { ...headers, ...form }, body: query }, `/oauth/token?code=${code}`),
      send({ headers: form, body: query }, `/oauth/token?client_secret=${client.client_secret}`),
      send({ headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(fields) }),
      send({ headers: { ...headers, 'content-type': 'text/plain' }, body: query }),
      send({ headers: { ...headers, 'content-type': '' }, body: query }),
      send({ headers, body: multipart }),
      send({ headers: { ...headers, ...form } }),
      send({ headers }),
    ];
    for (const answer of await Promise.all(wrong)) assertRefused(answer, 400, 'invalid_request');
    tokensOf(await send({ headers: { ...headers, ...form }, body: query })); // none of it used the code up
  });

  await t.test('TK-07: takes each parameter once, and no arrays', async () => {
    const code = await user.authorize(client);
    const fields = fieldsFor(code);
    const body = new URLSearchParams(fields).toString();
    const headers = { authorization, ...form };
    const { code: _, ...withoutCode } = fields;
    const rest = new URLSearchParams(withoutCode).toString();
    const bodies = [
      ...Object.entries(fields).map(([name, value]) => `${body}&${name}=${encodeURIComponent(value)}`),
      ...['grant_type=', 'code', 'refresh_token=1&refresh_token=1', '%63ode=x'].map((more) => `${body}&${more}`),
      ...[`code[]=${code}`, `code%5B%5D=${code}`, `code[a]=${code}`, `code.a=${code}`].map((more) => `${rest}&${more}`),
      `${body}&${Array.from({ length: 100 }, (_, index) => `p${index}=1`).join('&')}`,
      `${body}&x=%`,
      `${body}&x=%ff`,
      `${body}&x=%00`,
    ];
    for (const text of bodies) assertRefused(await send({ headers, body: text }), 400, 'invalid_request');
    assertRefused(await send({ headers, body: `${body}&scope=openid&scope=openid` }), 400, 'invalid_scope');
    const unknown = 'foo=1&foo=2&audience=https%3A%2F%2Fa.test&audience=https%3A%2F%2Fb.test';
    tokensOf(await send({ headers, body: `${body}&${unknown}` })); // and what it does not know it ignores, however often
  });

  await t.test('TK-08: knows two grants', async () => {
    const code = await user.authorize(client);
    const tokens = await user.obtainTokens(client);
    const grants = [
      'password',
      'implicit',
      'client_credentials',
      'authorization_code ',
      ' refresh_token',
      'Refresh_Token',
    ];
    const urns = ['device_code', 'token-exchange', 'jwt-bearer'].map(
      (name) => `urn:ietf:params:oauth:grant-type:${name}`,
    );
    for (const grant_type of [...grants, ...urns, '__proto__', 'constructor']) {
      const more = { username: user.email, password: user.password, refresh_token: tokens.refresh_token };
      assertRefused(await client.redeem(code, { ...more, grant_type }), 400, 'unsupported_grant_type');
    }
    for (const grant_type of [undefined, '']) {
      assertRefused(await client.redeem(code, { grant_type }), 400, 'invalid_request');
    }
    tokensOf(await client.redeem(code));
    tokensOf(await client.refresh(tokens.refresh_token));
  });

  await t.test('TK-09: nothing that carries a token or a credential is kept by a cache, errors included', async () => {
    const tokens = await user.obtainTokens(client);
    const registration = { name: 'Another', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'] };
    const atToken = [
      await client.refresh(tokens.refresh_token),
      await client.refresh('rt_wrong'),
      await client.with({ client_secret: 'wrong' }).refresh(tokens.refresh_token),
      await send({ headers: { 'content-type': 'text/plain' }, body: '' }),
      await send({ headers: form, body: 'x'.repeat(70_000) }),
    ];
    assert.equal(atToken[0]?.headers.get('pragma'), 'no-cache');
    const answers = [
      ...atToken,
      await send({ method: 'GET' }),
      await client.introspect(tokens.access_token),
      await client.with({ client_secret: 'wrong' }).introspect(tokens.access_token),
      await client.post('/oauth/revoke', { token: 'unknown' }),
      await signet.userinfo(tokens.access_token),
      await signet.userinfo('wrong'),
      await send({ method: 'GET' }, '/oauth/userinfo'),
      await user.browser.postJson('/v1/oauth/clients', registration),
      await user.browser.postJson('/v1/oauth/clients', {}),
      await user.browser.get('/v1/oauth/clients'),
      await user.browser.get('/v1/me'),
      await send({ method: 'GET' }, '/v1/me'),
      await send({ method: 'GET' }, '/v1/nothing'),
    ];
    for (const [index, { headers, status, text }] of answers.entries()) {
      assert.equal(headers.get('cache-control'), 'no-store', `${index}: ${status} ${text}`);
    }
  });

  await t.test('TK-10: an error is plain ASCII and repeats nothing of what was sent', async () => {
    const canary = 'canary"\\<ü>7391';
    const fields = { ...fieldsFor(canary), refresh_token: canary, scope: canary, token: canary };
    const names = Object.keys(fields);
    const answers = await Promise.all([
      ...names.map((name) => client.post('/oauth/token', { ...fields, [name]: canary })),
      client.refresh(canary),
      client.refresh((await user.obtainTokens(client)).refresh_token, { scope: canary }),
      signet.postForm('/oauth/introspect', fields),
      client.with({ client_secret: canary }).post('/oauth/revoke', fields),
    ]);
    for (const { text, status, json } of answers) {
      assert.ok(status === 400 || status === 401, text);
      assert.match(String(json?.error), /^[a-z_]+$/);
      assert.match(String(json?.error_description), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
      assert.doesNotMatch(text, /canary|7391/);
    }
  });

  await t.test('TK-11: what opens something is 256 random bits', async () => {
    const code = await user.authorize(client);
    const { refresh_token } = tokensOf(await client.redeem(code));
    assert.match(code, /^ac_[\w-]{43}$/);
    assert.match(client.client_secret ?? '', /^cs_[\w-]{43}$/);
    assert.match(user.browser.cookies.get('signet_identity_session') ?? '', /^st_[\w-]{43}$/);
    assert.equal(Buffer.from(refresh_token.slice(3), 'base64url').length, 16 + 4 + 32); // the last 32 are a MAC

    const samples = 100_000;
    const seen = new Set<string>();
    const counts = new Float64Array(256);
    for (let index = 0; index < samples; index += 1) {
      const secret = newSecret();
      seen.add(secret);
      for (const byte of Buffer.from(secret, 'base64url')) counts[byte]! += 1;
    }
    assert.equal(seen.size, samples);
    const expected = (samples * 32) / 256;
    const chiSquare = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // 255 degrees of freedom: mean 255, standard deviation 22.6. Eight of those do not happen.
    assert.ok(chiSquare > 75 && chiSquare < 436, `chi-square ${chiSquare}`);
  });

  await t.test('TK-13: a refresh token comes with offline_access, an id token with openid, scope always', async () => {
    for (const scope of ['openid offline_access', 'openid email', 'email offline_access', 'profile email']) {
      const tokens = await user.obtainTokens(client, { scope });
      assert.equal(tokens.scope, scope);
      assert.equal(claimsOf(tokens.access_token).scope, scope);
      assert.equal('refresh_token' in tokens, scope.includes('offline_access'), scope);
      assert.equal('id_token' in tokens, scope.includes('openid'), scope);
      assert.deepEqual([tokens.token_type, tokens.expires_in], ['Bearer', 3600]);
    }
  });
});

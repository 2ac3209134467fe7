import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { disableUser, enableUser } from '../../src/admin/users/administer-user.ts';
import { newBrowser } from '../support/browser.ts';
import { assertRefused } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const name = 'signet_identity_session';
const day = 86_400;

const cookieOf = (user: TestUser) => user.browser.cookies.get(name) ?? assert.fail('no session cookie');
/** Another browser that holds this cookie value. */
const holding = (signet: Signet, value: string) => {
  const browser = signet.newBrowser();
  browser.cookies.set(name, value);
  return browser;
};
const statusWith = async (signet: Signet, value: string) => (await holding(signet, value).get('/v1/me')).status;

testSignet('sessions', async ({ signet, t }) => {
  const client = await signet.registerClient();

  await t.test('SS-01: a session is 256 random bits, and every sign-in gets new ones', async () => {
    const user = await signet.newUser();
    const values = new Set<string>();
    for (let times = 0; times < 4; times += 1) {
      const previous = user.browser.cookies.get(name);
      assert.equal((await user.signIn()).status, 303);
      const value = cookieOf(user);
      assert.match(value, /^st_[\w-]{43}$/);
      assert.ok(!values.has(value));
      values.add(value);
      if (previous !== undefined) assert.equal(await statusWith(signet, previous), 401, 'the old value still opens');
    }
  });

  await t.test('SS-01: a planted cookie is never taken over', async () => {
    const planted = `st_${'A'.repeat(43)}`;
    const user = await signet.newUser();
    user.browser.cookies.set(name, planted);
    await user.signIn();
    assert.notEqual(cookieOf(user), planted);
    assert.equal(await statusWith(signet, planted), 401);
  });

  await t.test(
    'SS-01: an attacker who plants a session of their own loses it, and its grants, to the sign-in',
    async () => {
      const attacker = await signet.signedInUser();
      const tokens = await attacker.obtainTokens(client);
      const planted = cookieOf(attacker);
      const victim = await signet.newUser();
      victim.browser.cookies.set(name, planted);
      await victim.signIn();
      assert.equal((await victim.browser.get('/v1/me')).json?.user_id, victim.user_id);
      assert.equal(await statusWith(signet, planted), 401);
      assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
    },
  );

  await t.test('SS-01: after a sign-out the cookie is worth nothing, and neither are the grants', async () => {
    const user = await signet.signedInUser();
    const tokens = await user.obtainTokens(client);
    const value = cookieOf(user);
    const answer = await user.browser.post('/signout');
    assert.match(answer.headers.getSetCookie()[0] ?? '', /^signet_identity_session=;.*Max-Age=0/i);
    assert.ok(!user.browser.cookies.has(name));
    assert.equal(await statusWith(signet, value), 401);
    assertRefused(await signet.userinfo(tokens.access_token), 401, 'invalid_token');
    const again = await holding(signet, value).get(client.authorizePath());
    assert.match(again.location, /^\/signin\?/);
  });

  await t.test('SS-01: nothing but the exact value opens a session', async () => {
    const value = cookieOf(await signet.signedInUser());
    const near = [
      value.slice(0, -1),
      `${value}x`,
      `${value}=`,
      value.toLowerCase(),
      value.slice(3),
      `"${value}x"`,
      encodeURIComponent(`${value}\0`),
      '%zz',
      'x'.repeat(5000),
      '',
    ];
    for (const wrong of near) assert.equal(await statusWith(signet, wrong), 401, wrong.slice(0, 60));
    assert.equal(await statusWith(signet, value), 200);
  });

  await t.test(
    'SS-02: three idle days end a session on the server, use prolongs it, fourteen days end it for good',
    async () => {
      const idle = await signet.signedInUser();
      signet.clock.advance(3 * day - 1);
      const active = await signet.signedInUser();
      assert.equal((await idle.browser.get('/v1/me')).status, 200); // and so three days more
      signet.clock.advance(3 * day - 1);
      assert.equal((await idle.browser.get('/v1/me')).status, 200);
      signet.clock.advance(3 * day);
      assertRefused(await idle.browser.get('/v1/me'), 401, 'login_required');
      assertRefused(await active.browser.get('/v1/me'), 401, 'login_required');

      await active.signIn();
      for (let past = 0; past < 13; past += 1) {
        signet.clock.advance(day);
        assert.equal((await active.browser.get('/v1/me')).status, 200, `day ${past + 1}`);
      }
      signet.clock.advance(day - 1);
      assert.equal((await active.browser.get('/v1/me')).status, 200);
      signet.clock.advance(1);
      assertRefused(await active.browser.get('/v1/me'), 401, 'login_required');
      const onward = await active.browser.get(client.authorizePath());
      assert.match(onward.location, /^\/signin\?/);
    },
  );

  await t.test('SS-02: a session that goes on under a new secret ends when it would have ended', async () => {
    const user = await signet.signedInUser();
    signet.clock.advance(600);
    const renewals = [
      () => user.browser.postJson('/v1/me/password', { password: 'quite other words in a row' }),
      () => user.browser.post('/account/security/password', { password: 'and once more other words' }),
    ];
    for (const renew of renewals) {
      const before = cookieOf(user);
      const answer = await renew();
      assert.ok(answer.status < 400, answer.text);
      assert.notEqual(cookieOf(user), before);
      const [line = ''] = answer.headers.getSetCookie().filter((one) => one.startsWith(`${name}=`));
      assert.match(line, new RegExp(`Max-Age=${14 * day - 600}(;|$)`, 'i'));
    }
  });

  await t.test(
    'SS-05: disabling a user ends every session and grant on every node, and enabling brings none back',
    async (t) => {
      const beside = await startSignet(t, { beside: signet });
      const user = await signet.signedInUser();
      const phone: TestUser = user.elsewhere();
      await phone.signIn();
      const tokens = await user.obtainTokens(client);
      const values = [cookieOf(user), cookieOf(phone)];
      const seen = () =>
        Promise.all([signet, beside].flatMap((node) => values.map((value) => statusWith(node, value))));
      assert.deepEqual(await seen(), [200, 200, 200, 200]);
      await disableUser(signet.deps, { actor: 'cli' }, user.user_id);
      assert.deepEqual(await seen(), [401, 401, 401, 401]);
      assert.equal((await user.signIn()).status, 401);
      await enableUser(signet.deps, { actor: 'cli' }, user.user_id);
      assert.deepEqual(await seen(), [401, 401, 401, 401]);
      assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
      assert.equal((await user.signIn()).status, 303);
    },
  );

  await t.test('SS-04: a write that a cookie allows comes from our own pages or is refused', async () => {
    const user = await signet.signedInUser();
    const own = await signet.registerClient({ owner: user });
    const invitation = new URL((await inviteAdministrator(signet.deps, 'cli')).url).pathname;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const json = { 'content-type': 'application/json' };
    const registration = JSON.stringify({ name: 'x', client_type: 'public', redirect_uris: ['https://rp.test/cb'] });
    const writes: [string, string, Record<string, string>, string | undefined][] = [
      ['POST', '/signin', form, String(new URLSearchParams({ username: user.email, password: user.password }))],
      ['POST', '/signin/account', form, 'request=ar_x'],
      ['POST', '/oauth/authorize/cancel', form, 'request=ar_x'],
      ['POST', '/consent', form, 'request=ar_x&decision=allow'],
      ['POST', invitation, form, 'email=a%40b.test&name=x&password=four+unrelated+words+here'],
      ['POST', '/v1/oauth/clients', json, registration],
      ['POST', '/v1/oauth/clients', form, 'name=x'],
      ['PATCH', `/v1/oauth/clients/${own.client_id}`, json, '{"name":"Other"}'],
      ['DELETE', `/v1/oauth/clients/${own.client_id}`, {}, undefined],
      ['POST', '/signout', {}, undefined],
    ];
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.test' },
      { origin: 'null' },
      { origin: `${signet.url}.evil.test` },
      { origin: signet.url.replace('http:', 'https:') },
      { origin: signet.url.replace(/\d+$/, '1') },
      { origin: 'https://evil.test', 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
    ];
    for (const [method, path, headers, body] of writes) {
      for (const origin of foreign) {
        const answer = await user.browser.send(path, {
          method,
          body,
          headers: { ...headers, ...origin, accept: 'application/json' },
        });
        assertRefused(answer, 403, 'access_denied');
        assert.deepEqual(answer.headers.getSetCookie(), [], path);
      }
    }
    assert.equal((await user.browser.get('/v1/me')).status, 200); // none of them signed anybody out
    assert.equal((await user.browser.get(`/v1/oauth/clients/${own.client_id}`)).json?.name, 'Test product');
  });

  await t.test('SS-04: our own pages may write, and so may a program that is no browser', async () => {
    const ours: Record<string, string>[] = [
      {},
      { origin: signet.url },
      { 'sec-fetch-site': 'same-origin' },
      { origin: signet.url, 'sec-fetch-site': 'same-origin' },
    ];
    for (const headers of ours) {
      const user = await signet.signedInUser();
      const answer = await user.browser.send('/signout', { method: 'POST', headers });
      assert.equal(answer.status, 303, JSON.stringify(headers));
      assertRefused(await user.browser.get('/v1/me'), 401, 'login_required');
    }
  });

  await t.test('SS-04: a GET changes nothing', async () => {
    const user = await signet.signedInUser();
    for (const path of ['/signout', '/signin?username=x&password=y', '/consent?decision=allow', '/v1/oauth/clients']) {
      await user.browser.get(path);
    }
    assert.equal((await user.browser.get('/v1/me')).status, 200);
  });
});

/** The attributes of every cookie that a sign-in on the way to a client sets. */
async function cookiesOfSignIn(signet: Signet): Promise<Map<string, string[]>> {
  const user = await signet.newUser();
  const browser = newBrowser(`http://localhost:${signet.deps.config.port}`);
  const lines: string[] = [];
  const first = await browser.get((await registerElsewhere(signet)).authorizePath());
  const fields = { username: user.email, password: user.password };
  const second = await browser.post('/signin', fields, { origin: signet.url });
  assert.equal(second.status, 303);
  for (const answer of [first, second]) lines.push(...answer.headers.getSetCookie());
  return new Map(
    lines.map((line) => {
      const [pair = '', ...attributes] = line.split(/; ?/);
      return [pair.split('=')[0]!, attributes.map((attribute) => attribute.toLowerCase()).sort()];
    }),
  );
}

/** A client, registered by a user in another browser. */
async function registerElsewhere(signet: Signet) {
  const owner = await signet.newUser();
  const browser = newBrowser(`http://localhost:${signet.deps.config.port}`);
  await browser.post('/signin', { username: owner.email, password: owner.password }, { origin: signet.url });
  const headers = { origin: signet.url };
  const postJson: typeof browser.postJson = (path, body) => browser.postJson(path, body, headers);
  return signet.registerClient({ owner: owner.with({ browser: { ...browser, postJson } }) });
}

test('SS-03: on https the cookies are Secure, HttpOnly, Lax, host-only and named so that browsers hold them to it', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_BASE_URL: 'https://id.example.com' } });
  const cookies = await cookiesOfSignIn(signet);
  assert.deepEqual([...cookies.keys()].sort(), [
    '__Host-signet_browser',
    '__Host-signet_device',
    '__Host-signet_identity_session',
    '__Host-signet_last_way',
  ]);
  for (const attributes of cookies.values()) {
    assert.deepEqual(
      attributes.filter((one) => !one.startsWith('max-age=')),
      ['httponly', 'path=/', 'samesite=lax', 'secure'],
    );
  }
  const page = await fetch(`http://localhost:${signet.deps.config.port}/signin`);
  assert.match(page.headers.get('strict-transport-security') ?? '', /^max-age=\d{8}/);
});

test('SS-03: on http, which is loopback only, they are all that without Secure', async (t) => {
  const cookies = await cookiesOfSignIn(await startSignet(t));
  assert.deepEqual([...cookies.keys()].sort(), [
    'signet_browser',
    'signet_device',
    'signet_identity_session',
    'signet_last_way',
  ]);
  for (const attributes of cookies.values()) {
    assert.deepEqual(
      attributes.filter((one) => !one.startsWith('max-age=')),
      ['httponly', 'path=/', 'samesite=lax'],
    );
  }
});

test('SS-03: the operator names the cookie, and the name is all that changes', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_COOKIE_PREFIX: 'acme' } });
  const user = await signet.newUser();
  const answer = await user.signIn();
  assert.match(answer.headers.getSetCookie().join('\n'), /^acme_identity_session=st_/m);
  assert.ok(answer.headers.getSetCookie().every((cookie) => cookie.startsWith('acme_')));
  assert.equal((await user.browser.get('/v1/me')).status, 200);
});

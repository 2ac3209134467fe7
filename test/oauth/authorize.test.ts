import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Answer } from '../support/browser.ts';
import { pattern, sentence } from '../support/messages.ts';
import { assertRefused, challengeOf, claimsOf, type Fields, redirectedTo, verifier } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

const asJson = { accept: 'application/json' };

/** A refusal without a redirect. */
function assertStays(answer: Answer, what: string): void {
  assert.equal(answer.status, 400, `${what}: ${answer.status} ${answer.location}`);
  assert.equal(answer.location, '', what);
}

test('the authorization request (OAuth 2.1 §4.1.1, OpenID Connect Core §3.1.2)', async (t) => {
  const signet = await startSignet(t);
  const user = await signet.signedInUser();
  const owner = user;
  const everyScope = ['openid', 'profile', 'email', 'offline_access'];
  const client = await signet.registerClient({
    owner,
    redirect_uris: ['https://rp.test/cb', 'https://rp.test/other?x=1', 'https://xn--bcher-kva.test/caf%C3%A9'],
    allowed_scopes: everyScope,
  });
  const publicClient = await signet.registerClient({
    owner,
    client_type: 'public',
    redirect_uris: ['http://127.0.0.1/cb', 'http://localhost:3000/cb'],
    allowed_scopes: everyScope,
  });
  const modest = await signet.registerClient({ owner, allowed_scopes: ['openid', 'email'] });
  const clients = [client, publicClient];
  type Changes = Fields;
  const ask = (changes: Changes, of = client) => user.browser.get(of.authorizePath(changes));

  /** The refusal that travels to the client: error, state and issuer, and never a code. */
  async function assertTold(error: string, changes: Changes, of = client): Promise<URLSearchParams> {
    const answer = await ask(changes, of);
    const what = JSON.stringify(changes);
    assert.equal(answer.status, 302, `${what}: ${answer.text}`);
    const redirect = redirectedTo(answer);
    assert.equal(redirect.base, of.redirect_uri, what);
    assert.equal(redirect.get('error'), error, what);
    assert.match(redirect.get('error_description') ?? '', /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.equal(redirect.get('iss'), signet.url);
    assert.equal(redirect.get('code'), null);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    return redirect;
  }

  await t.test('AZ-01: a redirect_uri is matched character for character', async () => {
    for (const redirect_uri of ['https://rp.test/cb', 'https://xn--bcher-kva.test/caf%C3%A9']) {
      assert.equal(redirectedTo(await ask({ redirect_uri })).base, redirect_uri);
    }
    const withQuery = await ask({ redirect_uri: 'https://rp.test/other?x=1' });
    assert.match(withQuery.location, /^https:\/\/rp\.test\/other\?x=1&code=/);
    const twins = [
      ...['https://rp.test/cb/', 'https://rp.test/CB', 'HTTPS://rp.test/cb', 'https://RP.test/cb', 'https:rp.test/cb'],
      ...['https://rp.test:443/cb', 'https://rp.test:8443/cb', 'http://rp.test/cb', '//rp.test/cb', '/cb'],
      ...['https://rp.test/cb?x=1', 'https://rp.test/cb?', 'https://rp.test/cb#f', 'https://rp.test/cb#'],
      ...['https://rp.test/%63b', 'https://rp.test/cb%2f', 'https://rp.test/cb/..;/x', 'https://rp.test/cb/../x'],
      ...['https://rp.test/x/../cb', 'https://rp.test/./cb', 'https://rp.test//cb', 'https://rp.test/cb/.'],
      ...['https://rp.test/cb%00', 'https://rp.test/cb\0', 'https://rp.test/cb\0.evil.test'],
      ...[
        'https://rp.test/cb%0d%0a',
        'https://rp.test/cb\r\nset-cookie: a=b',
        'https://rp.test/cb\t',
        'https://rp.test/\tcb',
      ],
      ...[' https://rp.test/cb', 'https://rp.test/cb ', 'https://rp.test', 'https://rp.test/', 'https://rp.test/c'],
      ...['https://rp.test@evil.test/cb', 'https://a@b@evil.test/cb', 'https://rp.test\\@evil.test/cb'],
      ...['https://rp.test.evil.test/cb', 'https://evil.test/https://rp.test/cb', 'https://rp.test./cb'],
      ...['https://rp.test/other', 'https://rp.test/other?x=1&y=2', 'https://rp.test/other?X=1'],
      ...['https://b\u00fccher.test/caf%C3%A9', 'https://bu\u0308cher.test/caf%C3%A9'],
      ...['https://xn--bcher-kva.test/caf%c3%a9', 'https://xn--bcher-kva.test/cafe%CC%81'],
      ...[
        'https://xn--bcher-kva.test/caf\u00e9',
        'javascript:alert(1)',
        'https://rp.test/cb,https://rp.test/other?x=1',
      ],
    ];
    for (const redirect_uri of twins) assertStays(await ask({ redirect_uri }), redirect_uri);
  });

  await t.test('AZ-02: without a known client and a registered redirect_uri there is no redirect', async () => {
    const requests: [string, string][] = [
      ['client_id', client.authorizePath({ client_id: 'cl_nobody' })],
      ['client_id', client.authorizePath({ client_id: `${client.client_id}' or '1'='1` })],
      ['client_id', client.authorizePath({ client_id: undefined })],
      ['client_id', client.authorizePath({ client_id: '' })],
      ['client_id', `${client.authorizePath()}&client_id=${client.client_id}`],
      ['redirect_uri', client.authorizePath({ redirect_uri: undefined })],
      ['redirect_uri', client.authorizePath({ redirect_uri: '' })],
      ['redirect_uri', client.authorizePath({ redirect_uri: 'https://evil.test/cb' })],
      ['redirect_uri', client.authorizePath({ redirect_uri: publicClient.redirect_uri })],
      ['redirect_uri', `${client.authorizePath()}&redirect_uri=https%3A%2F%2Frp.test%2Fcb`],
    ];
    const sent = await user.browser.get(client.authorizePath({ redirect_uri: 'https://evil.test/<cb>' }));
    assert.match(sent.text, /<strong><bdi>evil\.test<\/bdi><\/strong>.*&lt;cb&gt;/s, 'as text');
    for (const [parameter, path] of requests) {
      const page = await user.browser.get(path, { accept: 'text/html' });
      assertStays(page, path);
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
      assert.match(page.text, pattern`<h1>${sentence('error.app_misconfigured')}</h1>`);
      assert.match(page.text, new RegExp(`<details id="for-developer">.*<dd lang="en">${parameter}`, 's'));
      const machine = await user.browser.get(path, asJson);
      assertStays(machine, path);
      assertRefused(machine, 400, 'invalid_request');
      assert.ok(String(machine.json?.error_description).startsWith(parameter), machine.text);
    }
  });

  await t.test('AZ-03: on a loopback IP literal the port is free, and nothing else is', async () => {
    for (const redirect_uri of ['http://127.0.0.1/cb', 'http://127.0.0.1:51004/cb', 'http://localhost:3000/cb']) {
      assert.equal(redirectedTo(await ask({ redirect_uri }, publicClient)).base, redirect_uri);
    }
    const others = [
      ...[
        'http://127.0.0.1:51004/x',
        'http://127.0.0.1:51004/cb/',
        'http://127.0.0.1:51004',
        'https://127.0.0.1:51004/cb',
      ],
      ...['http://127.0.0.1.evil.test/cb', 'http://127.0.0.1:51004@evil.test/cb', 'http://127.0.0.1:x/cb'],
      ...['http://127.1/cb', 'http://0x7f.1/cb', 'http://2130706433/cb', 'http://127.0.0.2/cb', 'http://0.0.0.0/cb'],
      ...['http://[::ffff:127.0.0.1]/cb', 'http://[::1]/cb', 'http://[::1]:51004/cb', 'http://127.0.0.1:65536/cb'],
      ...['http://127.0.0.1:0/cb', 'http://127.0.0.1:080/cb', 'http://127.0.0.1:/cb', 'http://127.0.0.1:-1/cb'],
      ...['http://localhost/cb', 'http://localhost:3001/cb', 'http://localhost:3000/x', 'http://LOCALHOST:3000/cb'],
    ];
    for (const redirect_uri of others) assertStays(await ask({ redirect_uri }, publicClient), redirect_uri);
    assertStays(await ask({ redirect_uri: 'https://rp.test:51004/cb' }), 'a port on a name');
  });

  await t.test('AZ-04: the only response type is code', async () => {
    for (const response_type of ['token', 'id_token', 'code token', 'code id_token', 'none', 'CODE', 'code ']) {
      await assertTold('unsupported_response_type', { response_type });
    }
    await assertTold('invalid_request', { response_type: undefined });
    await assertTold('invalid_request', { response_mode: 'web_message' });
  });

  await t.test('AZ-05: PKCE with S256 is asked of every client; a missing method would mean plain', async () => {
    for (const one of clients) {
      await assertTold('invalid_request', { code_challenge: undefined }, one);
      await assertTold('invalid_request', { code_challenge: undefined, code_challenge_method: undefined }, one);
      for (const code_challenge_method of ['plain', undefined, 's256', 'S512']) {
        await assertTold('invalid_request', { code_challenge_method }, one);
      }
    }
  });

  await t.test('AZ-06: a code_challenge is the base64url of a SHA-256', async () => {
    const whole = challengeOf(verifier);
    const malformed = [whole.slice(1), `${whole}A`, 'A'.repeat(129), `${whole.slice(1)}=`, `${whole}=`];
    const illegal = ['+', '/', '.', '~', ' ', 'ü', '\u{1f511}', '%'].map((character) => character + whole.slice(1));
    const uncanonical = `${whole.slice(0, 42)}B`; // decodes to the same bytes as another
    for (const code_challenge of [...malformed, ...illegal, uncanonical]) {
      await assertTold('invalid_request', { code_challenge });
    }
  });

  await t.test('AZ-07: a parameter comes once', async () => {
    const names = [
      'scope',
      'nonce',
      'code_challenge',
      'response_type',
      'prompt',
      'max_age',
      'request',
      'id_token_hint',
    ];
    for (const name of names) {
      for (const twice of [`${name}=openid&${name}=openid`, `${name}=&${name}=`, `${name}&${name}=1`]) {
        const answer = await user.browser.get(`${client.authorizePath({ [name]: undefined })}&${twice}`);
        const error = name === 'scope' ? 'invalid_scope' : 'invalid_request';
        assert.equal(redirectedTo(answer).get('error'), error, twice);
        assert.equal(redirectedTo(answer).get('state'), 's1');
      }
    }
    const states = redirectedTo(await user.browser.get(`${client.authorizePath()}&state=s2`));
    assert.equal(states.get('error'), 'invalid_request');
    assert.equal(states.get('state'), null, 'which of the two would it be?');
    assertStays(await user.browser.get(`${client.authorizePath()}&client_id=`), 'client_id');
    assertStays(await user.browser.get(`${client.authorizePath()}&%72edirect_uri=https://rp.test/cb`), 'redirect_uri');
  });

  await t.test('AZ-08: an unknown parameter is ignored, and an empty one is a missing one', async () => {
    for (const twice of ['foo=1&foo=2', 'foo&foo', 'audience=https%3A%2F%2Fa.test&audience=https%3A%2F%2Fb.test']) {
      assert.ok(redirectedTo(await user.browser.get(`${client.authorizePath()}&${twice}`)).get('code'), twice);
      const [path, query] = `${client.authorizePath()}&${twice}`.split('?');
      const posted = await user.browser.send(path!, { method: 'POST', body: new URLSearchParams(query) });
      assert.ok(redirectedTo(await user.browser.get(posted.location)).get('code'), `POST ${twice}`);
    }
    for (const changes of [{ foo: '1' }, { prompt: '' }, { max_age: '' }, { login_hint: '' }, { scope: '' }]) {
      assert.ok(redirectedTo(await ask(changes)).get('code'), JSON.stringify(changes));
    }
    assert.equal(redirectedTo(await ask({ state: '' })).has('state'), false);
    assert.equal(redirectedTo(await ask({ state: undefined })).has('state'), false);
    for (const name of ['code_challenge', 'code_challenge_method', 'response_type']) {
      await assertTold('invalid_request', { [name]: '' });
    }
    const tokens = await user.obtainTokens(client, { scope: '' });
    assert.equal(tokens.scope, 'openid email profile', 'in the order of the specification');
  });

  await t.test('AZ-09: state comes back exactly, with the issuer, in success and in error', async () => {
    const { issuer } = (await user.browser.get('/.well-known/openid-configuration')).json ?? {};
    const hostile = '&=%+ü"<>\'#?;\\ \r\n\t\u{1f511}%41';
    for (const state of [hostile, hostile.repeat(64), 'x'.repeat(2000), ' ', '0', '__proto__']) {
      for (const changes of [{ state }, { state, response_type: 'token' }, { state, scope: 'bogus' }]) {
        const answered = redirectedTo(await ask(changes));
        assert.equal(answered.get('state'), state);
        assert.equal(answered.get('iss'), issuer);
        assert.deepEqual(answered.getAll('state').length + answered.getAll('iss').length, 2);
      }
    }
  });

  await t.test('AZ-11: no other origin may read an authorization response', async () => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
      const answer = await user.browser.send(client.authorizePath(), {
        method,
        headers: { origin: 'https://evil.test', 'access-control-request-method': 'GET' },
      });
      const names = [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'));
      assert.deepEqual(names, [], method);
      if (method === 'OPTIONS') assert.equal(answer.status, 405);
    }
  });

  await t.test('AZ-16: request objects are not supported, and nothing is fetched', async () => {
    let hits = 0;
    const canary = createServer((_request, response) => {
      hits += 1;
      response.end();
    }).listen(0, '127.0.0.1');
    t.after(() => canary.close());
    await new Promise((listening) => canary.once('listening', listening));
    const request_uri = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/request`;
    await assertTold('request_not_supported', { request: 'eyJhbGciOiJub25lIn0.e30.' });
    await assertTold('request_uri_not_supported', { request_uri });
    await assertTold('registration_not_supported', { registration: '{}' });
    assertStays(await ask({ request_uri, redirect_uri: undefined }), 'a redirect_uri inside of the object');
    assert.equal(hits, 0);
  });

  await t.test('AZ-17: scope stays within what the client may have', async () => {
    const nothingLeft = ['entitlements:read', 'bogus', 'OPENID', 'openid,email', 'profile offline_access', ' '];
    const malformed = ['openid\temail', 'openid\nemail', 'openid "email"', 'openid \\', 'openid é'];
    for (const scope of [...nothingLeft, ...malformed]) {
      const refused = await assertTold('invalid_scope', { scope }, modest);
      assert.doesNotMatch(refused.get('error_description')!, /bogus|OPENID/, 'input is never echoed');
    }
    assert.match(
      (await assertTold('invalid_scope', { scope: 'x' }, modest)).get('error_description')!,
      /Allowed: openid email\./,
    );
    for (const scope of [
      'openid groups',
      'openid entitlements:read',
      'openid offline_access',
      'profile openid mcp:tools x y',
    ]) {
      const tokens = await user.obtainTokens(modest, { scope });
      assert.deepEqual([tokens.scope, claimsOf(tokens.access_token).scope], ['openid', 'openid'], scope);
      assert.equal(tokens.refresh_token, undefined);
    }
    for (const scope of [' openid email', 'openid email ', 'openid  email', '   openid   email   ']) {
      assert.equal((await user.obtainTokens(modest, { scope })).scope, 'openid email', 'a space too many');
    }
    const omitted = await user.obtainTokens(modest, { scope: undefined });
    assert.equal(omitted.scope, 'openid email', 'the default, cut to what the client may have');
    assert.equal(omitted.refresh_token, undefined);
    const asked = await user.obtainTokens(modest, { scope: 'email openid email' });
    assert.deepEqual(asked.scope.split(' ').toSorted(), ['email', 'openid']);
    assert.equal(claimsOf(asked.access_token).scope, asked.scope);
  });

  await t.test('AZ-20: a nonce is kept exactly, and an absent one stays absent', async () => {
    for (const nonce of ['n'.repeat(64), 'n'.repeat(1000), 'ü"\\<&\u{1f511} \n']) {
      const { id_token } = await user.obtainTokens(client, { nonce });
      assert.equal(claimsOf(id_token).nonce, nonce);
    }
    for (const nonce of [undefined, '']) {
      const { id_token } = await user.obtainTokens(client, { nonce });
      assert.equal('nonce' in claimsOf(id_token), false);
    }
  });

  await t.test('AZ-21: whatever a parameter holds, it is escaped or refused', async () => {
    const names = ['response_type', 'client_id', 'redirect_uri', 'scope', 'state', 'nonce', 'code_challenge'];
    const more = ['code_challenge_method', 'prompt', 'max_age', 'login_hint', 'error', 'ui_locales', 'id_token_hint'];
    const markup = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onfocus='alert(1)", '{{7*7}}'];
    const control = ['\0', 'a\0b', '\r\nset-cookie: a=b', '\u202e\u200b', '__proto__', 'constructor'];
    const stranger = signet.url;
    for (const name of [...names, ...more, 'acr_values', 'display', 'claims_locales']) {
      for (const value of [...markup, ...control]) {
        const answer = await fetch(stranger + client.authorizePath({ [name]: value }), { redirect: 'manual' });
        const what = `${name}=${JSON.stringify(value)}`;
        assert.ok(answer.status === 302 || answer.status === 400, `${what}: ${answer.status}`);
        assert.equal(answer.headers.get('set-cookie')?.includes('a=b') ?? false, false, what);
        if (markup.includes(value)) assert.equal((await answer.text()).includes(value), false, what);
      }
      for (const garbage of ['%', '%zz', '%00', '%ED%A0%80', '%C0%AF', '%FF']) {
        const path = `${client.authorizePath({ [name]: undefined })}&${name}=${garbage}`;
        assertStays(await user.browser.get(path), path);
      }
    }
    const waiting = await fetch(signet.url + client.authorizePath({ login_hint: '"><script>alert(1)</script>' }), {
      redirect: 'manual',
    });
    const cookie = waiting.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await fetch(new URL(waiting.headers.get('location') ?? '', signet.url), { headers: { cookie } });
    const text = await page.text();
    assert.equal(page.status, 200);
    assert.doesNotMatch(text, /<script(?! src="\/assets\/[\w.-]+" defer><\/script>)/);
    assert.ok(text.includes('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"'));
  });
});

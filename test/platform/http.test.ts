import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import { request as httpRequest, type IncomingMessage, METHODS } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { connect, isIP } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { rejectClient } from '../../src/clients/review-client.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { databaseFile } from '../../src/platform/db/open.ts';
import type { Answer } from '../support/browser.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { sendRaw } from '../support/raw-socket.ts';
import { assertRefused } from '../support/relying-party.ts';
import { routesOf } from '../support/routes.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import { until } from '../support/until.ts';

const form = 'application/x-www-form-urlencoded';
const post = (signet: Signet, path: string, body: string, type = form) =>
  signet.newBrowser().send(path, { method: 'POST', body, headers: { 'content-type': type } });

test('the edges of HTTP', async (t) => {
  const signet = await startSignet(t);
  const { port } = signet.deps.config;
  const owner = await signet.signedInUser();
  const host = `Host: localhost:${port}\r\n`;

  await t.test('HT-01: what is too large, too long or too deep is refused with the status that says so', async () => {
    for (const path of ['/oauth/token', '/signin', '/oauth/revoke', '/oauth/authorize']) {
      const answer = await signet.newBrowser().send(path, {
        method: 'POST',
        body: `a=${'x'.repeat(65_536)}`,
        headers: { 'content-type': form, accept: 'application/json' },
      });
      assertRefused(answer, 413, 'content_too_large');
    }
    const registration = (name: string) => owner.browser.postJson('/v1/oauth/clients', { name });
    assertRefused(await registration('x'.repeat(66_000)), 413, 'content_too_large');
    assertRefused(await owner.browser.get(`/v1/me?${'x'.repeat(8_200)}`), 414, 'uri_too_long');
    assertRefused(await post(signet, '/oauth/token', 'a=b&'.repeat(1_000)), 400, 'invalid_request');
    assertRefused(await post(signet, '/oauth/token', 'grant_type=%zz'), 400, 'invalid_request');
    assertRefused(await post(signet, '/oauth/token', 'grant_type=a%00b'), 400, 'invalid_request');
    for (const depth of [64, 20_000]) {
      const deep = `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`;
      const answer = await owner.browser.send('/v1/oauth/clients', {
        method: 'POST',
        body: deep,
        headers: { 'content-type': 'application/json' },
      });
      assertRefused(answer, 400, 'invalid_request');
    }
    for (const body of ['', '{', 'null', '7', '"x"', '{"name":"a\\u0000"}', '\ufeff{}x']) {
      const headers = { 'content-type': 'application/json' };
      assertRefused(
        await owner.browser.send('/v1/oauth/clients', { method: 'POST', body, headers }),
        400,
        'invalid_request',
      );
    }
    for (const type of ['text/plain', 'multipart/form-data; boundary=x', 'application/xml', 'x']) {
      assertRefused(await post(signet, '/oauth/token', 'grant_type=x', type), 400, 'invalid_request');
    }
  });

  await t.test('HT-01: a URL that cannot be decoded is refused in our words, without an echo', async () => {
    for (const path of ['/%zz', '/v1/oauth/clients/%zz', '/v1/oauth/clients/%c3%28', '/invite/%']) {
      const answer = await owner.browser.get(path);
      assertRefused(answer, 400, 'invalid_request');
      assert.ok(!answer.text.includes('%'), answer.text);
    }
    assertRefused(await owner.browser.get('/v1/me%00'), 400, 'invalid_request');
  });

  await t.test('HT-01: a URL that cannot be routed is refused with a page if HTML is accepted', async () => {
    const refused = { '/%zz': 400, '/%E0%A4%A': 400, [`/admin/users/${'a'.repeat(1600)}`]: 404 };
    for (const [path, status] of Object.entries(refused)) {
      const answer = await owner.browser.get(path, { accept: 'text/html' });
      assert.equal(answer.status, status, path);
      assert.match(answer.text, /^<!doctype html>/);
    }
  });

  await t.test('HT-03: what two servers could read as different requests is 400, and the connection ends', async () => {
    const token = (headers: string, body = '') =>
      `POST /oauth/token HTTP/1.1\r\n${host}Content-Type: ${form}\r\n${headers}\r\n${body}`;
    const me = (headers: string) => `GET /v1/me HTTP/1.1\r\n${host}${headers}\r\n`;
    const chunked = 'Transfer-Encoding: chunked\r\n';
    const smuggled = `GET /.well-known/jwks.json HTTP/1.1\r\n${host}\r\n`;
    const probes = {
      'CL before TE': token(`Content-Length: 6\r\n${chunked}`, `0\r\n\r\n${smuggled}`),
      'TE before CL': token(`${chunked}Content-Length: 6\r\n`, `0\r\n\r\n${smuggled}`),
      'unknown coding': token('Transfer-Encoding: xchunked\r\n', `0\r\n\r\n${smuggled}`),
      'coding after chunked': token('Transfer-Encoding: chunked, identity\r\n', `0\r\n\r\n${smuggled}`),
      'identity with a length': token('Transfer-Encoding: identity\r\nContent-Length: 3\r\n', `a=b${smuggled}`),
      'two lengths': token('Content-Length: 3\r\nContent-Length: 4\r\n', 'a=bc'),
      'two lengths in one': token('Content-Length: 3, 4\r\n', 'a=bc'),
      'negative length': token('Content-Length: -3\r\n', 'a=b'),
      'length with a sign': token('Content-Length: +3\r\n', 'a=b'),
      'space before the colon': token('Content-Length : 3\r\n', 'a=b'),
      'bad chunk size': token(chunked, `zz\r\n${smuggled}`),
      'overflowing chunk size': token(chunked, 'FFFFFFFFFFFFFFFFF\r\n'),
      'chunks with bare LF': token(chunked, `3\na=b\n0\n\n${smuggled}`),
      'folded header': me('X: a\r\n b\r\n'),
      'bare LF lines': `GET /v1/me HTTP/1.1\nHost: localhost\n\n`,
      'bare LF in a header': me('X: a\nY: b\r\n'),
      'bare CR in a header': me('X: a\rY: b\r\n'),
      'NUL in a header': me('X: a\0b\r\n'),
      'CRLF in the target': `GET /v1/me\r\nX: y HTTP/1.1\r\n${host}\r\n`,
      'space in the target': `GET /v1/me x HTTP/1.1\r\n${host}\r\n`,
      'no version': 'GET /v1/me\r\n\r\n',
      'unknown version': `GET /v1/me HTTP/9.9\r\n${host}\r\n`,
      'HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'unknown method': `FOO /v1/me HTTP/1.1\r\n${host}\r\n`,
      'no Host': 'GET /v1/me HTTP/1.1\r\n\r\n',
      'two Hosts': me('Host: evil.test\r\n'),
      'absolute form of another host': `GET http://evil.test/v1/me HTTP/1.1\r\n${host}\r\n`,
      'asterisk form': `OPTIONS * HTTP/1.1\r\n${host}\r\n`,
    };
    await Promise.all(
      Object.entries(probes).map(async ([what, bytes]) => {
        const { text, closed } = await sendRaw(port, bytes);
        assert.match(text, /^HTTP\/1\.1 400 /, what);
        assert.equal(text.match(/HTTP\/1\.1 \d/g)?.length, 1, `${what}: a second request was answered`);
        assert.ok(closed, `${what}: the connection stays open`);
        if (what !== 'no Host') assert.match(text, /"error":"invalid_request","error_description":/, what);
      }),
    );
    const tooLarge = await sendRaw(port, me(`X: ${'a'.repeat(40_000)}\r\n`));
    assert.match(tooLarge.text, /^HTTP\/1\.1 431 .*"error":"headers_too_large"/s);
    assert.ok(tooLarge.closed);
    assert.deepEqual(await sendRaw(port, `CONNECT evil.test:443 HTTP/1.1\r\n${host}\r\n`), { text: '', closed: true });
    const own = await sendRaw(port, `GET ${signet.url}/v1/me HTTP/1.1\r\n${host}\r\n`);
    assert.match(own.text, /^HTTP\/1\.1 401 /); // RFC 9112 §3.2.2: the absolute form of our own address is a request
  });

  await t.test('a request without a body is answered, whatever type it says that its body has', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/plain']) {
        const head = `${method} /v1/me/sessions HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: ${type}\r\n\r\n`;
        assert.match((await sendRaw(port, head)).text, /^HTTP\/1\.1 (401|405) /, `${method} ${type}`);
      }
    }
  });

  await t.test('HT-03: a coding other than chunked is refused, and no request gets two answers', async () => {
    const head = (to: string, ...headers: string[]) =>
      [`${to} HTTP/1.1`, `Host: localhost:${port}`, ...headers, '', ''].join('\r\n');
    const chunked = 'Transfer-Encoding: chunked';
    const overlong = `${'F'.repeat(17)}\r\n`;
    const probes = {
      'a coding that ends like chunked': (to: string) => head(to, 'Transfer-Encoding: xchunked') + overlong,
      'a coding before chunked': (to: string) => `${head(to, 'Transfer-Encoding: gzip, chunked')}0\r\n\r\n`,
      'a coding said twice': (to: string) => `${head(to, 'Transfer-Encoding: chunked, chunked')}0\r\n\r\n`,
      'an overlong chunk size': (to: string) => head(to, chunked, `Content-Type: ${form}`) + overlong,
      'a chunk size that is none': (to: string) => `${head(to, chunked, `Content-Type: ${form}`)}zz\r\n`,
    };
    const paths = ['/v1/me', '/nothing', '/.well-known/jwks.json', '/signin', '/oauth/token', '/%zz'];
    const targets = paths.flatMap((path) => ['GET', 'POST', 'DELETE'].map((method) => `${method} ${path}`));
    await Promise.all(
      targets.flatMap((to) =>
        Object.entries(probes).map(async ([what, bytesTo]) => {
          const { text, closed } = await sendRaw(port, bytesTo(to));
          assert.equal(text.match(/HTTP\/1\.1 \d/g)?.length, 1, `${what}: ${to}: ${text}`);
          assert.ok(closed, `${what}: ${to}: the connection stays open`);
          if (what.includes('coding')) assert.match(text, /^HTTP\/1\.1 400 /, `${what}: ${to}`);
        }),
      ),
    );
    const pipelined = await sendRaw(port, `${head('GET /v1/me')}\0\0\r\n\r\n`);
    assert.match(pipelined.text, /^HTTP\/1\.1 401 /, 'the request before is answered first');
    assert.ok(pipelined.closed);
    await fetch(`${signet.url}/.well-known/jwks.json`); // from then on it is answered at once
    const queued = await sendRaw(
      port,
      `${head('GET /v1/me')}\r\n${head('GET /.well-known/jwks.json')}\r\n\0\0\r\n\r\n`,
    );
    const statuses = [...queued.text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status);
    assert.deepEqual(statuses, ['401', '200'], 'also one that waits for the answer before it');
    assert.ok(queued.closed);
  });

  await t.test('HT-03: a body that comes too slowly is answered with 408, and the connection ends', async () => {
    const { server } = signet.app;
    assert.ok(server.requestTimeout + 1000 <= 15_000); // Node looks once a second
    const { headersTimeout, requestTimeout } = server;
    Object.assign(server, { headersTimeout: 300, requestTimeout: 300 }); // Node waits for the longer of the two
    const path = '/oauth/token';
    const bytes = `POST ${path} HTTP/1.1\r\n${host}Content-Type: ${form}\r\nContent-Length: 10\r\n\r\ngrant`;
    const { text, closed } = await sendRaw(port, bytes);
    Object.assign(server, { headersTimeout, requestTimeout });
    assert.match(text, /^HTTP\/1\.1 408 .*\r\nConnection: close\r\n.*"error":"request_timeout"/s);
    assert.equal(text.match(/HTTP\/1\.1 \d/g)?.length, 1);
    assert.ok(closed);
  });

  await t.test('HT-03: nothing that was sent can end a header of an answer', async () => {
    const client = await signet.registerClient({ owner });
    const split = 'x\r\nSet-Cookie: a=b\r\n\r\n<script>';
    const answers = [
      await owner.browser.get(client.authorizePath({ state: split, nonce: split })),
      await owner.browser.get(client.authorizePath({ state: split, response_type: split })),
      await owner.signIn({ next: `/account?${split}` }),
      await owner.browser.get(`/${encodeURIComponent(split)}`),
    ];
    for (const { headers } of answers) {
      assert.ok(!headers.getSetCookie().some((line) => line.startsWith('a=')), String(headers.get('location')));
      assert.match(headers.get('location') ?? '', /^[\x21-\x7e]*$/);
    }
  });

  await t.test('HT-06: every path takes its own methods and answers 405 with Allow to all others', async () => {
    const paths: Record<string, string> = {
      '/.well-known/openid-configuration': 'GET, HEAD',
      '/.well-known/oauth-authorization-server': 'GET, HEAD',
      '/.well-known/jwks.json': 'GET, HEAD',
      '/oauth/authorize': 'GET, POST',
      '/oauth/authorize/continue': 'GET',
      '/oauth/authorize/cancel': 'POST',
      '/oauth/token': 'POST',
      '/oauth/userinfo': 'GET, HEAD, POST',
      '/oauth/introspect': 'POST',
      '/oauth/revoke': 'POST',
      '/signin': 'GET, HEAD, POST',
      '/signin/account': 'GET, HEAD, POST',
      '/signout': 'POST',
      '/consent': 'GET, HEAD, POST',
      '/account': 'GET, HEAD, POST',
      '/account/sessions': 'GET, HEAD',
      '/account/apps/disconnect': 'POST',
      '/invite/inv_x': 'GET, HEAD, POST',
      '/v1/auth/providers': 'GET, HEAD',
      '/v1/me': 'GET, HEAD, PATCH, DELETE',
      '/v1/me/sessions': 'GET, HEAD, DELETE',
      '/v1/me/sessions/ses_x': 'PATCH, DELETE',
      '/v1/me/grants/cl_x': 'DELETE',
      '/v1/oauth/clients': 'GET, HEAD, POST',
      '/v1/oauth/clients/cl_x': 'GET, HEAD, PATCH, DELETE',
    };
    const ask = (method: string, path: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        // A body of a kind that no route takes: the method is what is wrong.
        const headers = method === 'HEAD' ? {} : { 'content-type': 'text/plain', 'content-length': 1 };
        const request = httpRequest(signet.url + path, { method, headers }, resolve).on('error', reject);
        request.end(method === 'HEAD' ? undefined : 'x');
      });
    for (const [path, allow] of Object.entries(paths)) {
      const allowed = allow.split(', ');
      for (const method of METHODS.filter((one) => one !== 'CONNECT')) {
        const answer = await ask(method, path);
        answer.resume();
        const [status, headers] = [answer.statusCode, answer.headers];
        if (!allowed.includes(method)) {
          const sorted = String(headers.allow).split(', ').sort();
          assert.deepEqual([status, sorted], [405, [...allowed].sort()], `${method} ${path}`);
        } else assert.notEqual(status, 405, `${method} ${path}`);
        assert.equal(headers.server ?? headers['x-powered-by'], undefined);
        assert.equal(headers['x-content-type-options'], 'nosniff', `${method} ${path}`);
        if (method !== 'HEAD' && Number(headers['content-length']) > 0) {
          assert.match(headers['content-type'] ?? '', /^(application\/json|text\/html); charset=utf-8$/);
        }
      }
    }
    assertRefused(await owner.browser.get('/nothing/here'), 404, 'not_found');
    assertRefused(await post(signet, '/nothing/here', 'x', 'text/plain'), 404, 'not_found');
  });
});

test('an address that only takes a form leads a user who asks for it to the page with the form', async (t) => {
  const signet = await startSignet(t);
  const administrator = await signet.signedInUser({ role: 'admin' });
  const get = (path: string, accept: string) => administrator.browser.get(path, { accept });
  const html = 'text/html,application/xhtml+xml,*/*;q=0.8';
  const formsOnly = (await routesOf(signet.app, signet.url))
    .filter(
      ({ path, methods }) =>
        !methods.includes('GET') && !/^\/(v1|oauth|scim)\/|\/(options|backchannel-logout|signals)$/.test(path),
    )
    .map(({ path }) => path.replace(/:\w+/g, 'a%20b'));
  assert.ok(formsOnly.length > 30, String(formsOnly));
  for (const path of formsOnly) {
    const led = await get(path, html);
    assert.deepEqual([led.status, led.headers.get('cache-control')], [303, 'no-store'], path);
    const page = led.location;
    assert.match(page, /^\/[a-z]/, path);
    // A page, or on its way to one, or the page that says that there is no such object.
    const shown = await get(page, html);
    assert.ok([200, 303, 404].includes(shown.status), `${path} leads to ${page}: ${shown.status}`);
    assert.notEqual(page, path);
    const program = await get(path, '*/*');
    for (const one of [program, await get(path, 'application/json')]) {
      assertRefused(one, 405, 'method_not_allowed');
      assert.equal(one.headers.get('allow'), 'POST');
    }
  }
  const leadsTo = async (path: string) => (await get(path, html)).location;
  assert.equal(await leadsTo('/signout?x=y'), '/account');
  assert.equal(await leadsTo('/admin/audit/verify'), '/admin/audit');
  assert.equal(await leadsTo('/signin/passkey'), '/signin');
  assert.equal(await leadsTo('/admin/clients/cl_a%2Fb/approve'), '/admin/clients/cl_a%2Fb');
  assert.equal((await get('/oauth/token', html)).status, 405);
});

test('a form that is sent to the address of a page shows the page, and does nothing', async (t) => {
  const signet = await startSignet(t);
  const administrator = await signet.signedInUser({ role: 'admin' });
  const { client_id } = await signet.registerClient({ owner: administrator });
  // What WebKit sends to load the answer to a registration again, to which a script has given the address of the client.
  const send = (path: string, headers: Record<string, string> = {}) =>
    administrator.browser.post(path, { name: 'Shop' }, { accept: 'text/html,*/*;q=0.8', ...headers });
  const before = (await signet.auditLog()).length;
  for (const path of [`/developer/clients/${client_id}`, `/admin/clients/${client_id}`, '/admin/users']) {
    const { status, location } = await send(`${path}?code=secret`);
    assert.deepEqual([status, location], [303, path]);
    assert.equal((await administrator.browser.get(path)).status, 200);
    assert.equal((await send(path, { accept: '*/*' })).status, 405);
    assert.equal((await administrator.browser.postJson(path, {}, { accept: 'text/html' })).status, 405);
  }
  assert.equal((await send('/.well-known/openid-configuration')).status, 405);
  assert.equal((await signet.auditLog()).length, before);
});

test('DO-01: a limit that the operator sets is the one that holds', async (t) => {
  const env = {
    SIGNET_LIMIT_PASSWORD_FAILURES: '2',
    SIGNET_LIMIT_PASSWORD_BLOCK_SECONDS: '7',
    SIGNET_LIMIT_PENDING_CLIENTS: '1',
    SIGNET_LIMIT_BODY_KB: '32',
    SIGNET_LIMIT_HEADER_SECONDS: '3',
  };
  const signet = await startSignet(t, { env });
  assert.equal(signet.app.server.headersTimeout, 3000);

  const victim = await signet.newUser();
  const guess = (password: string) => victim.elsewhere().signIn({ password });
  assert.deepEqual([(await guess('not it')).status, (await guess('nor this')).status], [401, 401]);
  const waits = await guess(victim.password);
  assert.deepEqual([waits.status, waits.headers.get('retry-after')], [429, '7']);
  signet.clock.advance(7);
  assert.equal((await guess(victim.password)).status, 303);

  const owner = await signet.signedInUser();
  const path = '/v1/oauth/clients';
  const register = () =>
    owner.browser.postJson(path, {
      name: 'App',
      client_type: 'public',
      redirect_uris: ['https://rp.test/cb'],
    });
  const client_id = String((await register()).json?.client_id);
  assertRefused(await register(), 429, 'rate_limited');
  const cli = { actor: 'cli' } as const;
  await rejectClient(signet.deps, { client_id, caller: cli }, 'Not ours.');
  assert.equal((await register()).status, 200);
  const edit = () => owner.browser.patch(`${path}/${client_id}`, { name: 'Again' });
  assertRefused(await edit(), 429, 'rate_limited');
  const inPage = await owner.browser.post(`/developer/clients/${client_id}/edit`, {
    name: 'Typed with care',
    redirect_uris: 'https://rp.test/cb',
    'scope openid': 'on',
    id_token_signed_response_alg: 'EdDSA',
    revision: '1',
  });
  assert.equal(inPage.status, 429);
  assert.match(inPage.text, pattern`${sentence('developer.edit.pending', { max: 1 })}.*value="Typed with care"`);
  assert.equal((await owner.browser.get(`${path}/${client_id}`)).json?.status, 'rejected');

  const tooLarge = await owner.browser.postJson(path, { name: 'x'.repeat(33_000) });
  assertRefused(tooLarge, 413, 'content_too_large');
  assert.match(tooLarge.text, sentence('refusal.content_too_large', { max: 32 }));
});

test('HT-07: an address that a client claims for itself is not believed', async (t) => {
  const claims = (n: number) => ({
    'x-forwarded-for': `203.0.113.${n}`,
    'x-real-ip': `203.0.113.${n}`,
    forwarded: `for=203.0.113.${n};proto=https`,
    'x-forwarded-proto': 'https',
    'x-client-ip': `203.0.113.${n}`,
  });
  const addressesSeen = async (signet: Signet) => {
    const statuses = [];
    for (let tries = 1; tries <= 21; tries += 1) {
      const fields = { username: `nobody${tries}@example.com`, password: 'wrong' };
      statuses.push((await signet.newBrowser().post('/signin', fields, claims(tries))).status);
    }
    const rows = await plain(signet.deps.db).all<{ address: string }>(
      `select distinct address from unauthenticated_events where action = 'session.refused' order by address`,
    );
    return { last: statuses.at(-1), addresses: rows.map(({ address }) => address) };
  };
  const direct = await addressesSeen(await startSignet(t));
  assert.deepEqual(direct, { last: 429, addresses: ['127.0.0.1'] });
  const stranger = await addressesSeen(await startSignet(t, { env: { SIGNET_TRUST_PROXY: '10.0.0.0/8' } }));
  assert.deepEqual(stranger, { last: 429, addresses: ['127.0.0.1'] });
  const proxied = await addressesSeen(await startSignet(t, { env: { SIGNET_TRUST_PROXY: '127.0.0.1' } }));
  assert.equal(proxied.last, 401);
  assert.equal(proxied.addresses.length, 21);
});

testSignet(
  'an IPv6 /48 may do sixteen times what one of its addresses may',
  {
    mail: true,
    env: {
      SIGNET_TRUST_PROXY: '1',
      SIGNET_LIMIT_MAILS_PER_ADDRESS: '1',
      SIGNET_LIMIT_WAITING_REQUESTS: '1',
      SIGNET_LIMIT_PASSKEY_CHALLENGES: '1',
    },
  },
  async ({ signet }) => {
    const client = await signet.registerClient();
    const from = (address: string) => ({ 'x-forwarded-for': address });
    const requests = {
      mails: (address: string) => signet.newBrowser().post('/reset', { email: 'nobody@example.com' }, from(address)),
      authorization: (address: string) => signet.newBrowser().get(client.authorizePath(), from(address)),
      passkeys: (address: string) => signet.newBrowser().postJson('/signin/passkey/options', {}, from(address)),
    };
    for (const [name, request] of Object.entries(requests)) {
      const isRefused = async (address: string) => (await request(address)).status === 429;
      assert.equal(await isRefused('2001:db8:1:1::1'), false, name);
      assert.equal(await isRefused('2001:db8:1:1::2'), true, name);
      for (let place = 2; place <= 16; place += 1) assert.equal(await isRefused(`2001:db8:1:${place}::1`), false, name);
      assert.equal(await isRefused('2001:db8:1:17::1'), true, name);
      assert.equal(await isRefused('2001:db8:2:1::1'), false, name);
    }
  },
);

test('HT-07: behind a proxy only an address counts as one, and never its port', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_TRUST_PROXY: '1' } });
  const guess = async (address: string, tries: number) => {
    const fields = { username: `nobody${tries}@example.com`, password: 'wrong' };
    return (await signet.newBrowser().post('/signin', fields, { 'x-forwarded-for': address })).status;
  };
  const lastOf21 = async (addressOf: (tries: number) => string) => {
    let status = 0;
    for (let tries = 1; tries <= 21; tries += 1) status = await guess(addressOf(tries), tries);
    return status;
  };
  assert.equal(await lastOf21((tries) => `5.5.5.5:${4000 + tries}`), 429);
  assert.equal(await guess('5.5.5.5', 0), 429);
  assert.equal(await lastOf21((tries) => `[2001:db8:1::${tries}]:${4000 + tries}`), 429);
  assert.equal(await lastOf21((tries) => `fe80::1%${'a'.repeat(tries)}`), 429);
  assert.equal(await lastOf21((tries) => `${'x'.repeat(5000)}${tries}`), 429);
  assert.equal(await lastOf21((tries) => `5.5.5.6, unknown${tries}`), 429, 'that is the address of the proxy, too');
  assert.equal(await guess('5.5.5.7', 0), 401);
  const rows = await plain(signet.deps.db).all<{ address: string }>(
    'select distinct address from unauthenticated_events',
  );
  const kept = rows.flatMap(({ address }) => address ?? []);
  assert.ok(kept.includes('127.0.0.1') && kept.includes('5.5.5.5'), String(kept));
  assert.deepEqual(
    kept.filter((address) => isIP(address) === 0 || address.includes('%')),
    [],
  );
});

const sentinel = 'select secret_column from secret_table -- at /srv/secret.ts:1:1';

/**
 * Of no request: mails that were promised before, what the owner of a client reads about failures, and which answers of
 * the token endpoint were lost, and the settings and the brand that are looked at once a second.
 */
const onTheSide =
  /into client_failures|issuing_runs|set unanswered_until|^select mail_id|^(?:update|delete from) outgoing_mails|from settings order|from brand_versions order/;

testSignet(
  'HT-05: whichever call of the store fails, the answer is an error without details',
  { env: { SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet }) => {
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({ owner, consent: 'required' });
    const fresh = () => owner.obtainTokens(plain);
    const plain = await signet.registerClient({ owner });
    const visitor = await signet.newUser();
    const waiting = async (prompt: string) => {
      const answer = await owner.browser.get(client.authorizePath({ prompt }));
      return new URL(answer.location, signet.url).searchParams.get('request') ?? '';
    };
    const invitation = async () => new URL((await inviteAdministrator(signet.deps, 'cli')).url).pathname;
    const account = { email: 'new@example.com', name: 'New', password: 'several unrelated words here' };
    const body = { name: 'x', client_type: 'confidential', redirect_uris: ['https://rp.test/cb'] };
    const edit = { method: 'PATCH', body: '{"name":"y"}', headers: { 'content-type': 'application/json' } };
    const clientPath = `/v1/oauth/clients/${plain.client_id}`;

    /** Prepares what the request needs, then gives the request. */
    const routes: Record<string, () => Promise<() => Promise<Answer>>> = {
      'GET authorize': async () => () => owner.browser.get(plain.authorizePath()),
      'GET authorize, no session': async () => () => signet.newBrowser().get(plain.authorizePath()),
      'POST token, code': async () => {
        const code = await owner.authorize(plain);
        return () => plain.redeem(code);
      },
      'POST token, used code': async () => {
        const code = await owner.authorize(plain);
        await plain.redeem(code);
        return () => plain.redeem(code);
      },
      'POST token, refresh': async () => {
        const { refresh_token } = await fresh();
        return () => plain.refresh(refresh_token, { scope: 'openid' });
      },
      'POST token, replay': async () => {
        const { refresh_token } = await fresh();
        await plain.refresh(refresh_token);
        return () => plain.refresh(refresh_token);
      },
      'GET userinfo': async () => {
        const { access_token } = await fresh();
        return () => signet.userinfo(access_token);
      },
      'POST introspect': async () => {
        const { access_token } = await fresh();
        return () => plain.introspect(access_token);
      },
      'POST revoke': async () => {
        const { refresh_token } = await fresh();
        return () => plain.post('/oauth/revoke', { token: refresh_token });
      },
      'POST signin': async () => () => visitor.signIn(),
      'POST signin, wrong': async () => () => visitor.signIn({ password: 'wrong' }),
      'GET consent': async () => {
        const request = await waiting('consent');
        return () => owner.browser.get(`/consent?request=${request}`);
      },
      'POST consent': async () => {
        const request = await waiting('consent');
        return () => owner.browser.post('/consent', { request, user: owner.user_id, decision: 'allow' });
      },
      'POST signin/account': async () => {
        const request = await waiting('select_account');
        return () => owner.browser.post('/signin/account', { request, user: owner.user_id });
      },
      'POST cancel': async () => {
        const request = await waiting('consent');
        return () => owner.browser.post('/oauth/authorize/cancel', { request });
      },
      'GET account': async () => () => owner.browser.get('/account'),
      'GET me': async () => () => owner.browser.get('/v1/me'),
      'GET clients': async () => () => owner.browser.get('/v1/oauth/clients'),
      'POST clients': async () => () => owner.browser.postJson('/v1/oauth/clients', body),
      'GET client': async () => () => owner.browser.get(clientPath),
      'PATCH client': async () => () => owner.browser.send(clientPath, edit),
      'DELETE client': async () => () => owner.browser.delete(clientPath),
      'GET invite': async () => {
        const path = await invitation();
        return () => signet.newBrowser().get(path);
      },
      'POST invite': async () => {
        const path = await invitation();
        return () => signet.newBrowser().post(path, account);
      },
      'POST signout': async () => {
        const user = await visitor.signedInElsewhere();
        return () => user.browser.post('/signout');
      },
    };

    for (const [route, prepare] of Object.entries(routes)) {
      // The n-th call fails, for n from 1 until a request gets by with fewer.
      for (let n = 1, reached = true; reached; n += 1) {
        for (const error of [new StoreUnavailable(sentinel), new Error(sentinel)]) {
          if (!reached) break;
          const send = await prepare();
          signet.clock.advance(2); // what was cached is read again
          let calls = 0;
          const heal = beforeEachCall(signet.deps.db, (sql) => {
            if (sql.some((text) => onTheSide.test(text))) return;
            calls += 1;
            if (calls === n) throw error;
          });
          const answer = await send().finally(heal);
          reached = calls >= n;
          const where = `${route}, call ${n}: ${answer.status} ${answer.text.slice(0, 200)}`;
          if (!reached) assert.ok(n > 1 && answer.status < 500, where);
          if (!reached) continue;
          // Whatever kept the answer back after the grant had moved on: the same request brings the same tokens.
          const mayRepeat = route.startsWith('POST token') && answer.text.includes('may be repeated as it is');
          assert.equal(answer.status, mayRepeat || error instanceof StoreUnavailable ? 503 : 500, where);
          assert.doesNotMatch(answer.text, /secret_|select |\.ts|node:|at \/|Error:/, where);
          assert.deepEqual(
            answer.headers.getSetCookie().filter((line) => line.includes('session')),
            [],
            where,
          );
          assert.equal(answer.headers.get('cache-control'), 'no-store', where);
          if (answer.status === 503) assert.match(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/, where);
          assert.match(answer.text, answer.json ? /"error_description"/ : /^<!doctype html>/, where);
          // The log names the request without repeating its address, and its user can say which one it was.
          const id = answer.headers.get('x-request-id') ?? 'none';
          const logged = signet.logLines.findLast((line) => line.includes(id)) ?? '{}';
          const { method, route: pattern = '' } = JSON.parse(logged).request ?? {};
          assert.match(`${method} ${pattern}`, /^(GET|POST|PUT|PATCH|DELETE) \/[^?]*$/, `${where}: ${logged}`);
          if (!answer.json) assert.ok(answer.text.includes(`<code>${id}</code>`), where);
        }
      }
    }
    assert.equal((await owner.browser.get('/v1/me')).status, 200); // and the process lives
  },
);

test('on SQLite', async (t) => {
  const signet = await startSignet(t, { engine: 'sqlite' });
  const { config, db } = signet.deps;
  const user = await signet.signedInUser({ name: 'Before' });

  const title =
    'a request sees what another process confirmed before it arrived, whatever was read in its event-loop turn before';
  await t.test(title, async (t) => {
    const other = new DatabaseSync(join(config.dataDir, databaseFile));
    t.after(() => other.close());
    const socket = connect(config.port, '127.0.0.1').setEncoding('utf8');
    t.after(() => socket.destroy());
    const cookies = [...user.browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const request = `GET /v1/me HTTP/1.1\r\nHost: localhost:${config.port}\r\nCookie: ${cookies}\r\n\r\n`;
    const answer = async () => (await once(socket, 'data'))[0];
    const before = answer();
    socket.write(request); // so that the connection is accepted, and the next one is read in the turn that sends it
    assert.match(await before, /"name":"Before"/);

    await immediately();
    const early = plain(db).get<{ name: string }>('select name from users');
    other.exec("update users set name = 'After'");
    const after = answer();
    socket.write(request);
    assert.equal((await early)?.name, 'Before');
    assert.match(await after, /"name":"After"/);
  });

  await t.test('while the disk hangs the key set and discovery answer, and a change does not', async (t) => {
    const held: (() => void)[] = [];
    const { fdatasync } = fs;
    t.mock.method(fs, 'fdatasync', (...args: Parameters<typeof fdatasync>) => held.push(() => fdatasync(...args)));
    syncBuiltinESMExports();
    let isAnswered = false;
    const change = user.browser.patch('/v1/me', { name: 'Changed' }).finally(() => (isAnswered = true));
    await until('the change is flushed', () => held.length > 0);
    for (const path of ['/.well-known/jwks.json', '/.well-known/openid-configuration', '/livez']) {
      assert.equal((await signet.newBrowser().get(path)).status, 200, path);
    }
    assert.equal(isAnswered, false);
    t.mock.restoreAll();
    syncBuiltinESMExports();
    for (const flush of held) flush();
    assert.equal((await change).status, 200);
  });
});

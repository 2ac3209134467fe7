import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openBrowser } from '../support/chromium.ts';
import { challengeOf, verifier } from '../support/relying-party.ts';
import { routesOf } from '../support/routes.ts';
import { testWithoutStore } from '../support/signet.ts';

/** Of the answer to a request without a token. */
const challenge = 'Bearer, DPoP algs="ES256 PS256 EdDSA Ed25519"';

const foreign = { origin: 'https://spa.example.com', 'sec-fetch-site': 'cross-site' };
const corsHeaders = ({ headers }: { headers: Headers }) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

/** What scripts of any origin may call, and how. */
const forScripts: Readonly<Record<string, string>> = {
  '/.well-known/openid-configuration': 'GET, HEAD',
  '/.well-known/oauth-authorization-server': 'GET, HEAD',
  '/.well-known/jwks.json': 'GET, HEAD',
  '/.well-known/ssf-configuration': 'GET, HEAD',
  '/oauth/token': 'POST',
  '/oauth/userinfo': 'GET, HEAD, POST',
  '/oauth/revoke': 'POST',
  '/oauth/par': 'POST',
  '/oauth/status-lists/:list': 'GET, HEAD',
  '/v1/auth/providers': 'GET, HEAD',
  '/v1/me/entitlements': 'GET, HEAD',
};
const readable = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'www-authenticate, retry-after, x-request-id, dpop-nonce',
};

testWithoutStore('of all routes, scripts of other origins may read those that take no cookie', async ({ signet }) => {
  const user = await signet.signedInUser({ role: 'admin' });
  const routes = await routesOf(signet.app, signet.url);
  assert.ok(routes.length > 100);
  for (const { path, methods } of routes) {
    const url = path.replaceAll(':', '');
    const preflight = await fetch(signet.url + url, {
      method: 'OPTIONS',
      headers: { ...foreign, 'access-control-request-method': methods[0] ?? 'GET' },
    });
    const allowed = forScripts[path];
    if (allowed === undefined) {
      assert.deepEqual(corsHeaders(preflight), {}, path);
      assert.notEqual(preflight.status, 204, path);
    } else {
      assert.equal(preflight.status, 204, path);
      assert.deepEqual(corsHeaders(preflight), {
        ...readable,
        'access-control-allow-methods': allowed,
        'access-control-allow-headers': 'authorization, content-type',
        'access-control-max-age': '86400',
      });
    }
    if (!methods.includes('GET')) continue;
    const answer = await user.browser.get(url, foreign);
    assert.deepEqual(corsHeaders(answer), allowed === undefined ? {} : readable, path);
  }
});

testWithoutStore(
  'a preflight is answered with the names of headers that it asks for, and with no others',
  async ({ signet }) => {
    const allowedOf = async (path: string, names: string) => {
      const headers = { ...foreign, 'access-control-request-method': 'GET', 'access-control-request-headers': names };
      const answer = await fetch(signet.url + path, { method: 'OPTIONS', headers });
      assert.equal(answer.status, 204, path);
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
      assert.match(answer.headers.get('vary') ?? '', /access-control-request-headers/i);
      return answer.headers.get('access-control-allow-headers');
    };
    for (const path of Object.keys(forScripts)) {
      for (const names of ['authorization,traceparent,x-okta-user-agent-extended', 'mcp-protocol-version, baggage'])
        assert.equal(await allowedOf(path, names), names);
      for (const names of ['a b', 'a,,b', '<b>', 'x;y', 'é', `x${',x'.repeat(600)}`])
        assert.equal(await allowedOf(path, names), 'authorization, content-type', names);
    }
  },
);

testWithoutStore('who asks for entitlements without credentials is challenged', async ({ signet }) => {
  const user = await signet.signedInUser();
  const bare = await fetch(`${signet.url}/v1/me/entitlements`);
  assert.deepEqual([bare.status, bare.headers.get('www-authenticate')], [401, challenge]);
  const refused = await fetch(`${signet.url}/v1/me/entitlements`, { headers: { authorization: 'Bearer no' } });
  assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer .*error="invalid_token"/);
  const read = await user.browser.get('/v1/me/entitlements');
  assert.deepEqual([read.status, read.headers.get('www-authenticate')], [200, null]);
});

testWithoutStore('a request that was made in advance changes nothing', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ owner: user });
  const { id_token } = await user.obtainTokens(client);
  const paths = [
    client.authorizePath(),
    `/oauth/logout?id_token_hint=${id_token}`,
    '/oauth/authorize/continue?request=x',
  ];
  const advance: Record<string, string>[] = [
    { 'sec-purpose': 'prefetch' },
    { 'sec-purpose': 'prefetch;prerender' },
    { purpose: 'prefetch' },
    { 'x-moz': 'prefetch' },
  ];
  for (const path of paths) {
    for (const headers of advance) {
      const answer = await user.browser.get(path, headers);
      assert.deepEqual(
        [answer.status, answer.location, answer.headers.get('cache-control')],
        [503, '', 'no-store'],
        path,
      );
    }
  }
  assert.equal((await user.browser.get('/v1/me')).status, 200, 'still signed in');
  assert.equal((await user.browser.get('/.well-known/openid-configuration', advance[0])).status, 200);
  assert.equal((await user.browser.get(paths[1]!)).status, 303);
});

testWithoutStore('a script can read why it was refused', async ({ signet }) => {
  const refused = async (path: string, init: RequestInit) => {
    const answer = await fetch(signet.url + path, { ...init, headers: { ...foreign, ...init.headers } });
    assert.deepEqual(corsHeaders(answer), readable, `${path} ${answer.status}`);
    assert.ok(answer.status >= 400);
    return answer.status;
  };
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const body = 'grant_type=authorization_code&client_id=cl_none&code=x';
  assert.equal(await refused('/oauth/token', { method: 'POST', headers: form, body }), 401);
  assert.equal(await refused('/oauth/token', { method: 'POST', headers: form, body: 'x=1&x=2' }), 400);
  assert.equal(await refused('/oauth/token', { method: 'POST', headers: form, body: `x=${'y'.repeat(100_000)}` }), 413);
  assert.equal(await refused('/oauth/token', { method: 'POST', headers: { 'content-type': 'text/plain' }, body }), 400);
  assert.equal(await refused('/oauth/token', { method: 'PUT' }), 405);
  assert.equal(await refused('/oauth/userinfo', {}), 401);
  assert.equal(await refused('/oauth/userinfo', { headers: { authorization: 'Bearer no' } }), 401);
  assert.equal(await refused('/oauth/revoke', { method: 'POST', headers: form, body: 'token=' }), 400);
});

testWithoutStore(
  'a page of another origin redeems a code, reads userinfo, refreshes and revokes',
  async ({ signet, t }) => {
    const page = createServer((_request, response) => {
      response.setHeader('content-type', 'text/html').end('<!doctype html><title>App</title>');
    }).listen(0, '127.0.0.1');
    t.after(() => page.close());
    await new Promise((listening) => page.once('listening', listening));
    const origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ client_type: 'public', redirect_uris: [`${origin}/`] });
    const code = await user.authorize(client, { code_challenge: challengeOf(verifier) });
    const { page: tab } = await openBrowser(t, { origins: [origin, signet.url] });
    await tab.goto(origin);
    const outcome = await tab.evaluate(
      async ({ issuer, client_id, redirect_uri, code, code_verifier }) => {
        const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
        const post = (url: string, fields: Record<string, string>) =>
          fetch(url, { method: 'POST', body: new URLSearchParams({ client_id, ...fields }) });
        const redeemed = await post(metadata.token_endpoint, {
          grant_type: 'authorization_code',
          code,
          redirect_uri,
          code_verifier,
        });
        const tokens = await redeemed.json();
        const claims = await fetch(metadata.userinfo_endpoint, {
          headers: { authorization: `Bearer ${tokens.access_token}` },
        });
        const refreshed = await post(metadata.token_endpoint, {
          grant_type: 'refresh_token',
          refresh_token: tokens.refresh_token,
        });
        const { refresh_token } = await refreshed.json();
        const revoked = await post(metadata.revocation_endpoint, { token: refresh_token });
        const replayed = await post(metadata.token_endpoint, { grant_type: 'refresh_token', refresh_token });
        return {
          sub: (await claims.json()).sub,
          statuses: [redeemed.status, claims.status, refreshed.status, revoked.status, replayed.status],
          error: (await replayed.json()).error,
        };
      },
      { issuer: signet.url, client_id: client.client_id, redirect_uri: `${origin}/`, code, code_verifier: verifier },
    );
    assert.deepEqual(outcome, { sub: user.user_id, statuses: [200, 200, 200, 200, 400], error: 'invalid_grant' });
  },
);

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { protectedResource as expressResource, bearerAuth as forExpress } from '../src/express.ts';
import { protectedResource as fastifyResource, bearerAuth as forFastify } from '../src/fastify.ts';
import { bearerAuth as forHono, protectedResource as honoResource } from '../src/hono.ts';
import { createVerifier, protectedResource, TokenError, type Verifier } from '../src/index.ts';
import { startIssuer } from './fake-issuer.ts';
import { refusal } from './refusal.ts';

const identifier = 'https://api.example.com/orders';
const address = 'https://api.example.com/.well-known/oauth-protected-resource/orders';
const twoFactors = 'urn:signet:acr:2fa';

/** Sends a request to an app with the routes /orders/list (a scope), /orders/pay (two factors) and /orders/close (a recent sign-in). */
type Ask = (path: string, init?: RequestInit) => Promise<Response>;

async function fastifyApp(t: TestContext, verify: Verifier): Promise<Ask> {
  const app = fastify();
  const { requireAcr, requireMaxAge, requireScope, requireToken } = forFastify(verify);
  await app.register(fastifyResource(verify));
  await app.register(
    async (orders) => {
      orders.addHook('onRequest', requireToken);
      orders.get('/list', { preHandler: requireScope('orders:read') }, async (request) => request.auth?.sub);
      orders.get('/pay', { preHandler: requireAcr(twoFactors) }, async (request) => request.auth?.sub);
      orders.get('/close', { preHandler: requireMaxAge(300) }, async (request) => request.auth?.sub);
    },
    { prefix: '/orders' },
  );
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  return async (path, init) => fetch(base + path, init);
}

async function expressApp(t: TestContext, verify: Verifier): Promise<Ask> {
  const { requireAcr, requireMaxAge, requireScope, requireToken } = forExpress(verify);
  const orders = express.Router().use(requireToken);
  orders.get('/list', requireScope('orders:read'), (req, res) => void res.send(req.auth?.sub));
  orders.get('/pay', requireAcr(twoFactors), (req, res) => void res.send(req.auth?.sub));
  orders.get('/close', requireMaxAge(300), (req, res) => void res.send(req.auth?.sub));
  const server = express().use(expressResource(verify)).use('/orders', orders).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return async (path, init) => fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, init);
}

async function honoApp(_t: TestContext, verify: Verifier): Promise<Ask> {
  const { requireAcr, requireMaxAge, requireScope, requireToken } = forHono(verify);
  const orders = new Hono()
    .use(requireToken)
    .get('/list', requireScope('orders:read'), (c) => c.text(c.get('auth').sub))
    .get('/pay', requireAcr(twoFactors), (c) => c.text(c.get('auth').sub))
    .get('/close', requireMaxAge(300), (c) => c.text(c.get('auth').sub));
  const app = new Hono().use(honoResource(verify)).route('/orders', orders);
  return async (path, init) => app.request(path, init);
}

/** A server of the Fetch standard, without a framework. */
async function plainApp(_t: TestContext, verify: Verifier): Promise<Ask> {
  const metadata = protectedResource(verify);
  const needs: Record<string, object> = {
    '/orders/list': { scope: 'orders:read' },
    '/orders/pay': { acr: twoFactors },
    '/orders/close': { maxAge: 300 },
  };
  return async (path, init) => {
    const request = new Request(`http://inside:8080${path}`, init);
    try {
      return metadata(request) ?? new Response((await verify.request(request, needs[path])).sub);
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      return Response.json(error.body, { status: error.status, headers: error.headers });
    }
  };
}

for (const [name, start] of Object.entries({
  fastify: fastifyApp,
  express: expressApp,
  hono: honoApp,
  plain: plainApp,
})) {
  test(`${name}: an API says where tokens come from, what is missing, and how to sign in again (RFC 9728, RFC 9470, RFC 9449)`, async (t) => {
    const issuer = await startIssuer(t);
    const ask = await start(
      t,
      createVerifier({
        ...issuer.options,
        audience: identifier,
        realm: 'api',
        dpop: {},
        metadata: { scopes_supported: ['orders:read', 'orders:write'], resource_name: 'Orders' },
      }),
    );

    // RFC 9728 §3: the path of the identifier is behind that of the metadata.
    const path = new URL(address).pathname;
    const metadata = await ask(path);
    assert.equal(metadata.status, 200);
    assert.match(metadata.headers.get('content-type') ?? '', /^application\/json/);
    assert.equal(metadata.headers.get('access-control-allow-origin'), '*');
    assert.deepEqual(await metadata.json(), {
      resource: identifier,
      authorization_servers: [issuer.url],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'PS256', 'EdDSA', 'Ed25519'],
      dpop_bound_access_tokens_required: false,
      scopes_supported: ['orders:read', 'orders:write'],
      resource_name: 'Orders',
    });
    assert.equal((await ask(`${path}?x=1`)).status, 200);
    const head = await ask(path, { method: 'HEAD' });
    assert.deepEqual([head.status, await head.text()], [200, '']);
    const preflight = await ask(path, { method: 'OPTIONS', headers: { 'access-control-request-method': 'GET' } });
    assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-headers')], [204, '*']);
    assert.notEqual((await ask(path, { method: 'POST' })).status, 200);
    for (const other of ['/.well-known/oauth-protected-resource', `${path}/x`]) {
      assert.doesNotMatch(await (await ask(other)).text(), /authorization_servers/);
    }

    const keys = await generateKeyPair('ES256', { extractable: true });
    const jwk = await exportJWK(keys.publicKey);
    const jkt = await calculateJwkThumbprint(jwk);
    const usual = { aud: ['cl_app', identifier], acr: 'urn:signet:acr:1fa', auth_time: issuer.now() - 400 };
    const sign = (claims: object) => issuer.sign({ claims: { ...usual, ...claims } });
    const bearer = async (claims: object) => ({ headers: { authorization: `Bearer ${await sign(claims)}` } });
    const bound = async (to: string, claims: object) => {
      const token = await sign({ ...claims, cnf: { jkt } });
      const ath = createHash('sha256').update(token).digest('base64url');
      const proof = await new SignJWT({
        htm: 'GET',
        htu: `https://api.example.com${to}`,
        iat: issuer.now(),
        jti: crypto.randomUUID(),
        ath,
      })
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk })
        .sign(keys.privateKey);
      return { headers: { authorization: `DPoP ${token}`, dpop: proof } };
    };
    const refused = async (answer: Response, status: number, code: string, parameters: string) => {
      const { error, error_description } = (await answer.json()) as Record<string, string>;
      assert.deepEqual([answer.status, error], [status, code]);
      const reason = code === 'missing_token' ? '' : `, error="${code}", error_description="${error_description}"`;
      const common = `resource_metadata="${address}"`;
      const [, scope = ''] = /(scope="[^"]+", )/.exec(parameters) ?? [];
      const challenges: Record<string, string> = {
        Bearer: `Bearer realm="api"${reason}, ${parameters}${common}, DPoP realm="api", ${scope}${common}, algs="ES256 PS256 EdDSA Ed25519"`,
        DPoP: `DPoP realm="api"${reason}, ${parameters}${common}, algs="ES256 PS256 EdDSA Ed25519", Bearer realm="api", ${scope}${common}`,
      };
      const challenge = answer.headers.get('www-authenticate') ?? '';
      assert.equal(challenge, challenges[challenge.split(' ')[0]!]);
      return challenge;
    };

    const scopeNeeded = 'scope="orders:read", ';
    await refused(await ask('/orders/pay'), 401, 'missing_token', '');
    for (const answer of [
      await ask('/orders/list', await bearer({})),
      await ask('/orders/list', await bound('/orders/list', {})),
    ]) {
      assert.deepEqual([answer.status, await answer.text()], [200, 'usr_1']);
    }
    // What the token has of this API is named, too, so that a client that asks anew for what it reads here loses nothing.
    const writing = 'openid other:read orders:write';
    await refused(
      await ask('/orders/list', await bearer({ scope: writing })),
      403,
      'insufficient_scope',
      'scope="orders:write orders:read", ',
    );
    const lacking = await ask('/orders/list', await bound('/orders/list', { scope: 'openid' }));
    assert.match(await refused(lacking, 403, 'insufficient_scope', scopeNeeded), /^DPoP /);

    const better = await ask('/orders/pay', await bearer({}));
    await refused(better, 401, 'insufficient_user_authentication', `acr_values="${twoFactors}", `);
    assert.equal((await ask('/orders/pay', await bearer({ acr: twoFactors }))).status, 200);
    const again = await ask('/orders/close', await bound('/orders/close', {}));
    assert.match(await refused(again, 401, 'insufficient_user_authentication', 'max_age="300", '), /^DPoP /);
    assert.equal((await ask('/orders/close', await bearer({ auth_time: issuer.now() - 305 }))).status, 200);
    for (const auth_time of [issuer.now() - 306, undefined, 'x']) {
      assert.equal((await ask('/orders/close', await bearer({ auth_time }))).status, 401);
    }

    // A proof for another route of the same API, and one that is used a second time.
    await refused(
      await ask('/orders/list', await bound('/orders/pay', {})),
      401,
      'invalid_dpop_proof',
      name === 'plain' ? scopeNeeded : '',
    );
    const once = await bound('/orders/list', {});
    assert.equal((await ask('/orders/list', once)).status, 200);
    await refused(await ask('/orders/list', once), 401, 'invalid_dpop_proof', name === 'plain' ? scopeNeeded : '');
  });
}

test('requirements: each of several acr will do, all of them are named, and mistakes are found when a route is made', async (t) => {
  const issuer = await startIssuer(t);
  const verify = createVerifier({ ...issuer.options, realm: 'api' });
  const token = await issuer.sign({ claims: { acr: 'phr', auth_time: issuer.now() } });
  await verify(token, { acr: ['phrh', 'phr'], maxAge: 0 });
  const error = await refusal(
    verify(token, { acr: ['a', 'b'], maxAge: 0, scope: 'openid' }),
    'insufficient_user_authentication',
  );
  assert.match(error.wwwAuthenticate ?? '', /, acr_values="a b", max_age="0", scope="openid"$/);
  assert.throws(() => verify.check({ scope: 'openid' } as never, { scope: 'admin' }), { code: 'insufficient_scope' });
  for (const { requireAcr, requireMaxAge } of [forFastify(verify), forExpress(verify), forHono(verify)]) {
    for (const acr of ['a"b', 'a b', '']) assert.throws(() => requireAcr(acr), TypeError);
    for (const maxAge of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      assert.throws(() => requireMaxAge(maxAge), TypeError);
  }
});

test('the address of the metadata follows from the identifier (RFC 9728 §3.1), which is a URL', async (t) => {
  const { options } = await startIssuer(t);
  const at = (audience: string | string[], metadata = {}) =>
    createVerifier({ ...options, audience, metadata }).resource?.url;
  const wellKnown = '/.well-known/oauth-protected-resource';
  assert.equal(at('https://api.example.com'), `https://api.example.com${wellKnown}`);
  assert.equal(at('https://api.example.com/'), `https://api.example.com${wellKnown}`);
  assert.equal(at('https://api.example.com/a/b/'), `https://api.example.com${wellKnown}/a/b/`);
  assert.equal(at('https://api.example.com:8443/a?tenant=1'), `https://api.example.com:8443${wellKnown}/a?tenant=1`);
  assert.equal(at('http://127.0.0.1:3001/mcp'), `http://127.0.0.1:3001${wellKnown}/mcp`);
  assert.equal(
    at(['cl_app', 'https://a.example', 'https://b.example'], { resource: 'https://b.example' }),
    `https://b.example${wellKnown}`,
  );
  assert.equal(createVerifier(options).resource, undefined);
  assert.throws(() => protectedResource(createVerifier(options)), TypeError);
  const wrong: [string | string[], object][] = [
    ['cl_app', {}],
    ['urn:example:api', {}],
    ['http://api.example.com', {}],
    [['https://a.example', 'https://b.example'], {}],
    ['https://a.example', { resource: 'https://b.example' }],
    ['https://a.example', { scopes_supported: ['a"b'] }],
  ];
  for (const [audience, metadata] of wrong)
    assert.throws(() => at(audience, metadata), TypeError, JSON.stringify(audience));
});

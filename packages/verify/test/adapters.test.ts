import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { bearerAuth as forExpress } from '../src/express.ts';
import { bearerAuth as forFastify } from '../src/fastify.ts';
import { bearerAuth as forHono } from '../src/hono.ts';
import { createVerifier, type Verifier } from '../src/index.ts';
import { failing, paths, startIssuer } from './fake-issuer.ts';

type Answer = { status: number; headers: Record<string, unknown>; body: string };

/** Sends a request with these Authorization headers to an app with the routes below. */
type Ask = (path: string, ...authorization: string[]) => Promise<Answer>;

/*
 * Each app has: /open without a check; /me with a token; /orders with a token and the scope orders:read; /both, behind
 * both middlewares; /forged, where the application itself sets an `auth` before the middleware; /admin with a scope that
 * no token has.
 */
const forged = { scope: 'admin', sub: 'usr_evil' } as never;

async function fastifyApp(t: TestContext, verify: Verifier): Promise<Ask> {
  const app = fastify();
  const { requireToken, requireScope } = forFastify(verify);
  app.get('/open', async (request) => ({ sub: request.auth?.sub ?? null }));
  app.get('/me', { onRequest: requireToken }, async (request) => ({ sub: request.auth?.sub }));
  app.get('/orders', { onRequest: requireScope('orders:read') }, async (request) => ({ sub: request.auth?.sub }));
  app.get('/admin', { onRequest: requireScope('admin') }, async () => assert.fail());
  await app.register(async (scope) => {
    scope.addHook('onRequest', requireToken);
    scope.get('/both', { preHandler: requireScope('orders:read') }, async (request) => ({ sub: request.auth?.sub }));
    scope.get('/both/admin', { preHandler: requireScope('admin') }, async () => assert.fail());
  });
  const forge = async (request: fastify.FastifyRequest) => {
    request.auth = forged;
  };
  app.get('/forged', { onRequest: [forge, requireScope('admin')] }, async () => assert.fail());
  await app.listen({ port: 0, host: '127.0.0.1' });
  t.after(() => app.close());
  return askOver((app.server.address() as AddressInfo).port);
}

async function expressApp(t: TestContext, verify: Verifier): Promise<Ask> {
  const app = express();
  const { requireToken, requireScope } = forExpress(verify);
  app.get('/open', (req, res) => void res.json({ sub: req.auth?.sub ?? null }));
  app.get('/me', requireToken, (req, res) => void res.json({ sub: req.auth?.sub }));
  app.get('/orders', requireScope('orders:read'), (req, res) => void res.json({ sub: req.auth?.sub }));
  app.get('/admin', requireScope('admin'), () => assert.fail());
  const both = express.Router();
  both.use(requireToken);
  both.get('/', requireScope('orders:read'), (req, res) => void res.json({ sub: req.auth?.sub }));
  both.get('/admin', requireScope('admin'), () => assert.fail());
  app.use('/both', both);
  const forge: express.RequestHandler = (req, _res, next) => {
    req.auth = forged;
    next();
  };
  app.get('/forged', forge, requireScope('admin'), () => assert.fail());
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return askOver((server.address() as AddressInfo).port);
}

async function honoApp(_t: TestContext, verify: Verifier): Promise<Ask> {
  const { requireToken, requireScope } = forHono(verify);
  const both = new Hono()
    .use(requireToken)
    .get('/', requireScope('orders:read'), (c) => c.json({ sub: c.get('auth').sub }))
    .get('/admin', requireScope('admin'), () => assert.fail());
  const app = new Hono()
    .get('/open', (c) => c.json({ sub: null }))
    .get('/me', requireToken, (c) => c.json({ sub: c.get('auth').sub }))
    .get('/orders', requireScope('orders:read'), (c) => c.json({ sub: c.get('auth').sub }))
    .get('/admin', requireScope('admin'), () => assert.fail())
    .route('/both', both)
    .get(
      '/forged',
      async (c, next) => {
        c.set('auth' as never, forged);
        await next();
      },
      requireScope('admin'),
      () => assert.fail(),
    );
  return async (path, ...authorization) => {
    const headers = new Headers();
    for (const value of authorization) headers.append('authorization', value);
    const response = await app.request(path, { headers });
    return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() };
  };
}

const askOver =
  (port: number): Ask =>
  async (path, ...authorization) => {
    const headers = ['host', `127.0.0.1:${port}`, ...authorization.flatMap((value) => ['Authorization', value])];
    const sent = request({ port, host: '127.0.0.1', path, headers }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let body = '';
    for await (const chunk of response) body += chunk;
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  };

for (const [name, start] of Object.entries({ fastify: fastifyApp, express: expressApp, hono: honoApp })) {
  test(`${name}: a token opens the routes that it should, and each refusal is answered as RFC 6750 has it`, async (t) => {
    const issuer = await startIssuer(t);
    const ask = await start(t, createVerifier({ ...issuer.options, realm: 'api' }));
    const token = await issuer.sign();
    const refused = async (answer: Promise<Answer>, status: number, error: string, challenge: string | undefined) => {
      const { status: was, headers, body } = await answer;
      const { error_description, ...rest } = JSON.parse(body);
      assert.deepEqual([was, rest], [status, { error }], body);
      assert.match(String(headers['content-type']), /^application\/json/);
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['www-authenticate'], challenge?.replace('…', error_description));
      assert.doesNotMatch(body + headers['www-authenticate'], /evil|zzz/);
    };
    const malformed = 'Bearer realm="api", error="invalid_request", error_description="…"';
    const lacking = (scope: string) =>
      `Bearer realm="api", error="insufficient_scope", error_description="…", scope="${scope}"`;

    assert.deepEqual(JSON.parse((await ask('/open')).body), { sub: null });
    for (const [path, scope] of [
      ['/me', ''],
      ['/orders', ', scope="orders:read"'], // so that a client knows what to ask for
      ['/both', ''],
    ] as const) {
      const missing = `Bearer realm="api"${scope}`;
      const invalid = `Bearer realm="api", error="invalid_token", error_description="…"${scope}`;
      const { status, body, headers } = await ask(path, `bearer ${token}`);
      assert.deepEqual([status, JSON.parse(body)], [200, { sub: 'usr_1' }], path);
      assert.equal(headers['www-authenticate'], undefined);
      await refused(ask(path), 401, 'missing_token', missing);
      await refused(ask(`${path}?access_token=${token}`), 401, 'missing_token', missing);
      await refused(ask(path, 'Basic eDp5'), 401, 'missing_token', missing);
      await refused(ask(path, 'Bearer evil.zzz.zzz'), 401, 'invalid_token', invalid);
      await refused(ask(path, `Bearer ${token.slice(0, -2)}`), 401, 'invalid_token', invalid);
      for (const header of ['Bearer', 'Bearer evil zzz', 'Bearer "evil"', `Bearer ${token},zzz`]) {
        await refused(ask(path, header), 400, 'invalid_request', malformed);
      }
      await refused(ask(path, `Bearer ${token}`, `Bearer ${token}`), 400, 'invalid_request', malformed);
      await refused(ask(path, `Bearer ${token}`, 'Bearer evil'), 400, 'invalid_request', malformed);
    }
    for (const path of ['/admin', '/both/admin', '/forged']) {
      await refused(ask(path, `Bearer ${token}`), 403, 'insufficient_scope', lacking('admin'));
    }
    await refused(
      ask('/orders', `Bearer ${await issuer.sign({ claims: { scope: 'openid' } })}`),
      403,
      'insufficient_scope',
      lacking('orders:read'),
    );
  });

  test(`${name}: without keys the answer is 503`, async (t) => {
    const issuer = await startIssuer(t);
    issuer.answers[paths.metadata] = failing;
    const ask = await start(t, createVerifier(issuer.options));
    const { status, headers, body } = await ask('/me', `Bearer ${await issuer.sign()}`);
    assert.deepEqual([status, JSON.parse(body).error, headers['retry-after']], [503, 'unavailable', '5']);
    assert.equal(headers['www-authenticate'], undefined);
  });
}

test('a scope that cannot be one is refused when the route is made', async (t) => {
  const verify = createVerifier((await startIssuer(t)).options);
  for (const { requireScope } of [forFastify(verify), forExpress(verify), forHono(verify)]) {
    assert.throws(() => requireScope('a"b'), TypeError);
  }
});

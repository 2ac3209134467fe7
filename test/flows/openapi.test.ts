import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSignet } from '../support/signet.ts';

type Document = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, { summary: string; responses: Record<string, unknown>; security: object[] }>>;
};

async function describedApi(t: Parameters<typeof startSignet>[0]) {
  const signet = await startSignet(t);
  const response = await fetch(`${signet.url}/openapi.json`);
  assert.equal(response.status, 200);
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/);
  return { signet, document: (await response.json()) as Document };
}

test('the API describes itself in OpenAPI 3.1, with every endpoint of the specification', async (t) => {
  const { signet, document } = await describedApi(t);
  assert.match(document.openapi, /^3\.1\./);
  assert.equal(document.servers[0]?.url, signet.url);
  const endpoints = [
    'get /.well-known/openid-configuration',
    'get /.well-known/jwks.json',
    'get /oauth/authorize',
    'post /oauth/token',
    'get /oauth/userinfo',
    'post /oauth/introspect',
    'post /oauth/revoke',
    'get /v1/auth/providers',
    'get /auth/{provider}/login',
    'get /v1/me',
    'get /v1/me/entitlements',
    'get /v1/me/2fa',
    'post /v1/me/2fa/totp/enroll',
    'post /v1/me/2fa/totp/confirm',
    'get /v1/oauth/clients',
    'post /v1/oauth/clients',
  ];
  for (const endpoint of endpoints) {
    const [method = '', path = ''] = endpoint.split(' ');
    assert.ok(document.paths[path]?.[method], `${endpoint} is not described`);
  }
});

test('no address for programs is left out of the description', async (t) => {
  const { document } = await describedApi(t);
  const root = join(import.meta.dirname, '../../src');
  const declared = globSync('**/*routes.ts', { cwd: root }).flatMap((file) =>
    [
      ...readFileSync(join(root, file), 'utf8').matchAll(
        /app\.(get|post|put|patch|delete)(?:<[^(]*>)?\(\s*'(\/v1\/[^']+)'/g,
      ),
    ].map(([, method = '', url = '']) => ({ method, path: url.replace(/:(\w+)/g, '{$1}') })),
  );
  assert.ok(declared.length >= 6);
  const missing = declared.filter(({ method, path }) => !document.paths[path]?.[method]);
  assert.deepEqual(missing, [], 'Give the route a `config.operation`.');
});

test('what needs a session says so, and answers 401 without one', async (t) => {
  const { signet, document } = await describedApi(t);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { security, responses }] of Object.entries(operations)) {
      if (!security.some((scheme) => 'SessionCookie' in scheme)) continue;
      const answer = await fetch(signet.url + path.replace(/\{\w+\}/g, 'x'), {
        method: method.toUpperCase(),
        headers: { 'content-type': 'application/json' },
        body: method === 'get' ? undefined : '{}',
      });
      assert.equal(answer.status, 401, `${method} ${path}`);
      assert.ok('401' in responses, `${method} ${path} does not mention 401`);
    }
  }
});

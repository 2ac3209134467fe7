import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startSignet } from '../support/signet.ts';

type Schema = { properties: Record<string, unknown>; required?: string[] };
type Operation = {
  operationId: string;
  summary: string;
  responses: Record<string, { headers?: object; content?: object }>;
  security: object[];
  parameters?: { name: string; in: string; required?: boolean }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
};
type Document = {
  openapi: string;
  info: { version: string };
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: { Error: Schema } };
};
const anyClient = [{ ClientSecret: [] }, {}];

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
  assert.equal(document.info.version, '1.0.0', 'of the API (specification 9.1), not of the software');
  assert.equal(document.servers[0]?.url, signet.url);
  const endpoints = [
    'get /.well-known/openid-configuration',
    'get /.well-known/jwks.json',
    'get /oauth/authorize',
    'post /oauth/token',
    'post /oauth/par',
    'get /oauth/userinfo',
    'post /oauth/introspect',
    'post /oauth/revoke',
    'get /v1/auth/providers',
    'get /auth/{provider}/login',
    'get /v1/me',
    'post /v1/entitlements',
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
  // Who has no secret calls some of them; introspection takes a secret by HTTP Basic alone.
  const { token, introspect, revoke } = Object.fromEntries(
    ['token', 'introspect', 'revoke'].map((name) => [name, document.paths[`/oauth/${name}`]?.post]),
  );
  const fields = (operation: Operation | undefined) =>
    Object.keys(operation?.requestBody?.content['application/x-www-form-urlencoded']?.schema.properties ?? {});
  assert.deepEqual([token?.security, revoke?.security], [anyClient, anyClient]);
  assert.deepEqual(introspect?.security, [{ ClientSecret: [] }, { ServiceCredential: ['tokens:introspect'] }]);
  const assertion = ['client_assertion', 'client_assertion_type'];
  assert.deepEqual(fields(introspect).sort(), [...assertion, 'token', 'token_type_hint']);
  // Each kind of token request has all of its members, and says which it is: a generator makes a type of each.
  const schema = token?.requestBody?.content['application/x-www-form-urlencoded']?.schema;
  const { anyOf: kinds } = schema as unknown as { anyOf: Schema[] };
  assert.deepEqual(
    kinds.map(({ properties, required }) => [Object.keys(properties).sort(), required]),
    [
      [
        [...assertion, 'client_id', 'client_secret', 'code', 'code_verifier', 'grant_type', 'redirect_uri', 'resource'],
        ['grant_type', 'code', 'redirect_uri', 'code_verifier'],
      ],
      [
        [...assertion, 'client_id', 'client_secret', 'grant_type', 'refresh_token', 'resource', 'scope'],
        ['grant_type', 'refresh_token'],
      ],
    ],
  );
  assert.doesNotMatch(JSON.stringify(token), /unauthorized_client/);
  const { properties, required } = document.components.schemas.Error;
  assert.deepEqual(
    [Object.keys(properties), required],
    [
      [
        'error',
        'error_description',
        'fields',
        'current_status',
        'stored_revision',
        'stored_version',
        'max_age',
        'acr_values',
      ],
      ['error', 'error_description'],
    ],
  );
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
  assert.ok(declared.length >= 4);
  const missing = declared.filter(({ method, path }) => !document.paths[path]?.[method]);
  assert.deepEqual(missing, [], 'Give the route a `config.operation`.');
});

test('an endpoint is found by words of its address or description, without a script', async (t) => {
  const { signet } = await describedApi(t);
  const search = async (q: string) => {
    const { text } = await signet.newBrowser().get(`/docs/search?${new URLSearchParams({ q })}`);
    return [...text.matchAll(/<li><a href="\/reference\/[^"]+"><code>([^<]+)</g)].map(([, found]) => found);
  };
  assert.ok((await search('Redeem CODE')).includes('POST /oauth/token'));
  assert.deepEqual(await search('issueTokens refresh'), ['POST /oauth/token']);
  assert.deepEqual(await search('redeem zebra'), []);
  const { text } = await signet.newBrowser().get('/docs/search?q=%3Cb%3E%22');
  assert.match(text, /value="&lt;b&gt;&quot;"/);
});

test('a page is described as one, and a redirect with where it leads', async (t) => {
  const { document } = await describedApi(t);
  const refusals = (path: string) =>
    Object.entries(document.paths[path]?.get?.responses ?? {}).filter(([status]) => status.startsWith('4'));
  for (const path of ['/oauth/authorize', '/oauth/logout', '/auth/{provider}/login']) {
    assert.ok(refusals(path).length > 0);
    for (const [, { content = {} }] of refusals(path))
      assert.deepEqual(Object.keys(content), ['text/html', 'application/json']);
  }
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    for (const [status, { headers = {} }] of Object.entries(operation.responses)) {
      assert.equal(status.startsWith('3'), 'Location' in headers, `${operation.operationId} ${status}`);
    }
  }
});

test('every operation has an operationId of its own', async (t) => {
  const { document } = await describedApi(t);
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/);
  assert.deepEqual([...new Set(ids)], ids);
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

test('no pattern needs what regular expressions of other languages lack', async (t) => {
  const { document } = await describedApi(t);
  const patterns: string[] = [];
  JSON.stringify(document, (key, value) => {
    if (key === 'pattern' && typeof value === 'string') patterns.push(value);
    return value;
  });
  assert.ok(patterns.length > 0);
  for (const pattern of patterns) {
    assert.doesNotMatch(pattern, /\(\?(?!:)|\[\^?\]|\\[pP]|\\u\{/, 'a lookaround, [^], or a class that needs a flag');
    for (const flags of ['', 'u']) assert.doesNotThrow(() => new RegExp(pattern, flags), pattern);
  }
});

test('only the parameters of an authorization request, and the stream of signals, are required in a query', async (t) => {
  const { document } = await describedApi(t);
  const required = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods)
      .flatMap(({ parameters = [] }) => parameters)
      .filter((parameter) => parameter.in === 'query' && parameter.required)
      .map(({ name }) => `${path} ${name}`),
  );
  assert.deepEqual(
    required.filter((one) => !one.startsWith('/oauth/authorize ') && !/^\/v1\/signals\/\w+ stream_id$/.test(one)),
    [],
  );
  assert.ok(required.includes('/oauth/authorize client_id'));
});

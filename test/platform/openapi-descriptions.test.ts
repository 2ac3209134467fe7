import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusOf } from '../../src/platform/errors.ts';
import { compile } from '../../src/platform/validator.ts';
import { basic } from '../support/relying-party.ts';
import { startSignet } from '../support/signet.ts';

type Schema = {
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  $ref?: string;
};
type Media = { schema: Schema; example?: unknown; examples?: Record<string, { value: Record<string, unknown> }> };
type Operation = {
  operationId: string;
  description?: string;
  security: Record<string, unknown>[];
  parameters: { name: string; in: string; description?: string }[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: { Error: Schema }; securitySchemes: Record<string, { description?: string }> };
};

async function read(t: Parameters<typeof startSignet>[0]) {
  const signet = await startSignet(t);
  const document = (await (await fetch(`${signet.url}/openapi.json`)).json()) as Document;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, method, operation })),
  );
  return { signet, document, operations };
}

/** Paths of members of which nothing is said. */
function unexplained({ properties = {}, items, anyOf = [] }: Schema, path: string): string[] {
  return [
    ...Object.entries(properties).flatMap(([name, one]) => [
      ...(one.description || one.anyOf?.some(({ description }) => description) ? [] : [`${path}.${name}`]),
      ...unexplained(one, `${path}.${name}`),
    ]),
    ...(items ? unexplained(items, `${path}[]`) : []),
    ...anyOf.flatMap((one) => unexplained(one, path)),
  ];
}

test('every operation, parameter, member and way to authenticate is described', async (t) => {
  const { document, operations } = await read(t);
  const missing = operations.flatMap(({ name, operation }) => [
    ...(operation.description ? [] : [name]),
    ...operation.parameters.filter(({ description }) => !description).map((one) => `${name} ${one.name}`),
    ...[operation.requestBody, ...Object.values(operation.responses)].flatMap((part) =>
      Object.values(part?.content ?? {}).flatMap(({ schema }) => unexplained(schema, name)),
    ),
  ]);
  assert.deepEqual([...new Set(missing)], []);
  for (const [name, { description }] of Object.entries(document.components.securitySchemes))
    assert.ok(description, name);
});

test('every JSON answer has an example that its schema accepts, and every error its condition in words', async (t) => {
  const { document, operations } = await read(t);
  const wrong: unknown[] = [];
  let examples = 0;
  for (const { name, operation } of operations) {
    for (const [status, { description, content = {} }] of Object.entries(operation.responses)) {
      const { schema, example, examples: errors = {} } = content['application/json'] ?? { schema: undefined };
      const isFile = schema !== undefined && !schema.$ref && Object.keys(schema.properties ?? {}).length === 0;
      if (schema === undefined || isFile) continue;
      const ofErrors = schema.$ref !== undefined;
      const values = ofErrors ? Object.values(errors).map(({ value }) => value) : [example];
      if (values.length === 0) wrong.push([name, status, 'no example']);
      const { problems } = compile((ofErrors ? document.components.schemas.Error : schema) as object);
      for (const value of values) {
        examples += 1;
        const found = value === undefined ? 'no example' : problems(value);
        if (found.length > 0) wrong.push([name, status, found]);
      }
      if (!ofErrors || status === 'default') continue;
      for (const code of Object.keys(errors)) {
        assert.equal(statusOf[code as keyof typeof statusOf], Number(status), `${name}: ${code}`);
        assert.match(description, new RegExp(`\`${code}\`: [\\w\`].{10,}`), `${name}: ${code}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(examples > 700, `${examples} examples`);
});

test('what can come anywhere is documented everywhere: 400, 503, and of what takes a body 413 and 415', async (t) => {
  const { operations } = await read(t);
  for (const { name, operation } of operations) {
    const expected = ['400', '503', ...(operation.requestBody ? ['413', '415'] : [])];
    for (const status of expected) assert.ok(operation.responses[status], `${name}: ${status}`);
  }
});

test('who may call is told apart as the server does: a client, a service, either', async (t) => {
  const { signet, operations } = await read(t);
  const service = await signet.newService({
    permissions: ['entitlements:write', 'tokens:introspect', 'signals:manage'],
  });
  const client = await signet.registerClient();
  const credentials = {
    ClientSecret: basic(client.client_id, client.client_secret ?? ''),
    ServiceCredential: service.authorization,
  };
  // Those of administration are tried in administration-by-token.test.ts.
  const authenticated = operations.filter(
    ({ name, operation: { security } }) =>
      !name.includes(' /v1/admin/') && security.some((one) => 'ClientSecret' in one || 'ServiceCredential' in one),
  );
  assert.equal(authenticated.length, 16);
  for (const { name, method, operation } of authenticated) {
    for (const [scheme, authorization] of Object.entries(credentials)) {
      const [, path = ''] = name.split(' ');
      const isJson = 'application/json' in (operation.requestBody?.content ?? {});
      const { status } = await signet.newBrowser().send(path, {
        method: method.toUpperCase(),
        headers: { authorization, 'content-type': isJson ? 'application/json' : 'application/x-www-form-urlencoded' },
        ...(operation.requestBody && { body: isJson ? '{}' : 'grant_type=refresh_token&token=x' }),
      });
      const accepts = operation.security.some((one) => scheme in one);
      assert.equal(status !== 401, accepts, `${name} with ${scheme}: ${status}`);
    }
  }
});

test('an operation that refuses a DPoP proof names the header, and one that reads a token the scheme', async (t) => {
  const { operations } = await read(t);
  const refuses = (operation: Operation) =>
    Object.values(operation.responses).some(
      ({ content }) => 'invalid_dpop_proof' in (content?.['application/json']?.examples ?? {}),
    );
  const reading = operations.filter(({ operation }) => refuses(operation));
  assert.deepEqual(
    operations.filter(({ operation }) =>
      operation.parameters.some((one) => one.in === 'header' && one.name === 'DPoP'),
    ),
    reading,
  );
  assert.equal(reading.length, 5);
  for (const { name, operation } of operations) {
    const [bearer, bound] = ['BearerAuth', 'DPoPAuth'].map((scheme) => operation.security.some((one) => scheme in one));
    assert.equal(bound, bearer, name);
  }
});

test('the reference has a command for each grant and caller, the members of each error, and is searched by both', async (t) => {
  const { signet } = await read(t);
  const page = (await signet.newBrowser().get('/reference/oidc')).text;
  for (const part of [
    /grant_type=authorization_code&#39; \\\n\s+--data-urlencode &#39;code=CODE&#39;[\s\S]{0,200}code_verifier=CODE_VERIFIER/,
    /grant_type=refresh_token&#39; \\\n\s+--data-urlencode &#39;refresh_token=REFRESH_TOKEN/,
    /refresh_token=REFRESH_TOKEN&#39; \\\n\s+--data-urlencode &#39;client_id=CLIENT_ID/,
    /response_type=code&amp;client_id=CLIENT_ID/,
    /oauth\/logout&#39; \\\n\s+--data-urlencode &#39;post_logout_redirect_uri=/,
  ])
    assert.match(page, part);
  const write = (await signet.newBrowser().get('/reference/entitlements')).text;
  assert.match(write, /stored_version&quot;: 7/);
  assert.match(write, /service credential with its ID and secret/);
  assert.doesNotMatch(write, /CLIENT_SECRET/);
  for (const q of ['code_verifier', 'invalid_grant', '429', 'rate limit', 'stored_version', 'webhook signature']) {
    const { text } = await signet.newBrowser().get(`/docs/search?${new URLSearchParams({ q })}`);
    assert.match(text, /<li><a href="\/reference\/[^"]+"><code>/, q);
  }
});

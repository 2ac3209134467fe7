import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { basic } from '../support/relying-party.ts';
import { routesOf } from '../support/routes.ts';
import { writeOf } from '../support/services.ts';
import { type Signet, startSignet } from '../support/signet.ts';

const json = 'application/json';
const form = 'application/x-www-form-urlencoded';

type Body = { content: Record<string, unknown> };
type Operation = { method: string; path: string; type: string | undefined };

/** Those that take a body; path parameters stand for nothing. */
async function operationsOf(signet: Signet): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${signet.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { requestBody?: Body }>>;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody }]) => ({
      method: method.toUpperCase(),
      path: path.replace(/\{\w+\}/g, 'x'),
      type: Object.keys(requestBody?.content ?? {})[0],
    })),
  );
}

/** By an administrator, to whom everything is open; what services write is read of a service alone. */
async function sender(signet: Signet) {
  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.enableTotp();
  const { browser } = admin;
  const { authorization } = await signet.newService();
  const { authorization: ofReceiver } = await signet.newService({ permissions: ['signals:manage'] });
  return ({ method, path }: Pick<Operation, 'method' | 'path'>, type: string, body: Buffer | string, more = {}) =>
    browser.send(path, {
      method,
      body: new Uint8Array(Buffer.from(body as string)),
      headers: {
        ...{ origin: signet.url, 'content-type': type, accept: json },
        ...(path === '/v1/entitlements' && method === 'POST' && { authorization }),
        ...(path.startsWith('/v1/signals/') && { authorization: ofReceiver }),
        ...more,
      },
    });
}

/** `{"name":"Zo<EB>"}`: in Latin-1, and so no UTF-8. */
const latin1 = { [json]: Buffer.from('{"name":"Zo\xeb"}', 'latin1'), [form]: Buffer.from('name=Zo\xeb', 'latin1') };

test('a body that is not UTF-8 is refused wherever one is read, as JSON and as a form', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const send = await sender(signet);
  const described = (await operationsOf(signet)).filter(({ type }) => type !== undefined);
  assert.ok(described.length > 40);
  for (const one of described) {
    const { status, json: answer } = await send(one, one.type!, latin1[one.type as typeof json]);
    assert.deepEqual(
      [status, answer?.error, answer?.error_description],
      [400, 'invalid_request', 'The body is not valid UTF-8. Nothing was changed.'],
      `${one.method} ${one.path}`,
    );
  }
  for (const { path, methods } of await routesOf(signet.app, signet.url)) {
    const isUpload = path === '/account/picture'; // its body is read before the others of the path
    const asksFirst = path.startsWith('/scim/'); // who it is, before it reads a body
    if (!methods.includes('POST') || isUpload || asksFirst) continue;
    const { status, text } = await send({ method: 'POST', path: path.replaceAll(':', '') }, form, latin1[form]);
    assert.equal(status, 400, `${path}: ${text}`);
    assert.match(text, /is not valid UTF-8|takes JSON/, path);
  }
});

test('two events whose ids differ in a byte that is not UTF-8 are no retry of each other: both are refused', async (t) => {
  const signet = await startSignet(t);
  const { user_id } = await signet.newUser();
  const { authorization } = await signet.newService();
  for (const byte of ['\xe9', '\xe8']) {
    const body = Buffer.from(JSON.stringify(writeOf(user_id, { event_id: `caf${byte}` })), 'latin1');
    const answer = await fetch(`${signet.url}/v1/entitlements`, {
      method: 'POST',
      headers: { authorization, 'content-type': json },
      body: new Uint8Array(body),
    });
    assert.equal(answer.status, 400);
  }
  const whole = await signet.newBrowser().postJson('/v1/entitlements', writeOf(user_id, { event_id: 'café' }), {
    authorization,
  });
  assert.deepEqual([whole.status, whole.json?.applied], [200, true]);
});

test('a URL with bytes that are not ASCII is refused: they could stand for several texts', async (t) => {
  const signet = await startSignet(t);
  for (const target of ['/v1/auth/providers?q=Zo\xeb', '/v1/oauth/clients/\xc3\xab', '/signin?next=/\xeb']) {
    const socket = connect(signet.deps.config.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.end(`GET ${target} HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\r\n`, 'latin1');
    assert.match(await text(socket), /^HTTP\/1\.1 400 /, target);
  }
});

test('JSON without a content type, as curl sends it, is told so at every endpoint that takes JSON', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const send = await sender(signet);
  for (const one of await operationsOf(signet)) {
    if (one.type !== json) continue;
    const { status, json: answer } = await send(one, form, '{"name":"Ada"}');
    assert.equal(status, 400, one.path);
    assert.match(String(answer?.error_description), /sent as a form.* Content-Type: application\/json\.$/, one.path);
  }
  const file = '--b\r\ncontent-disposition: form-data; name="content"; filename="a.png"\r\n\r\nx\r\n--b--\r\n';
  const upload = await send({ method: 'PUT', path: '/v1/me/picture' }, 'multipart/form-data; boundary=b', file);
  assert.match(String(upload.json?.error_description), /sent as a form/);
});

test('JSON at an endpoint that takes a form is told so, whether it is well-formed or a form with a wrong type', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const send = await sender(signet);
  const forms = (await operationsOf(signet)).filter(({ type }) => type === form);
  assert.ok(forms.some(({ path }) => path === '/oauth/token'));
  for (const one of forms) {
    for (const body of ['{"grant_type":"refresh_token"}', 'grant_type=refresh_token']) {
      const { status, json: answer } = await send(one, json, body);
      assert.equal(status, 400, one.path);
      assert.match(String(answer?.error_description), /sent as JSON.*x-www-form-urlencoded\.$/, one.path);
    }
  }
});

test('a compressed body is refused as one, before it is read', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const send = await sender(signet);
  for (const one of await operationsOf(signet)) {
    if (one.type === undefined) continue;
    const answer = await send(one, one.type, gzipSync('{}'), { 'content-encoding': 'gzip' });
    assert.deepEqual([answer.status, answer.json?.error], [415, 'unsupported_media_type'], one.path);
    assert.match(String(answer.json?.error_description), /^Compressed bodies are not accepted/);
    assert.equal(answer.headers.get('accept-encoding'), 'identity');
  }
  const plain = await send({ method: 'PATCH', path: '/v1/me' }, json, '{"name":"Ada"}', {
    'content-encoding': 'identity',
  });
  assert.equal(plain.status, 200, plain.text);
});

test('a member that would replace a prototype is named, at any depth', async (t) => {
  const signet = await startSignet(t);
  const { user_id } = await signet.newUser();
  const { authorization } = await signet.newService();
  const write = JSON.stringify(writeOf(user_id, { metadata: { a: 1 } }));
  const send = (metadata: string) =>
    signet.newBrowser().send('/v1/entitlements', {
      method: 'POST',
      headers: { authorization, 'content-type': json },
      body: write.replace('{"a":1}', metadata),
    });
  for (const metadata of [
    '{"__proto__":"x"}',
    '{"a":[{"\\u005f_proto__":{}}]}',
    '{"a":{"constructor":{"prototype":{}}}}',
  ]) {
    const { status, json: answer } = await send(metadata);
    assert.equal(status, 400);
    assert.match(String(answer?.error_description), /^The body has a member __proto__ or constructor\.prototype/);
  }
  assert.equal((await send('{"constructor":"brick","prototype":1}')).status, 200);
});

test('what takes no body takes an empty one of any type, and refuses any other', async (t) => {
  const signet = await startSignet(t, { env: { SIGNET_RATE_LIMITS: 'off' } });
  const send = await sender(signet);
  const { browser } = await signet.signedInUser();
  for (const type of [json, form, 'text/plain', 'x/y']) {
    const headers = { origin: signet.url, 'content-type': type, accept: json };
    const answer = await browser.send('/v1/me/2fa/totp/enroll', { method: 'POST', body: '', headers });
    assert.equal(answer.status, 200, type);
  }
  assert.equal((await browser.postJson('/v1/me/2fa/totp/enroll', {})).status, 200);
  const without = (await operationsOf(signet)).filter(
    ({ type, method, path }) => type === undefined && !['GET', 'DELETE'].includes(method) && path.startsWith('/v1/'),
  );
  assert.ok(without.length > 5);
  for (const one of without) {
    const { status, json: answer } = await send(one, json, '{"x":1}');
    assert.deepEqual([status, answer?.error], [400, 'invalid_request'], one.path);
    assert.match(String(answer?.error_description), /does not accept a body/, one.path);
  }
});

test("a service credential at a client's endpoint hears what it is, and a client's secret at a service's", async (t) => {
  const signet = await startSignet(t);
  const service = await signet.newService({ permissions: ['entitlements:write', 'tokens:introspect'] });
  const client = await signet.registerClient();
  const clientBasic = basic(client.client_id, client.client_secret ?? '');
  for (const path of ['/oauth/token', '/oauth/revoke']) {
    for (const sent of [
      [{ token: 'x', grant_type: 'refresh_token' }, { authorization: service.authorization }],
      [{ token: 'x', grant_type: 'refresh_token', client_id: service.client_id, client_secret: 'x' }, {}],
    ] as const) {
      const { status, json: answer } = await signet.newBrowser().post(path, sent[0], sent[1]);
      assert.deepEqual([status, answer?.error], [401, 'invalid_client']);
      assert.match(
        String(answer?.error_description),
        /service credential gets no tokens.* takes the ID and secret of a client/,
      );
    }
  }
  const write = await signet.newBrowser().postJson('/v1/entitlements', {}, { authorization: clientBasic });
  assert.deepEqual([write.status, write.json?.error], [401, 'invalid_client']);
  assert.match(String(write.json?.error_description), /takes a service credential.*client's ID and secret are not/);
});

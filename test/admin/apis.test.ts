import assert from 'node:assert/strict';
import { message, sentence } from '../support/messages.ts';
import { redirectedTo, tokensOf } from '../support/relying-party.ts';
import { testSignet } from '../support/signet.ts';

const wanted = {
  identifier: 'https://files.test',
  name: 'Files',
  scope: 'files:read',
  sentence_en: 'Read your files',
  sentence_de: 'Deine Dateien lesen',
};

testSignet(
  'an administrator registers an API, an owner asks for its scope, and a token is for it',
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const made = await admin.browser.postJson('/v1/admin/apis', wanted);
    assert.equal(made.status, 200, made.text);
    const api_id = String(made.json?.api_id);
    const owner = await signet.signedInUser();
    const client = await signet.registerClient({
      owner,
      allowed_scopes: ['openid', 'files:read'],
      consent: 'required',
    });
    const review = await admin.browser.get(`/admin/clients/${client.client_id}`);
    assert.match(review.text, /files:read/);
    const asked = await owner.browser.get(client.authorizePath({ scope: 'openid files:read' }), {
      'accept-language': 'de',
    });
    const consent = await owner.browser.get(asked.location ?? '', { 'accept-language': 'de' });
    assert.match(consent.text, /Files/);
    const request = new URLSearchParams(asked.location?.split('?')[1]).get('request') ?? '';
    const allowed = await owner.browser.post('/consent', { request, user: owner.user_id, decision: 'allow' });
    const code = redirectedTo(await owner.browser.get(allowed.location ?? '')).get('code') ?? '';
    const { access_token } = tokensOf(await client.redeem(code));
    assert.deepEqual((await client.introspect(access_token)).json?.aud, [client.client_id, 'https://files.test']);
    const apps = await owner.browser.get('/account/apps');
    assert.match(apps.text, /Read your files<\/bdi> \(at <bdi>Files<\/bdi>\)/);
    const events = await signet.auditLog({ target: api_id });
    assert.deepEqual(
      events.map(({ action }) => action),
      ['api.registered'],
    );

    const retired = await admin.browser.postJson(`/v1/admin/apis/${api_id}/retire`, {});
    assert.equal(retired.status, 204, retired.text);
    assert.equal((await client.introspect(access_token)).json?.active, false);
    assert.equal((await admin.browser.get(`/v1/admin/apis/${api_id}`, { accept: 'application/json' })).status, 404);
  },
);

testSignet('the pages of APIs register, add, change and retire, and say what is wrong', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const list = '/admin/apis';
  const empty = await admin.browser.get(list);
  assert.match(empty.text, sentence('admin.apis.none'));
  const refused = await admin.browser.post(list, { ...wanted, identifier: 'https://files.test/#part' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, sentence('problem.api.identifier'));
  const made = await admin.browser.post(list, wanted);
  const page = made.location?.split('?')[0] ?? '';
  assert.match(page, /^\/admin\/apis\/api_[\w-]{22}$/);
  assert.match((await admin.browser.get(made.location ?? '')).text, sentence('admin.apis.done.registered'));
  for (const [path, fields, done] of [
    ['/scopes', { scope: 'files:write', sentence_en: 'Change your files' }, 'scope_set'],
    ['/scopes', { scope: 'files:write', sentence_en: 'Change any of your files' }, 'scope_set'],
    ['/scopes', { scope: 'files:write', sentence_en: 'Change any of your files' }, 'unchanged'],
    ['/edit', { name: 'Files of the office', description: 'On the\r\nthird floor.' }, 'saved'],
    ['/retire-scope', { scope: 'files:write' }, 'scope_retired'],
  ] as const) {
    const answer = await admin.browser.post(page + path, fields);
    assert.equal(answer.location, `${page}?done=${done}`, `${path} ${answer.status} ${answer.text.slice(0, 400)}`);
  }
  assert.match((await admin.browser.get(page)).text, /On the third floor\./);
  const last = await admin.browser.post(`${page}/retire-scope`, { scope: 'files:read' });
  assert.match(last.text, sentence('problem.api.last_scope'));
  assert.equal((await admin.browser.post(`${page}/retire`, {})).location, `${list}?done=retired`);
  assert.equal((await admin.browser.get(page)).status, 404);
});

testSignet('what an API cannot be is refused with each field, and changes nothing', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const post = async (body: object, path = '') => admin.browser.postJson(`/v1/admin/apis${path}`, body);
  const first = await post(wanted);
  const path = `/${String(first.json?.api_id)}`;
  const wrong: [object, string][] = [
    [{ identifier: 'https://FILES.test/' }, 'identifier'],
    [{ identifier: signet.url }, 'identifier'],
    [{ identifier: 'https://user:secret@files.test' }, 'identifier'],
    [{ identifier: 'javascript:alert(1)' }, 'identifier'],
    [{ identifier: 'files' }, 'identifier'],
    [{ name: '‮' }, 'name'],
    [{ scope: 'openid' }, 'scopes/0/name'],
    [{ scope: 'groups' }, 'scopes/0/name'],
    [{ scope: 'files:read' }, 'scopes/0/name'],
    [{ sentence_en: undefined, sentence_de: undefined }, 'scopes/0/descriptions'],
  ];
  for (const [changes, field] of wrong) {
    const answer = await post({ ...wanted, identifier: 'https://other.test', scope: 'other:read', ...changes });
    const fields = (answer.json?.fields ?? []) as { path: string }[];
    assert.deepEqual([answer.status, fields.map(({ path }) => path)], [400, [field]], JSON.stringify(changes));
  }
  assert.equal((await post({ scope: 'files:write', sentence_en: 'x' }, `${path}/scopes`)).status, 200);
  assert.equal((await post({ scope: 'files:write' }, `${path}/retire-scope`)).status, 200);
  const again = await post({ scope: 'files:write', sentence_en: 'x' }, `${path}/scopes`);
  assert.match(String(JSON.stringify(again.json)), /never used again/);
  assert.equal((await post({ scope: 'unknown' }, `${path}/retire-scope`)).status, 404);
  const user = await signet.signedInUser();
  assert.equal((await user.browser.postJson('/v1/admin/apis', wanted)).status, 403);
  const { apis } = (await admin.browser.get('/v1/admin/apis', { accept: 'application/json' })).json as {
    apis: unknown[];
  };
  assert.equal(apis.length, 1);
});

testSignet('a credential of an API introspects, and does nothing else', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const api_id = String((await admin.browser.postJson('/v1/admin/apis', wanted)).json?.api_id);
  const create = (body: object) => admin.browser.postJson('/v1/admin/service-credentials', { name: 'Files', ...body });
  assert.equal((await create({ permissions: ['tokens:introspect'], api_id })).json?.api_id, api_id);
  for (const wrong of [
    { permissions: ['tokens:introspect', 'entitlements:write'], products: ['editor'], api_id },
    { permissions: ['tokens:introspect'], api_id: 'api_unknown' },
  ])
    assert.equal((await create(wrong)).status, 400, JSON.stringify(wrong));
  const made = await admin.browser.post('/admin/service-credentials', {
    name: 'Files',
    'permission:tokens:introspect': 'on',
    api: api_id,
  });
  assert.match(made.text, /ss_[\w-]{43}/);
  assert.ok(message('admin.services.api'));
});

testSignet(
  'whether tokens of an API carry a status is chosen by form, API and command, and nothing else changes it',
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const { location } = await admin.browser.post('/admin/apis', { ...wanted, token_status: 'list' });
    const page = location?.split('?')[0] ?? '';
    const path = `/v1/admin${page.slice('/admin'.length)}`;
    const statusNow = async () => (await admin.browser.get(path, { accept: 'application/json' })).json?.token_status;
    assert.equal(await statusNow(), 'list');
    assert.match((await admin.browser.get(page)).text, /name="token_status" value="list"[^>]* checked/);
    assert.equal((await admin.browser.patch(path, { name: 'Other' })).status, 200);
    assert.equal(await statusNow(), 'list');
    assert.equal((await admin.browser.post(`${page}/edit`, { name: 'Other' })).location, `${page}?done=saved`);
    assert.equal(await statusNow(), 'none');
    assert.equal((await admin.browser.patch(path, { token_status: 'some' })).status, 400);
    assert.equal((await admin.browser.patch(path, { token_status: 'list' })).status, 200);
    assert.equal(await statusNow(), 'list');
  },
);

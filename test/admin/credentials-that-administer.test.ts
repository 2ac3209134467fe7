import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  administrativePermissions,
  delegablePermissions,
  isDelegable,
  isForPrograms,
  takesTwoFactors,
} from '../../src/accounts/permissions.ts';
import { lesserRoles, permissionsOfRole } from '../../src/accounts/roles.ts';
import { readLog } from '../../src/audit/read-log.ts';
import english from '../../src/platform/i18n/en.json' with { type: 'json' };
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';

const path = '/v1/admin/service-credentials';

/** As a program: JSON, by HTTP Basic. */
async function send({ url }: Signet, authorization: string, method: string, to: string, body?: object) {
  const answer = await fetch(url + to, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  return { status: answer.status, text, json: text ? (JSON.parse(text) as Record<string, unknown>) : {} };
}

async function administratorWithTwoFactors(signet: Signet): Promise<TestUser> {
  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.enableTotp();
  return admin;
}

const wanted = { name: 'Sync', permissions: ['users:read'], expires_in_days: 90 };

testSignet('only a person with a second factor makes and changes what administers (AT-06)', async ({ signet }) => {
  const admin = await signet.signedInUser({ role: 'admin' });
  const { client_id } = await signet.newService({ permissions: ['users:read'], products: [], expires_in_days: 9 });
  const ordinary = await signet.newService();
  const terms = { permissions: wanted.permissions, expires_in_days: 9 };
  const attempts = [
    () => admin.browser.postJson(path, wanted),
    () => admin.browser.postEmpty(`${path}/${client_id}/rotate`),
    () => admin.browser.patch(`${path}/${client_id}`, { permissions: ['tokens:introspect'] }),
    () => admin.browser.patch(`${path}/${ordinary.client_id}`, terms),
  ];
  for (const attempt of attempts) {
    const { status, json } = await attempt();
    assert.deepEqual([status, json?.error, json?.acr_values], [403, 'reauthentication_required', 'urn:signet:acr:2fa']);
  }
  const form = { name: 'Sync', 'permission:users:read': 'on', expires_in_days: '90' };
  const sent = await admin.browser.post('/admin/service-credentials', form);
  assert.match(sent.location ?? '', /^\/signin\/set-up/);
  // What administers nothing takes what it took before, and a leak is ended at once.
  assert.equal((await admin.browser.postEmpty(`${path}/${ordinary.client_id}/rotate`)).status, 200);
  assert.equal((await admin.browser.postEmpty(`${path}/${client_id}/retire`)).status, 200);

  await admin.enableTotp();
  for (const attempt of [attempts[0], attempts[3]]) assert.equal((await attempt?.())?.status, 200);
  signet.clock.advance(901);
  assert.equal((await admin.browser.postJson(path, wanted)).json?.error, 'reauthentication_required');
});

test('a credential that administers ends within a year, and is taken from the addresses that it says', async (t) => {
  const signet = await startSignet(t);
  const admin = await administratorWithTwoFactors(signet);
  const make = (more: object) => admin.browser.postJson(path, { ...wanted, ...more });
  const refusedFields = async (more: object) => {
    const { status, json } = await make(more);
    assert.equal(status, 400, JSON.stringify(more));
    return (json as { fields: { path: string }[] }).fields.map((field) => field.path);
  };
  assert.deepEqual(await refusedFields({ expires_in_days: null }), ['expires_in_days']);
  assert.deepEqual(await refusedFields({ expires_in_days: undefined }), ['expires_in_days']);
  assert.deepEqual(await refusedFields({ expires_in_days: 367 }), ['expires_in_days']);
  for (const wrong of ['192.0.2.0/33', 'example.com', 'fe80::1%eth0', '', '1.2.3', '10.0.0.1/8/8'])
    assert.deepEqual(await refusedFields({ addresses: [wrong] }), ['addresses'], wrong);
  const many = Array.from({ length: 51 }, (_, place) => `192.0.2.${place}`);
  assert.equal((await make({ addresses: many })).status, 400);

  const made = await make({ addresses: ['192.0.2.7', '10.0.0.0/8'] });
  const now = Math.floor(signet.clock() / 1000);
  assert.deepEqual([made.json?.addresses, made.json?.expires_at], [['192.0.2.7', '10.0.0.0/8'], now + 90 * 86_400]);
  const id = String(made.json?.client_id);
  // What is not said stays: a narrower permission must not open it to the world.
  const narrowed = await admin.browser.patch(`${path}/${id}`, { permissions: ['audit:read'] });
  assert.deepEqual(
    [narrowed.json?.addresses, narrowed.json?.expires_at],
    [made.json?.addresses, made.json?.expires_at],
  );
  const endless = await admin.browser.patch(`${path}/${id}`, { permissions: ['audit:read'], expires_in_days: null });
  assert.equal(endless.status, 400);
  const longest = { permissions: ['entitlements:write'], products: ['editor'], expires_in_days: 3660 };
  assert.equal((await admin.browser.patch(`${path}/${id}`, longest)).status, 200);
  const back = await admin.browser.patch(`${path}/${id}`, { permissions: ['audit:read'] });
  assert.equal(back.status, 400, 'it would administer for ten years');
});

testSignet(
  'the address and the end hold for entitlements and introspection, too (AT-02, AT-03)',
  async ({ signet }) => {
    const elsewhere = await signet.newService({ addresses: ['192.0.2.0/24'] });
    const user = await signet.newUser();
    const write = { user_id: user.user_id, product: 'editor', plan: 'pro', status: 'active', source: 's', version: 1 };
    const refused = await send(signet, elsewhere.authorization, 'POST', '/v1/entitlements', write);
    assert.deepEqual([refused.status, refused.json.error], [403, 'access_denied']);
    assert.match(String(refused.json.error_description), /127\.0\.0\.1|::1/);
    const short = await signet.newService({
      expires_in_days: 1,
      permissions: ['entitlements:write', 'tokens:introspect'],
    });
    assert.equal((await send(signet, short.authorization, 'POST', '/v1/entitlements', write)).status, 200);
    signet.clock.advance(86_400);
    const late = await send(signet, short.authorization, 'POST', '/v1/entitlements', { ...write, version: 2 });
    assert.deepEqual([late.status, late.json.error], [401, 'invalid_client']);
    assert.match(String(late.json.error_description), /expired/);
    const introspected = await signet.postForm(
      '/oauth/introspect',
      { token: 'x' },
      { authorization: short.authorization },
    );
    assert.equal(introspected.status, 401);
  },
);

testSignet(
  'no input of a permitted operation makes an administrator or opens an account (AT-04)',
  async ({ signet }) => {
    const user = await signet.signedInUser();
    const admin = await signet.signedInUser({ role: 'admin' });
    await signet.newUser({ role: 'admin' });
    const { authorization } = await signet.newService({ permissions: delegablePermissions, expires_in_days: 1 });
    const one = `/v1/admin/users/${user.user_id}`;
    const tried: [string, string, object][] = [
      ['POST', '/v1/admin/users/invite', { email: 'x@example.com', role: 'admin' }],
      ['PATCH', one, { email: 'x@example.com', reason: 'x' }],
      ['PATCH', one, { email_verified: true, reason: 'x' }],
      ['POST', '/v1/admin/users/bulk', { action: 'make_administrator', user_ids: [user.user_id], reason: 'x' }],
      ['POST', '/v1/admin/users/bulk', { action: 'remove_administrator', user_ids: [admin.user_id], reason: 'x' }],
    ];
    for (const [method, to, body] of tried) {
      const answer = await send(signet, authorization, method, to, body);
      assert.deepEqual([answer.status, answer.json.error], [403, 'access_denied'], `${method} ${to}: ${answer.text}`);
      assert.match(answer.text, /takes a person/);
    }
    const against = `/v1/admin/users/${admin.user_id}`;
    const harm: [string, string, object][] = [
      ['POST', `${against}/disable`, { reason: 'x' }],
      ['POST', `${against}/sign-out`, { reason: 'x' }],
      ['POST', `${against}/export`, { reason: 'x' }],
      ['PATCH', against, { name: 'X', reason: 'x' }],
      ['DELETE', against, { email: admin.email, reason: 'x' }],
    ];
    for (const [method, to, body] of harm) {
      const answer = await send(signet, authorization, method, to, body);
      assert.equal(answer.status, 403, `${method} ${to}: ${answer.text}`);
      assert.match(answer.text, /cannot do this to an administrator/);
    }
    assert.equal((await admin.browser.get('/admin')).status, 200);
    assert.equal((await send(signet, authorization, 'PATCH', one, { name: 'X', reason: 'x' })).status, 200);
  },
);

testSignet('who holds a credential and the credential are one where two have to agree (AT-07)', async ({ signet }) => {
  const admin = await administratorWithTwoFactors(signet);
  const made = await admin.browser.postJson(path, {
    ...wanted,
    permissions: ['clients:read', 'clients:write', 'clients:approve'],
  });
  const { client_id, client_secret } = made.json as { client_id: string; client_secret: string };
  const authorization = `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`;
  const approve = (id: string) =>
    send(signet, authorization, 'POST', `/v1/admin/clients/${id}/approve`, {
      revision: 1,
      consent: 'required',
    });

  const own = await signet.registerClient({ owner: admin, approved: false });
  const refused = await approve(own.client_id);
  assert.equal(refused.status, 403, refused.text);
  const registered = await send(signet, authorization, 'POST', '/v1/admin/clients', {
    name: 'Made by a program',
    client_type: 'confidential',
    redirect_uris: ['https://made.example/callback'],
  });
  assert.equal(registered.status, 200, registered.text);
  const theirs = String(registered.json.client_id);
  assert.equal((await approve(theirs)).status, 403, 'the credential approves what it has registered');
  const body = { revision: 1, consent: 'required' };
  const byMaker = await admin.browser.postJson(`/v1/admin/clients/${theirs}/approve`, body);
  assert.equal(byMaker.status, 403, `its maker approves it: ${byMaker.text}`);

  const other = await signet.signedInUser({ role: 'admin' });
  const byOther = await other.browser.postJson(`/v1/admin/clients/${theirs}/approve`, body);
  assert.equal(byOther.status, 200, byOther.text);
  const owner = await signet.signedInUser();
  const ofUser = await signet.registerClient({ owner, approved: false });
  const approved = await approve(ofUser.client_id);
  assert.equal(approved.status, 200, approved.text);
});

onBothEngines(
  'each act names the credential in the audit log, and is found as administration (AT-08)',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const admin = await signet.signedInUser({ role: 'admin' });
    const user = await signet.newUser();
    const { client_id, authorization } = await signet.newService({
      permissions: ['users:write', 'entitlements:write'],
      expires_in_days: 1,
    });
    const done = await send(signet, authorization, 'PATCH', `/v1/admin/users/${user.user_id}`, {
      name: 'Ada',
      reason: 'x',
    });
    assert.equal(done.status, 200, done.text);
    const write = { user_id: user.user_id, product: 'editor', plan: 'pro', status: 'active', source: 's', version: 1 };
    assert.equal((await send(signet, authorization, 'POST', '/v1/entitlements', write)).status, 200);
    const [event] = await signet.auditLog({ action: 'user.changed', target: user.user_id });
    assert.deepEqual([event?.actor, event?.reason], [`service:${client_id}`, 'x']);
    assert.match(event?.address ?? '', /127\.0\.0\.1|::1/);

    const actions = async (query: string) => {
      const page = await admin.browser.get(`/admin/audit?${query}`);
      assert.match(
        page.text,
        new RegExp(`<a href="/admin/service-credentials/${client_id}">(?:<bdi>)?Billing(?:</bdi>)?</a>`),
      );
      return page.text;
    };
    const words = sentence('admin.audit.event.user.changed', { actor: 'Billing', user: 'Ada', self: 'other' });
    assert.match((await actions(`who=${client_id}`)).replaceAll(/<[^>]+>/g, ''), words);
    assert.match((await actions(`actor=service:${client_id}`)).replaceAll(/<[^>]+>/g, ''), words);
    const byAdministrators = await actions('by=administrators');
    assert.match(byAdministrators.replaceAll(/<[^>]+>/g, ''), words);
    const found = await readLog(signet.deps, { administrators: 'any' }, 100);
    const byService = found.events.filter(({ actor }) => actor === `service:${client_id}`);
    assert.deepEqual(
      byService.map(({ action }) => action),
      ['user.changed'],
      'an entitlement is no administration',
    );
  },
);

test('the page makes a credential that administers, shows its end and addresses, and extends it', async (t) => {
  const signet = await startSignet(t);
  const admin = await administratorWithTwoFactors(signet);
  const list = '/admin/service-credentials';
  const form = { name: 'Sync', 'permission:users:read': 'on', addresses: '192.0.2.7\r\n 10.0.0.0/8 ' };
  const endless = await admin.browser.post(list, { ...form, expires_in_days: 'never' });
  assert.equal(endless.status, 400);
  assert.match(endless.text, sentence('problem.service.expires_to_administer', { max: '366' }));
  assert.match(endless.text, /name="permission:users:read" value="on" checked/);
  const made = await admin.browser.post(list, { ...form, expires_in_days: '30' });
  const [, id = ''] = /href="\/admin\/service-credentials\/(svc_[\w-]+)"/.exec(made.text) ?? [];
  const page = (await admin.browser.get(`${list}/${id}`)).text;
  assert.match(page, /192\.0\.2\.7, 10\.0\.0\.0\/8/);
  assert.match(page, /<option value="keep">/);

  const restrict = { 'permission:users:read': 'on', addresses: '', expires_in_days: 'keep' };
  assert.equal((await admin.browser.post(`${list}/${id}/restrict`, restrict)).status, 303);
  const read = async () =>
    (await admin.browser.get(path)).json?.service_credentials as { addresses: string[]; expires_at: number }[];
  const now = Math.floor(signet.clock() / 1000);
  const [kept] = await read();
  assert.deepEqual(kept?.addresses, []);
  assert.ok(kept && kept.expires_at > now + 29 * 86_400);
  await admin.browser.post(`${list}/${id}/restrict`, { ...restrict, expires_in_days: '365' });
  assert.ok(((await read())[0]?.expires_at ?? 0) >= now + 365 * 86_400);
});

test('the page of the documentation has each permission, with the sentence that people read', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/administration-by-token.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([\w-]+:[\w-]+)` \| (.+) \| (.+) \| (.+) \|$/gm)].map(([, ...cells]) => cells);
  const givenTo = (name: (typeof administrativePermissions)[number]) => {
    if (isForPrograms(name)) return 'service credentials';
    if (isDelegable(name)) return 'people and service credentials';
    return takesTwoFactors(name) ? 'people with a second factor' : 'people';
  };
  assert.deepEqual(
    rows,
    administrativePermissions.map((name) => [
      name,
      english[`admin.services.permission.${name}`],
      givenTo(name),
      lesserRoles.filter((role) => permissionsOfRole[role].has(name)).join(', ') || '-',
    ]),
  );
});

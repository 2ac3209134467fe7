import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { preparedSettings, runCommand, succeed } from '../support/command-line.ts';
import { onBothEngines } from '../support/databases.ts';
import { pattern } from '../support/messages.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { type Options, type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { client_id, client_secret, signInUpstream, startUpstream, type Upstream } from '../support/upstream.ts';

const path = '/v1/admin/providers';
/** What the operator must allow for an issuer on this machine. */
const internal = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8,::1' };

type World = { signet: Signet; upstream: Upstream; admin: TestUser; wanted: Record<string, unknown> };

async function world(t: TestContext, options: Options = {}): Promise<World> {
  let clock = () => 0;
  const upstream = await startUpstream(t, () => clock());
  const signet = await startSignet(t, { ...options, env: { ...internal, ...options.env } });
  clock = () => Math.floor(signet.clock() / 1000);
  const admin = await signet.signedInUser({ role: 'admin' });
  await admin.enableTotp();
  return {
    signet,
    upstream,
    admin,
    wanted: { id: 'acme', issuer: upstream.issuer, label: 'Acme', client_id, client_secret },
  };
}

const idsAt = async (signet: Signet) =>
  ((await signet.newBrowser().get('/v1/auth/providers')).json!.providers as { id: string }[]).map(({ id }) => id);

onBothEngines(
  'a provider that an administrator adds signs people in on every node within a second, until it is disabled',
  async (t, engine) => {
    const { signet, upstream, admin, wanted } = await world(t, { engine });
    const other = await startSignet(t, { engine, beside: signet, env: internal });
    assert.deepEqual([await idsAt(signet), await idsAt(other)], [[], []]);
    const added = await admin.browser.postJson(path, wanted);
    assert.equal(added.status, 200, added.text);
    assert.deepEqual(await idsAt(signet), ['acme']);
    signet.clock.advance(1);
    assert.deepEqual(await idsAt(other), ['acme']);

    const visitor = other.newBrowser();
    const { answer } = await signInUpstream(visitor);
    assert.deepEqual([answer.status, answer.location], [303, '/account'], answer.text);
    const me = (await visitor.get('/v1/me')).json;
    assert.equal(me?.email, 'ada@example.com');
    assert.deepEqual((me!.session as { amr: string[] }).amr, ['fed']);
    assert.deepEqual((await admin.browser.get(`${path}/acme`)).json?.people, {
      linked: 1,
      alone: 1,
      is_complete: true,
    });

    const before = upstream.requests.length;
    const disabled = await admin.browser.postEmpty(`${path}/acme/disable`);
    assert.equal(disabled.status, 200, disabled.text);
    assert.deepEqual(await idsAt(signet), [], 'at once where it was disabled');
    assert.equal((await admin.browser.postEmpty(`${path}/acme/disable`)).json?.error, 'invalid_state');
    signet.clock.advance(1);
    for (const node of [signet, other]) {
      assert.deepEqual(await idsAt(node), []);
      assert.equal((await node.newBrowser().get('/auth/acme/login')).status, 404);
      assert.doesNotMatch((await node.newBrowser().get('/signin')).text, /\/auth\/acme/);
    }
    assert.equal(upstream.requests.length, before, 'nothing is asked of one that is disabled');
    assert.equal((await visitor.get('/v1/me')).status, 200, 'sessions go on');

    assert.equal((await admin.browser.postEmpty(`${path}/acme/enable`)).status, 200);
    const removed = await admin.browser.delete(`${path}/acme`);
    assert.deepEqual([removed.status, removed.json], [200, { linked: 1, alone: 1, is_complete: true }]);
    assert.equal((await admin.browser.get(`${path}/acme`)).status, 404);
    assert.deepEqual(await idsAt(signet), []);
    // The connection is kept for a provider of the same issuer, whatever it is called.
    assert.equal((await admin.browser.postJson(path, { ...wanted, id: 'again' })).status, 200);
    const again = signet.newBrowser();
    assert.equal((await signInUpstream(again, '/auth/again/login')).answer.status, 303);
    assert.equal((await again.get('/v1/me')).json?.user_id, me?.user_id);
    const actions = (await signet.auditLog()).filter(({ action }) => action.startsWith('provider.'));
    assert.deepEqual(
      actions.map(({ action, target }) => `${action} ${target}`).reverse(),
      ['created acme', 'disabled acme', 'enabled acme', 'deleted acme', 'created again'].map((one) =>
        `provider.${one}`.replace(' ', ' provider:'),
      ),
    );
  },
);

onBothEngines(
  'the client secret of a provider is sealed in the store, replaced by an edit, and never told',
  async (t, engine) => {
    const { signet, admin, wanted } = await world(t, { engine });
    await admin.browser.postJson(path, { ...wanted, client_secret: 'not the right one' });
    const visitor = signet.newBrowser();
    assert.equal((await signInUpstream(visitor)).answer.status, 502);
    const edited = await admin.browser.patch(`${path}/acme`, { client_secret, label: 'Acme Inc.' });
    assert.equal(edited.status, 200, edited.text);
    assert.equal((await signInUpstream(visitor)).answer.status, 303, 'the new secret is used at once');
    assert.equal((await admin.browser.patch(`${path}/acme`, { client_secret, label: 'Acme Inc.' })).status, 200);
    const events = await signet.auditLog({ action: 'provider.edited' });
    assert.equal(events.length, 1, 'an edit that changes nothing is not recorded');
    assert.deepEqual(JSON.parse(events[0]?.after_state ?? ''), { label: 'Acme Inc.', secret_replaced: true });

    const rows = JSON.stringify(await plain(signet.deps.db).all('select * from providers'));
    const log = JSON.stringify(await signet.auditLog());
    const shown = [path, `${path}/acme`, '/admin/providers', '/admin/providers/acme', '/admin/settings'];
    const texts = await Promise.all(shown.map(async (page) => (await admin.browser.get(page)).text));
    for (const text of [rows, log, ...signet.logLines, ...texts]) {
      assert.ok(!text.includes(client_secret) && !text.includes('not the right one'));
    }
  },
);

test('a provider is added by a person with two factors, whose role is not new, and by no program', async (t) => {
  const { signet, admin, wanted } = await world(t);
  const nobody = await signet.signedInUser();
  assert.equal((await nobody.browser.postJson(path, wanted)).status, 403);
  assert.equal((await nobody.browser.get(path)).status, 403);

  const oneFactor = await signet.signedInUser({ role: 'admin' });
  const refused = await oneFactor.browser.postJson(path, wanted);
  assert.deepEqual(
    [refused.status, refused.json?.error, refused.json?.acr_values],
    [403, 'reauthentication_required', 'urn:signet:acr:2fa'],
  );
  assert.equal((await oneFactor.browser.get(path)).status, 200);

  const program = await signet.newService({ permissions: ['providers:read'], products: [], expires_in_days: 9 });
  const given = { headers: { authorization: `Basic ${btoa(`${program.client_id}:${program.client_secret}`)}` } };
  assert.equal((await fetch(signet.url + path, given)).status, 200);
  const sent = await fetch(signet.url + path, {
    method: 'POST',
    headers: { ...given.headers, 'content-type': 'application/json' },
    body: JSON.stringify(wanted),
  });
  assert.deepEqual([sent.status, ((await sent.json()) as { error: string }).error], [403, 'access_denied']);

  const accomplice = await signet.signedInUser();
  const role = await admin.browser.put(`/v1/admin/users/${accomplice.user_id}/role`, {
    role: 'admin',
    reason: 'Joins.',
  });
  assert.ok(role.status < 300, role.text);
  const fresh = await accomplice.signedInElsewhere();
  await fresh.enableTotp();
  const tooNew = await fresh.browser.postJson(path, wanted);
  assert.deepEqual([tooNew.status, tooNew.json?.error], [403, 'access_denied'], tooNew.text);
  assert.deepEqual(await idsAt(signet), []);

  signet.clock.advance(901);
  assert.equal((await admin.browser.postJson(path, wanted)).json?.error, 'reauthentication_required');
});

test('what cannot be a provider is refused at its field, and changes nothing', async (t) => {
  const second = await startUpstream(t, () => 0);
  const env = {
    SIGNET_PROVIDER_CORP_ISSUER: second.issuer,
    SIGNET_PROVIDER_CORP_CLIENT_ID: 'c',
    SIGNET_PROVIDER_CORP_CLIENT_SECRET: 's',
  };
  const { signet, upstream, admin, wanted } = await world(t, { env });
  const fieldsOf = async (changes: Record<string, unknown>) => {
    const { status, json, text } = await admin.browser.postJson(path, { ...wanted, ...changes });
    assert.equal(status, 400, text);
    return ((json?.fields ?? []) as { path: string }[]).map((field) => field.path);
  };
  for (const id of ['Acme', '1acme', 'a-b', 'a'.repeat(21), '', '__proto__'])
    assert.deepEqual(await fieldsOf({ id }), ['id'], id);
  assert.deepEqual(await fieldsOf({ id: 'corp' }), ['id'], 'the settings have it');
  assert.deepEqual(await fieldsOf({ issuer: second.issuer }), ['issuer'], 'the settings have it');
  for (const issuer of [
    'http://id.acme.example',
    'https://u@acme.example',
    'https://a.example/?q',
    'ftp://a',
    undefined,
  ])
    assert.deepEqual(await fieldsOf({ issuer }), ['issuer'], String(issuer));
  assert.deepEqual(await fieldsOf({ label: 'x'.repeat(41) }), ['label']);
  assert.deepEqual(await fieldsOf({ label: undefined }), ['label']);
  assert.deepEqual(await fieldsOf({ client_id: '', client_secret: 'é' }), ['client_id', 'client_secret']);
  assert.deepEqual(await fieldsOf({ groups_claim: 'a b', scope: 'a"b' }), ['groups_claim', 'scope']);
  upstream.lies.discovery = { issuer: 'https://elsewhere.example' };
  assert.deepEqual(await fieldsOf({}), ['issuer']);
  upstream.lies = { answer: { '/jwks': (response) => void response.writeHead(500).end() } };
  assert.deepEqual(await fieldsOf({}), ['issuer']);
  upstream.lies = {
    answer: { '/.well-known/openid-configuration': (response) => void response.end('x'.repeat(300_000)) },
  };
  assert.deepEqual(await fieldsOf({}), ['issuer']);
  upstream.lies = {};
  assert.deepEqual(await idsAt(signet), ['corp']);
  assert.equal((await signet.auditLog({ action: 'provider.created' })).length, 0);

  assert.equal((await admin.browser.postJson(path, wanted)).status, 200);
  assert.deepEqual(await fieldsOf({}), ['id'], 'it is taken');
  assert.deepEqual(await fieldsOf({ id: 'other' }), ['issuer'], 'it is taken');
  // Of the settings nothing is changed here.
  for (const change of [
    () => admin.browser.patch(`${path}/corp`, { label: 'Mine' }),
    () => admin.browser.postEmpty(`${path}/corp/disable`),
    () => admin.browser.delete(`${path}/corp`),
  ]) {
    const { status, json } = await change();
    assert.deepEqual([status, json?.error, json?.current_status], [409, 'invalid_state', 'from_settings']);
  }
  const page = await admin.browser.get('/admin/providers/corp');
  assert.match(page.text, /SIGNET|From settings/);
  assert.doesNotMatch(page.text, /provider-disable|provider-delete/);
});

test('an issuer inside the network is reached only where the operator allows it', async (t) => {
  const { signet, upstream, admin, wanted } = await world(t, { env: { SIGNET_WEBHOOK_INTERNAL: '10.0.0.0/8' } });
  const asked = upstream.requests.length;
  const { status, json, text } = await admin.browser.postJson(path, wanted);
  assert.equal(status, 400, text);
  assert.match(JSON.stringify(json), /SIGNET_WEBHOOK_INTERNAL/);
  assert.equal(upstream.requests.length, asked, 'no request was made');
  assert.deepEqual(await idsAt(signet), []);
});

onBothEngines('what a stored provider opens is a way to sign in as long as it is enabled', async (t, engine) => {
  const { signet, upstream, admin, wanted } = await world(t, { engine });
  await admin.browser.postJson(path, wanted);
  const user = await signet.signedInUser();
  upstream.account = { sub: 'theirs', email: user.email, email_verified: true };
  const there = signet.newBrowser();
  assert.equal((await signInUpstream(there)).answer.status, 303);
  assert.deepEqual((await admin.browser.get(`${path}/acme`)).json?.people, { linked: 1, alone: 0, is_complete: true });
  await admin.browser.postEmpty(`${path}/acme/disable`);
  const removal = () => user.browser.delete('/v1/me/password');
  const last = await removal();
  assert.deepEqual([last.status, last.json?.error], [409, 'invalid_state'], last.text);
  await admin.browser.postEmpty(`${path}/acme/enable`);
  const done = await removal();
  assert.equal(done.status, 204, done.text);
  assert.deepEqual((await admin.browser.get(`${path}/acme`)).json?.people, { linked: 1, alone: 1, is_complete: true });
});

test('settings that come later hide a stored provider of the same ID or issuer', async (t) => {
  const { signet, upstream, admin, wanted } = await world(t);
  await admin.browser.postJson(path, wanted);
  const settings = (id: string, issuer: string) => ({
    [`SIGNET_PROVIDER_${id}_ISSUER`]: issuer,
    [`SIGNET_PROVIDER_${id}_CLIENT_ID`]: 'c',
    [`SIGNET_PROVIDER_${id}_CLIENT_SECRET`]: 's',
  });
  for (const [id, issuer] of [
    ['ACME', 'https://new.example'],
    ['NEW', upstream.issuer],
  ] as const) {
    const node = await startSignet(t, { beside: signet, env: { ...internal, ...settings(id, issuer) } });
    assert.deepEqual(await idsAt(node), [id.toLowerCase()]);
    const listed = await node.deps.providers.read();
    assert.deepEqual(
      listed.all.map((one) => one.issuer),
      [issuer],
    );
  }
});

test('all administrators are notified of a provider that is added or enabled', async (t) => {
  const { signet, admin, wanted } = await world(t, { mail: true });
  const other = await signet.newUser({ role: 'admin' });
  await admin.browser.postJson(path, wanted);
  for (const { email } of [admin, other]) {
    const mail = await signet.mailbox.next(email, /Acme/);
    assert.match(mail.text, /verified email address/);
  }
});

onBothEngines('the command line does the same, and takes the client secret from no argument', async (t, engine) => {
  const settings = { ...(await preparedSettings(t, engine)), ...internal };
  const { issuer } = await startUpstream(t, () => Math.floor(Date.now() / 1000));
  const add = ['providers', 'add', 'acme', '--label', 'Acme', '--issuer', issuer, '--client-id', client_id];
  const without = await runCommand(add, { env: settings });
  assert.equal(without.code, 2);
  assert.match(without.stderr, /--client-secret-stdin/);
  const made = await succeed([...add, '--client-secret-stdin'], settings, client_secret);
  assert.deepEqual([made.id, made.source, made.disabled_at], ['acme', 'store', null]);
  assert.ok(!JSON.stringify(made).includes(client_secret));
  const help = await runCommand(['providers', 'add', '--help'], { env: settings });
  assert.doesNotMatch(help.stdout, /--client-secret[ =]/);

  assert.deepEqual((await succeed(['providers', 'check', 'acme'], settings)).problem, null);
  const edited = await succeed(['providers', 'edit', 'acme', '--label', 'Acme Inc.'], settings);
  assert.equal(edited.label, 'Acme Inc.');
  assert.match((await runCommand(['providers', 'edit', 'acme'], { env: settings })).stderr, /--client-secret-stdin/);
  await succeed(['providers', 'edit', 'acme', '--client-secret-stdin'], settings, 'another');
  assert.notEqual((await succeed(['providers', 'disable', 'acme'], settings)).disabled_at, null);
  assert.equal((await succeed(['providers', 'enable', 'acme'], settings)).disabled_at, null);
  assert.deepEqual((await succeed(['providers', 'show', 'acme'], settings)).people, {
    ...{ linked: 0, alone: 0, is_complete: true },
  });
  const { code, stdout } = await runCommand(['doctor', '--json'], { env: settings });
  assert.match(stdout, /"check":\s*"provider acme",\s*"state":\s*"ok"/, String(code));
  assert.equal((await succeed(['providers', 'remove', 'acme'], settings)).removed, 'acme');
  assert.deepEqual((await succeed(['providers', 'list'], settings)).providers, []);
});

test('an administrator adds, edits, disables and removes a provider by the pages', async (t) => {
  const { signet, upstream, admin } = await world(t);
  const post = (page: string, fields: Record<string, string> = {}) => admin.browser.post(page, fields);
  const form = {
    id: 'acme',
    issuer: upstream.issuer,
    label: 'Acme',
    client_id,
    client_secret,
    groups_claim: '',
    scope: '',
  };
  const wrong = await post('/admin/providers', { ...form, issuer: 'http://id.example' });
  assert.equal(wrong.status, 400);
  assert.match(wrong.text, pattern`id="issuer-problem"`);
  assert.match(wrong.text, pattern`value="Acme"`);
  assert.ok(!wrong.text.includes(client_secret));
  assert.equal((await post('/admin/providers', form)).location, '/admin/providers/acme?done=created');
  const checked = await post('/admin/providers/acme/check');
  assert.match(checked.text, /\/authorize/);
  const edit = { label: 'Acme Inc.', client_id, client_secret: '', groups_claim: 'groups', scope: 'groups' };
  assert.equal((await post('/admin/providers/acme/edit', edit)).location, '/admin/providers/acme?done=saved');
  assert.equal((await post('/admin/providers/acme/edit', edit)).location, '/admin/providers/acme?done=unchanged');
  assert.equal((await signInUpstream(signet.newBrowser())).answer.status, 303, 'the secret stayed');
  assert.equal(upstream.asked.get('scope'), 'openid email profile groups');
  assert.match(
    (await admin.browser.get('/admin/providers/acme')).text,
    /1 account is connected with it; it has no other/,
  );
  assert.equal((await post('/admin/providers/acme/disable')).location, '/admin/providers/acme?done=disabled');
  assert.equal((await post('/admin/providers/acme/enable')).location, '/admin/providers/acme?done=enabled');
  const history = await admin.browser.get(`/admin/audit?who=${encodeURIComponent('provider:acme')}`);
  assert.match(history.text, /enabled the sign-in provider/);
  assert.equal((await post('/admin/providers/acme/delete')).location, '/admin/providers?done=deleted');
  assert.deepEqual(await idsAt(signet), []);
});

onBothEngines(
  'a picture that is uploaded for a provider is on its button on every node, as it is drawn, until it is removed',
  async (t, engine) => {
    const { signet, admin, wanted } = await world(t, { engine });
    const other = await startSignet(t, { engine, beside: signet, env: internal });
    assert.equal((await admin.browser.postJson(path, wanted)).status, 200);
    const put = (file: Buffer) => admin.browser.put(`${path}/acme/logo`, { content: file.toString('base64') });
    const markAt = async (node: Signet) =>
      /id="signin-acme"[^>]*>(?:<img class="mark" src="([^"]+)" alt="")?/.exec(
        (await node.newBrowser().get('/signin')).text,
      )?.[1];

    for (const wrong of [
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      Buffer.alloc(0),
      pngOf({ width: 64, height: 32 }),
      pngOf({ width: 513, height: 513 }),
      pngOf({ width: 128, height: 128, level: 0 }).subarray(0, 8193),
      pngOf({ width: 64, height: 64 }).subarray(0, 60),
    ])
      assert.equal((await put(wrong)).status, 400);
    assert.equal(await markAt(signet), undefined);

    const answer = await put(Buffer.concat([pngOf({ text: 'taken at home' }), Buffer.from('<script>')]));
    assert.equal(answer.status, 200, answer.text);
    const mark = (await markAt(signet)) ?? assert.fail('no mark');
    assert.match(mark, /^\/provider-logos\/[0-9a-f]{32}$/);
    assert.equal(answer.json?.logo_url, signet.url + mark);
    signet.clock.advance(1);
    assert.equal(await markAt(other), mark);
    const served = await fetch(other.url + mark);
    assert.deepEqual(
      [served.status, served.headers.get('content-type'), served.headers.get('x-content-type-options')],
      [200, 'image/png', 'nosniff'],
    );
    assert.match(served.headers.get('content-security-policy') ?? '', /default-src 'none'; sandbox/);
    const bytes = Buffer.from(await served.arrayBuffer());
    assert.ok(!bytes.includes('taken') && !bytes.includes('script'), 'only what is drawn');
    assert.equal((await fetch(`${signet.url}/provider-logos/${'0'.repeat(32)}`)).status, 404);
    assert.equal((await fetch(`${signet.url}/provider-logos/x`)).status, 404);

    const page = await admin.browser.get('/admin/providers/acme');
    assert.ok(page.text.includes(`src="${mark}"`));
    const form = new FormData();
    form.set('content', new Blob([new Uint8Array(pngOf({ width: 32, height: 32 }))]), 'mark.png');
    const { 1: drawn_for = '' } = /name="drawn_for" value="([^"]+)"/.exec(page.text) ?? [];
    form.set('drawn_for', drawn_for);
    const uploaded = await admin.browser.send('/admin/providers/acme/logo', {
      method: 'POST',
      body: form,
      headers: { origin: signet.url },
    });
    assert.deepEqual([uploaded.status, uploaded.location], [303, '/admin/providers/acme?done=logo'], uploaded.text);
    const second = await markAt(signet);
    assert.notEqual(second, mark);
    assert.equal((await fetch(signet.url + mark)).status, 404, 'the one before is gone');
    const log = (await admin.browser.get('/v1/admin/audit?target=provider:acme&limit=2')).text;
    assert.ok(log.includes(second!.split('/').at(-1)!) && !log.includes('base64'));

    const removed = await admin.browser.delete(`${path}/acme/logo`);
    assert.deepEqual([removed.status, removed.json?.logo_url], [200, null]);
    assert.equal(await markAt(signet), undefined);
    assert.equal((await fetch(signet.url + second)).status, 404);
    const user = await signet.signedInUser();
    assert.equal((await user.browser.put(`${path}/acme/logo`, { content: 'AA==' })).status, 403);
  },
);

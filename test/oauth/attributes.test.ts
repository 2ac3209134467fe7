import assert from 'node:assert/strict';
import { deleteAttribute, editAttribute, finishAttributeDeletions } from '../../src/attributes/manage-attributes.ts';
import { newAttribute } from '../support/attributes.ts';
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { claimsOf, type RegisteredClient } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const caller = { actor: 'cli' } as const;
const work = 'userinfo:work';
const allowed = ['openid', 'profile', 'email', work];

async function setAttributes(signet: Signet, user_id: string, attributes: Record<string, unknown>): Promise<TestUser> {
  const admin = await signet.signedInUser({ role: 'admin' });
  const answer = await admin.browser.patch(`/v1/admin/users/${user_id}`, { attributes, reason: 'A test.' });
  assert.equal(answer.status, 200, answer.text);
  return admin;
}

const tokensFor = (user: TestUser, client: RegisteredClient, scope: string, claims?: object) =>
  user.obtainTokens(client, { scope, ...(claims && { claims: JSON.stringify(claims) }) });

async function agree({ browser, user_id }: TestUser, client: RegisteredClient, asking: { scope: string }) {
  const { location } = await browser.get(client.authorizePath(asking));
  const request = new URL(location ?? '', 'http://localhost').searchParams.get('request') ?? '';
  const { status } = await browser.post('/consent', { request, user: user_id, decision: 'allow' });
  assert.equal(status, 303);
}

onBothEngines('UA-01: an attribute is released under its scope and no other', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  await newAttribute(signet, 'department', { scope: work });
  await newAttribute(signet, 'badge', { value_type: 'integer' });
  await newAttribute(signet, 'remote', { value_type: 'boolean', scope: 'email' });
  await newAttribute(signet, 'teams', { value_type: 'strings', scope: work });
  await newAttribute(signet, 'empty', { scope: work });
  const user = await signet.signedInUser();
  const values = { department: 'Sales', badge: 0, remote: false, teams: ['red', 'blue'] };
  await setAttributes(signet, user.user_id, values);
  const client = await signet.registerClient({ allowed_scopes: allowed });
  const released: [scope: string, names: (keyof typeof values)[]][] = [
    ['openid', []],
    ['openid profile', ['badge']],
    ['openid email', ['remote']],
    [`openid ${work}`, ['department', 'teams']],
    [`openid email profile ${work}`, ['department', 'badge', 'remote', 'teams']],
  ];
  const ofAttributes = (claims: Record<string, unknown> = {}) =>
    Object.fromEntries(
      Object.keys({ ...values, empty: '' }).flatMap((name) => (name in claims ? [[name, claims[name]]] : [])),
    );
  const among = (names: (keyof typeof values)[]) => Object.fromEntries(names.map((name) => [name, values[name]]));
  for (const [scope, names] of released) {
    const { access_token, id_token } = await tokensFor(user, client, scope);
    assert.deepEqual(ofAttributes((await signet.userinfo(access_token)).json), among(names), scope);
    assert.deepEqual(ofAttributes(claimsOf(id_token)), {}, scope);
  }
  const inIdTokens = await signet.registerClient({ allowed_scopes: allowed, claims_in_id_token: true });
  for (const [scope, names] of released) {
    const { id_token } = await tokensFor(user, inIdTokens, scope);
    assert.deepEqual(ofAttributes(claimsOf(id_token)), among(names), scope);
  }
  const { access_token, id_token } = await tokensFor(user, client, 'openid', {
    userinfo: { department: null, badge: { essential: true }, nothing: null },
    id_token: { teams: null },
  });
  assert.deepEqual(ofAttributes((await signet.userinfo(access_token)).json), among(['department', 'badge']));
  assert.deepEqual(ofAttributes(claimsOf(id_token)), among(['teams']));
});

onBothEngines(
  'UA-02: who is not allowed the scope gets nothing by it, nor by the name of the claim',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    await newAttribute(signet, 'department', { scope: work });
    const user = await signet.signedInUser();
    await setAttributes(signet, user.user_id, { department: 'Sales' });
    const client = await signet.registerClient({ allowed_scopes: ['openid', 'profile', 'email'] });
    const asking = { userinfo: { department: null }, id_token: { department: null } };
    const { access_token, id_token, scope } = await tokensFor(user, client, `openid profile ${work}`, asking);
    assert.equal(scope, 'openid profile');
    assert.equal((await signet.userinfo(access_token)).json?.department, undefined);
    assert.equal(claimsOf(id_token).department, undefined);
  },
);

onBothEngines(
  'UA-03: a deleted attribute is released by no node within a second, and its values go',
  async (t, engine) => {
    const signet = await startSignet(t, { engine });
    const other = await startSignet(t, { engine, beside: signet });
    const { attribute_id } = await newAttribute(signet, 'department');
    await newAttribute(signet, 'badge');
    const users = await Promise.all(Array.from({ length: 7 }, () => signet.newUser()));
    const user = await signet.signedInUser();
    for (const { user_id } of [...users, user])
      await setAttributes(signet, user_id, { department: 'Sales', badge: '7' });
    const client = await signet.registerClient();
    const { access_token } = await tokensFor(user, client, 'openid profile');
    for (const node of [signet, other]) assert.equal((await node.userinfo(access_token)).json?.department, 'Sales');

    await deleteAttribute(signet.deps, caller, attribute_id);
    signet.clock.advance(1);
    for (const node of [signet, other]) {
      const claims = (await node.userinfo(access_token)).json;
      assert.deepEqual([claims?.department, claims?.badge], [undefined, '7']);
    }
    // Another one of the same name begins without values, although those of the first are still stored.
    await newAttribute(signet, 'department');
    signet.clock.advance(1);
    assert.equal((await other.userinfo(access_token)).json?.department, undefined);
    const stored = async () =>
      (await plain(signet.deps.db).all<{ attributes: string | null }>('select attributes from users')).filter(
        ({ attributes }) => attributes?.includes(attribute_id),
      );
    assert.equal((await stored()).length, 8);
    await other.runJobs();
    assert.equal((await stored()).length, 8);
    signet.clock.advance(60); // nobody still stores a value of it
    await other.runJobs();
    assert.deepEqual(await stored(), []);
    assert.equal((await signet.userinfo(access_token)).json?.badge, '7');
  },
);

testSignet('discovery names the claims of attributes, and no scope of theirs', async ({ signet }) => {
  await newAttribute(signet, 'department', { scope: work });
  await signet.runJobs();
  const { json } = await signet.newBrowser().get('/.well-known/openid-configuration');
  assert.ok((json!.claims_supported as string[]).includes('department'));
  assert.deepEqual(json?.scopes_supported, ['openid', 'profile', 'email', 'offline_access']);
});

testSignet('people read in words which attributes an app asks for, and what it gets', async ({ signet }) => {
  await newAttribute(signet, 'department', { scope: work, labels: { en: 'Department <b>', de: 'Abteilung' } });
  await newAttribute(signet, 'secret_note', { scope: work, is_shown: false, labels: { en: 'Note' } });
  await newAttribute(signet, 'badge', { labels: { en: 'Badge' } });
  const user = await signet.signedInUser();
  await setAttributes(signet, user.user_id, {
    department: '<script>alert(1)</script>',
    secret_note: 'hidden',
    badge: '7',
  });
  const client = await signet.registerClient({ allowed_scopes: allowed, consent: 'required' });
  const asked = await user.browser.get(client.authorizePath({ scope: `openid profile ${work}` }));
  const page = await user.browser.get(asked.location ?? '');
  assert.match(page.text, /See this about you: Department &lt;b&gt; and Note/);
  assert.match(page.text, /; also: Badge/);
  assert.match(page.text, /Department &lt;b&gt;: (<bdi>)?&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.match(page.text, /Badge: (<bdi>)?7/);
  assert.doesNotMatch(page.text, /hidden<|<script>alert/);
  // By name, beside the scope.
  const claims = JSON.stringify({ userinfo: { department: null } });
  const byName = await user.browser.get(client.authorizePath({ scope: 'openid', claims }));
  assert.match((await user.browser.get(byName.location ?? '')).text, /Department &lt;b&gt;/);
  const request = new URL(asked.location ?? '', signet.url).searchParams.get('request') ?? '';
  await user.browser.post('/consent', { request, user: user.user_id, decision: 'allow' });
  const apps = await user.browser.get('/account/apps');
  assert.match(apps.text, /See this about you: Department &lt;b&gt; and Note/);
  assert.doesNotMatch(apps.text, /hidden<|<script>alert/);
});

testSignet('a scope of attributes is known while there is one of them, and no API may have it', async ({ signet }) => {
  const owner = await signet.signedInUser();
  const register = (allowed_scopes: string[]) =>
    owner.browser.postJson('/v1/oauth/clients', {
      name: 'Quarry',
      client_type: 'confidential',
      redirect_uris: ['https://quarry.example.com/callback'],
      allowed_scopes,
    });
  const refused = await register(['openid', work]);
  assert.equal(refused.status, 400, refused.text);
  assert.match(refused.text, new RegExp(sentence('problem.client.unknown_scope').source));
  const { attribute_id } = await newAttribute(signet, 'department', { scope: work });
  assert.equal((await register(['openid', work])).status, 200);
  await editAttribute(signet.deps, caller, attribute_id, { scope: 'profile' });
  assert.equal((await register(['openid', work])).status, 400);
  const admin = await signet.signedInUser({ role: 'admin' });
  const api = await admin.browser.postJson('/v1/admin/apis', {
    identifier: 'https://files.example.com',
    name: 'Files',
    scope: work,
    sentence_en: 'Read files',
  });
  assert.equal(api.status, 400, api.text);
  assert.match(api.text, /scopes\/0\/name/);
});

onBothEngines('a scope that releases nothing any more is granted to no one', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const { attribute_id } = await newAttribute(signet, 'department', { scope: work });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ allowed_scopes: [...allowed, 'offline_access'], consent: 'required' });
  const asking = { scope: `openid ${work} offline_access` };
  await agree(user, client, asking);
  const first = await user.obtainTokens(client, asking);
  assert.equal(first.scope, asking.scope);
  await deleteAttribute(signet.deps, caller, attribute_id);
  signet.clock.advance(1);

  const refreshed = await client.refresh(first.refresh_token);
  assert.equal(refreshed.json?.scope, 'openid offline_access', refreshed.text);
  const other = await signet.signedInUser();
  await agree(other, client, asking);
  const then = await other.obtainTokens(client, asking);
  assert.equal(then.scope, 'openid offline_access');
  // Who has agreed to nothing is asked when the scope has come to mean something.
  await newAttribute(signet, 'salary', { scope: work });
  await setAttributes(signet, other.user_id, { salary: '5000' });
  signet.clock.advance(1);
  assert.equal((await signet.userinfo(then.access_token)).json?.salary, undefined);
  const asked = await other.browser.get(client.authorizePath(asking));
  assert.match(asked.location ?? '', /^\/consent/);
  assert.match((await other.browser.get(asked.location ?? '')).text, /The salary/);
});

onBothEngines('a node that does not know a new attribute yet leaves its values alone', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const other = await startSignet(t, { engine, beside: signet });
  await newAttribute(signet, 'department');
  const user = await signet.newUser();
  await other.deps.attributes.read();
  await newAttribute(signet, 'badge');
  await setAttributes(signet, user.user_id, { badge: '7' });
  const permissions = ['users:read', 'users:write'];
  const { authorization } = await signet.newService({ permissions, products: [], expires_in_days: 9 });
  const at = `${other.url}/v1/admin/users/${user.user_id}`;
  const answered = async (init: RequestInit) => {
    const headers = { authorization, 'content-type': 'application/json' };
    return ((await (await fetch(at, { ...init, headers })).json()) as { attributes: object }).attributes;
  };
  const body = JSON.stringify({ attributes: { department: 'Sales' }, reason: 'A test.' });
  assert.deepEqual(
    await answered({ method: 'PATCH', body }),
    { department: 'Sales' },
    'it does not know the other one',
  );
  other.clock.advance(1);
  assert.deepEqual(await answered({}), { department: 'Sales', badge: '7' });
});

onBothEngines('the removal of values that is interrupted goes on where it was', async (t, engine) => {
  const signet = await startSignet(t, { engine });
  const { attribute_id } = await newAttribute(signet, 'department');
  const kept = (await newAttribute(signet, 'badge')).attribute_id;
  const text = JSON.stringify({ [attribute_id]: 'Sales', [kept]: '7' });
  const store = plain(signet.deps.db);
  const many = 600; // more than a slice
  for (let place = 0; place < many; place += 1)
    await store.run(
      `insert into users (user_id, email, email_key, role, created_at, updated_at, attributes)
       values ($1, $2, $2, 'user', 1, 1, $3)`,
      [`usr_${String(place).padStart(22, '0')}`, `u${place}@example.com`, text],
    );
  await deleteAttribute(signet.deps, caller, attribute_id);
  signet.clock.advance(60);
  const withValue = async () =>
    (await store.all<{ attributes: string }>('select attributes from users')).filter(({ attributes }) =>
      attributes.includes(attribute_id),
    ).length;
  const { db, clock } = signet.deps;
  const stop = new AbortController();
  const restore = beforeEachCall(db, (texts) => {
    if (texts.some((one) => one.includes('update users'))) stop.abort();
  });
  assert.equal(await finishAttributeDeletions({ db, clock }, stop.signal), false);
  restore();
  const left = await withValue();
  assert.ok(left > 0 && left < many, `${left} are left`);
  const [row] = await store.all<{ removed_to: string }>(
    'select removed_to from attributes where deleted_at is not null',
  );
  assert.notEqual(row?.removed_to, '');
  assert.equal(await finishAttributeDeletions({ db, clock }), true);
  assert.equal(await withValue(), 0);
  const texts = await store.all<{ attributes: string }>('select distinct attributes from users');
  assert.deepEqual(texts, [{ attributes: JSON.stringify({ [kept]: '7' }) }]);
  assert.deepEqual(await store.all('select attribute_id from attributes where deleted_at is not null'), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addMember } from '../../src/groups/change-members.ts';
import { createGroup } from '../../src/groups/manage-groups.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { raiseSomeAlert } from '../support/alerts.ts';
import { askForRecovery } from '../support/factor-recoveries.ts';
import { countWrongPassword } from '../support/failure-counters.ts';
import { pattern, sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { secretCookies } from '../support/secret-cookies.ts';
import { postEntitlement, writeOf } from '../support/services.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import { trustSomeBrowser } from '../support/trusted-browsers.ts';

const env = { SIGNET_TRUSTED_BROWSER_DAYS: '30', SIGNET_RATE_LIMITS: 'off' };
const reason = 'Asked for by mail.';
type Json = Record<string, unknown>;

/** A user with something in every section. */
async function userWithEverything(signet: Signet) {
  const user = await signet.signedInUser({ name: 'Ada "Countess" Lovelace' });
  const { session } = (await user.browser.get('/v1/me')).json as { session: { id: string } };
  await user.browser.patch(`/v1/me/sessions/${session.id}`, { name: 'Analytical engine' });
  const totp = await user.enableTotp();
  await user.addPasskey();
  const client = await signet.registerClient({ owner: user, consent: 'required' });
  const other = await signet.registerClient();
  const tokens = await user.obtainTokens(other, { scope: 'openid offline_access' });
  await plain(signet.deps.db).run(
    `insert into consents (user_id, client_id, scope, granted_at) values ($1, $2, 'openid', 5)`,
    [user.user_id, client.client_id],
  );
  await plain(signet.deps.db).run(
    `insert into lost_apps (user_id, client_id, lost_at, action, name, grant_id) values ($1, 'app_gone', 5, 'client.deleted', 'Gone', 'gr_x')`,
    [user.user_id],
  );
  const { group_id } = await createGroup(signet.deps, { actor: 'cli' }, { name: 'Engineering' });
  await addMember(signet.deps, { actor: 'cli' }, group_id, user.user_id);
  const { authorization } = await signet.newService();
  const notes = { metadata: { margin: 'secret of the shop' }, external_customer_id: 'cus_of_the_shop' };
  for (const version of [1, 2])
    await postEntitlement(signet, authorization, writeOf(user.user_id, { version, ...notes }));
  await trustSomeBrowser(signet, user.user_id);
  await raiseSomeAlert(signet, user.user_id, client.client_id);
  await askForRecovery(signet, user);
  await user.elsewhere().signIn({ password: 'wrong' });
  return { user, client, tokens, totp };
}

testSignet(
  'what is stored about a user is exported without any secret, and the export is on record',
  { env },
  async ({ signet }) => {
    const admin = await signet.signedInUser({ role: 'admin' });
    const { user, client, tokens } = await userWithEverything(signet);
    await countWrongPassword(signet.deps.db, user);
    await admin.browser.postJson(`/v1/admin/users/${user.user_id}/unlock`, {});
    const answer = await admin.browser.postJson(`/v1/admin/users/${user.user_id}/export`, { reason });
    assert.equal(answer.status, 200, answer.text);
    assert.match(
      answer.headers.get('content-disposition') ?? '',
      new RegExp(`attachment; filename="${user.user_id}.json"`),
    );
    const data = JSON.parse(answer.text) as Record<string, Json & Json[]>;
    assert.deepEqual([data.user?.email, data.user?.name], [user.email, 'Ada "Countess" Lovelace']);
    const counts = Object.entries(data)
      .filter(([, rows]) => Array.isArray(rows))
      .map(([name, rows]) => [name, (rows as Json[]).length > 0]);
    const sections = [
      'groups',
      'sessions',
      'trusted_browsers',
      'security_alerts',
      'factor_recovery',
      'grants',
      'consents',
      'clients',
      'entitlements',
      'entitlement_versions',
      'events',
      'events_by_user',
      'events_by_others',
      'lost_apps',
      'refused_sign_ins',
    ];
    assert.deepEqual(
      counts,
      sections.map((name) => [name, true]),
    );
    assert.ok(data.sessions?.some(({ name }) => name === 'Analytical engine'));
    assert.equal((data.sign_in_methods as Json as { passkeys: Json[] }).passkeys.length, 1);
    assert.deepEqual(
      data.clients?.map(({ client_id }) => client_id),
      [client.client_id],
    );
    assert.equal(data.entitlement_versions?.length, 2);
    assert.deepEqual(
      data.events?.filter(({ action }) => action === 'user.unlocked').map(({ by, address }) => [by, address]),
      [['administrator', null]],
      'who helped is not theirs to know',
    );

    const { db } = signet.deps;
    const secrets: (string | null | undefined)[] = [
      tokens.access_token,
      tokens.refresh_token,
      client.client_secret,
      ...secretCookies(user.browser).map(([, value]) => value),
      'secret of the shop',
      'cus_of_the_shop',
      admin.email,
      admin.user_id,
    ];
    for (const [table, columns] of [
      ['passwords', 'password_hash'],
      ['totp', 'secret_sealed'],
      ['backup_codes', 'code_hash'],
      ['passkeys', 'public_key'],
      ['sessions', 'token_hash'],
      ['grants', 'code_hash'],
    ] as const) {
      const rows = await plain(db).all<Record<string, string>>(`select ${columns} from ${table} where user_id = $1`, [
        user.user_id,
      ]);
      secrets.push(...rows.map((row) => row[columns] ?? null));
    }
    const present = secrets.filter((secret) => secret && answer.text.includes(secret));
    assert.deepEqual(present, []);
    const [event] = await signet.auditLog({ action: 'user.data_exported' });
    assert.deepEqual([event?.actor, event?.target, event?.reason], [`user:${admin.user_id}`, user.user_id, reason]);
    for (const body of [{}, { reason: ' ' }]) {
      const refused = await admin.browser.postJson(`/v1/admin/users/${user.user_id}/export`, body);
      assert.equal(refused.status, 400, refused.text);
    }
    assert.equal((await user.browser.postJson(`/v1/admin/users/${user.user_id}/export`, { reason })).status, 403);
  },
);

test('the list of users is exported as CSV, whole or filtered, and no cell is a formula', async (t) => {
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.newUser({ name: '=1+1, "x"' });
  await plain(signet.deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1200)
     insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of, active_at)
     select 'usr_' || i, i || '@e.test', i || '@e.test', 'user', i, i, i, i from n`,
  );
  const answer = await admin.browser.post('/admin/users/export', { reason });
  assert.match(answer.headers.get('content-type') ?? '', /^text\/csv/);
  const lines = answer.text.trimEnd().split('\r\n');
  assert.equal(lines.length, 1203, 'headings, and each user on a line');
  assert.equal(new Set(lines).size, 1203);
  assert.match(lines[0] ?? '', /^user_id,email,.*last_sign_in_at,factors$/);
  assert.ok(
    lines.some((line) => line.startsWith(`${user.user_id},${user.email},yes,"'=1+1, ""x""",,user,enabled,`)),
    lines.slice(1, 4).join('\n'),
  );
  const filtered = await admin.browser.postJson('/v1/admin/users/export', { filter: 'administrators', reason });
  assert.deepEqual(
    filtered.text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[0]),
    [admin.user_id],
  );
  const events = await signet.auditLog({ action: 'user.list_exported', reason });
  assert.deepEqual(
    events.map(({ after_state }) => after_state),
    ['{"filter":"administrators"}', '{"filter":"all"}'],
  );
});

test('a CSV that a browser downloads begins with a byte order mark, and one for a program does not', async (t) => {
  const signet = await startSignet(t, { env });
  const { browser } = await signet.signedInUser({ role: 'admin', name: '=Müller' });
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const mark = 'efbbbf';
  const firstBytes = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(signet.url + path, {
      ...init,
      headers: { cookie, origin: signet.url, ...init.headers },
    });
    assert.match(answer.headers.get('content-type') ?? '', /^text\/csv; charset=utf-8/, path);
    return Buffer.from(await answer.arrayBuffer());
  };
  const form = { method: 'POST', body: new URLSearchParams({ reason }) };
  const users = await firstBytes('/admin/users/export', form);
  assert.ok(users.includes(`"'=Müller"`), 'a formula is still none');
  const downloads = [
    users,
    await firstBytes('/admin/audit/export?format=csv'),
    await firstBytes('/admin/clients/export'),
    await firstBytes('/admin/entitlements/export'),
  ];
  for (const bytes of downloads) {
    assert.equal(bytes.subarray(0, 3).toString('hex'), mark);
    assert.match(bytes.subarray(3, 7).toString(), /^[a-z_]{3},?/, 'one, and then the names of the columns');
  }
  const json = { 'content-type': 'application/json' };
  const answers = [
    await firstBytes('/v1/admin/users/export', { method: 'POST', headers: json, body: JSON.stringify({ reason }) }),
    await firstBytes('/v1/admin/audit/export?format=csv'),
    await firstBytes('/v1/admin/clients/export'),
    await firstBytes('/v1/admin/entitlements/export'),
  ];
  for (const bytes of answers) assert.match(bytes.subarray(0, 4).toString(), /^[a-z_]{3},?/);
});

test('several users are named before they are changed, and what is refused for one does not stop the others', async (t) => {
  const signet = await startSignet(t, { env, mail: true });
  const admin = await signet.signedInUser({ role: 'admin', name: 'Root' });
  const [one, two] = [await signet.signedInUser({ name: 'First' }), await signet.signedInUser({ name: 'Second' })];
  const all = [admin, one, two];
  const list = await admin.browser.get('/admin/users?all=on');
  for (const { user_id } of all) assert.match(list.text, new RegExp(`name="user:${user_id}"[^>]* checked`));
  assert.match(
    list.text,
    pattern`href="/admin/users" id="users-select-all">${sentence('admin.users.select_none')}</a>`,
  );
  const selected = Object.fromEntries(all.map(({ user_id }) => [`user:${user_id}`, 'on']));
  const preview = await admin.browser.get(
    `/admin/users/bulk?${new URLSearchParams({ action: 'disable', ...selected })}`,
  );
  assert.match(
    preview.text,
    pattern`First.*Second.*${sentence('admin.users.bulk.others')}.*Root.*${sentence('users.own_bulk')}`,
  );
  assert.doesNotMatch(preview.text, new RegExp(`type="hidden" name="user:${admin.user_id}"`));
  assert.equal((await one.browser.get('/v1/me')).status, 200, 'looking changes nothing');

  const send = (body: object) => admin.browser.postJson('/v1/admin/users/bulk', { reason, ...body });
  const user_ids = all.map(({ user_id }) => user_id);
  const signedOut = await send({ action: 'sign_out', user_ids: [...user_ids, one.user_id, 'usr_unknown'] });
  const outcomes = (answer: typeof signedOut) =>
    ((answer.json?.results ?? []) as { user_id: string; error: string | null }[]).map(({ error }) => error);
  assert.deepEqual(outcomes(signedOut), ['access_denied', null, null, 'not_found'], signedOut.text);
  assert.deepEqual([(await one.browser.get('/v1/me')).status, (await admin.browser.get('/v1/me')).status], [401, 200]);

  const done = await admin.browser.post('/admin/users/bulk', { action: 'disable', reason, ...selected });
  assert.match(done.text, sentence('admin.users.bulk.done', { count: 2 }));
  assert.match(done.text, pattern`Root.*${sentence('users.own_bulk')}`);
  const disabled = await signet.auditLog({ action: 'user.disabled', reason });
  assert.deepEqual(disabled.map(({ target }) => target).sort(), [one.user_id, two.user_id].sort());
  assert.equal(
    (await admin.browser.post('/admin/users/bulk', { action: 'disable', ...selected })).status,
    400,
    'a reason',
  );

  assert.deepEqual(outcomes(await send({ action: 'make_administrator', user_ids: [one.user_id] })), [null]);
  assert.deepEqual(outcomes(await send({ action: 'remove_administrator', user_ids: [one.user_id, admin.user_id] })), [
    null,
    'access_denied',
  ]);
  for (const body of [
    { action: 'disable', user_ids: [] },
    { action: 'disable', user_ids: Array.from({ length: 101 }, (_, place) => `usr_${place}`) },
    { action: 'delete', user_ids },
  ]) {
    assert.equal((await send(body)).status, 400);
  }

  // The database goes away after the first of two.
  let changes = 0;
  const restore = beforeEachCall(signet.deps.db, (sql) => {
    if (sql.some((text) => text.includes('update users'))) changes += 1;
    if (changes === 2) throw new StoreUnavailable('gone');
  });
  const partly = await send({ action: 'make_administrator', user_ids: [one.user_id, two.user_id] });
  restore();
  assert.equal(partly.status, 503);
  assert.match(partly.text, /may or may not have been saved/);
  assert.deepEqual(outcomes(await send({ action: 'make_administrator', user_ids: [two.user_id] })), [null]);
});

test('sessions and grants of a user have pages of their own, and each button another name', async (t) => {
  const signet = await startSignet(t, { env });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ name: 'Desk' });
  await plain(signet.deps.db).run("update clients set name = 'Desk' where client_id = $1", [client.client_id]);
  for (let count = 0; count < 12; count += 1) await user.signedInElsewhere();
  for (let count = 0; count < 61; count += 1) await user.obtainTokens(client);
  const path = `/admin/users/${user.user_id}`;
  const { text } = await admin.browser.get(path);
  assert.equal(text.match(/\/sessions\/ses_[^/]+\/end"/g)?.length, 10);
  assert.match(text, pattern`href="${new RegExp(path)}/sessions".*href="${new RegExp(path)}/grants"`);
  assert.doesNotMatch(text, /\b(?:pwd|mfa)\b/);
  const names = [...text.matchAll(/aria-labelledby="([^"]+-end [^"]+)"/g)].map(([, name]) => name);
  assert.equal(new Set(names).size, 20);
  assert.equal((await admin.browser.get(`${path}/sessions`)).text.match(/\/sessions\/ses_[^/]+\/end"/g)?.length, 13);
  const first = await admin.browser.get(`${path}/grants`);
  const [, after = ''] = /href="[^"]*after=([^"]+)"/.exec(first.text) ?? [];
  const second = await admin.browser.get(`${path}/grants?after=${after}`);
  const search = pattern`role="search".*href="${new RegExp(path)}/sessions"`;
  assert.match(text, search, 'where there are more than the page shows');
  const found = await admin.browser.get(`${path}/grants?q=desk`);
  assert.match(found.text, pattern`<input id="grants-q"[^>]* value="desk"`);
  assert.match(found.text, /id="search-clear"/);
  assert.match(found.text, pattern`href="[^"]*/grants\?q=desk&amp;after=`, 'the next page is one of the search');
  const none = await admin.browser.get(`${path}/grants?q=${encodeURIComponent('<b>lamp')}`);
  assert.match(none.text, pattern`class="empty".*<bdi>&lt;b&gt;lamp</bdi>.*id="search-clear"`);
  assert.doesNotMatch(none.text, /gr_[\w-]+\/end/);
  assert.match((await admin.browser.get(`${path}/sessions?q=netscape`)).text, /class="empty"/);
  const ids = [first, second].flatMap((page) => page.text.match(/gr_[\w-]+(?=\/end)/g) ?? []);
  assert.deepEqual([ids.length, new Set(ids).size], [61, 61]);
});

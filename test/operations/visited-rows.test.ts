import assert from 'node:assert/strict';
import { test } from 'node:test';
import { now } from '../../src/platform/clock.ts';
import { plain } from '../support/plain-sql.ts';
import type { RegisteredClient } from '../support/relying-party.ts';
import { newService, postEntitlement, writeOf } from '../support/services.ts';
import { signalApp, signalClient } from '../support/signal-receiver.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { visitedRows, watchReads } from '../support/visited-rows.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

/** Rows that one read may look at, however many a user, a client or an administrator has. */
const bound = 2000;
/** A count that a page shows names its own bound. */
const counted = (sql: string) => Number(/^select count\(\*\).* limit (\d+)\) as few$/s.exec(sql)?.[1] ?? 0);
const many = 20_000;
const fewer = 5000;

type World = {
  signet: Signet;
  admin: TestUser;
  user: TestUser;
  client: RegisteredClient;
  webhook_id: string;
  stream_id: string;
  /** The stream of the client. */
  own_stream_id: string;
};

const rows = (count: number) => `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;

/** A user, a client, a webhook and an administrator who have a great deal of everything. */
async function fill({ signet, admin, user, client, webhook_id, stream_id, own_stream_id }: World): Promise<void> {
  const { db } = signet.deps;
  const at = now(signet.deps);
  const { client_id } = client;
  const { user_id } = user;
  const grant = `grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
    code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at, revoked_at, revoked_reason`;
  const [{ seq = 0 } = {}] = await plain(db).all<{ seq: number }>('select max(seq) as seq from audit_log');
  const place = Number(seq);
  const event = 'event_id, at, action, actor, target, seq, seal';
  // One by one: together they take longer than the database may take to answer.
  for (const statement of [
    `insert into users (user_id, email, email_key, role, created_at, updated_at, terms_of)
       ${rows(many)} select 'usr_' || i, i || '@many.test', i || '@many.test', 'user', 1, 1, 1 from n`,
    `insert into consents (user_id, client_id, scope, granted_at)
       ${rows(many)} select 'usr_' || i, '${client_id}', 'openid', 1 from n`,
    `insert into sessions (session_id, token_hash, user_id, created_at, auth_time, amr, acr, last_seen_at,
                             idle_expires_at, expires_at, ended_at, end_reason)
       ${rows(many)} select 'ses_' || i, 'hash_' || i, '${user_id}', ${at} - i, 1, 'pwd', 'x', 1, ${at}, ${at}, 1, 'sign_out' from n`,
    // Revoked, and a hundred each that were not used for too long or not redeemed: a user has no more of those for a client.
    `insert into grants (${grant})
       ${rows(fewer)} select 'gr_own_' || i, '${client_id}', '${user_id}', 'ses_' || i, 'openid', 'x', 'own_' || i, 'x', ${at} - 60,
         case when i < 200 or i >= 400 then ${at} - 60 end, 1, ${at} - 1, ${at} + 86400, 1, 'pwd', 'x', ${at} - 60 - i,
         case when i % 2 = 0 or i >= 400 then ${at} end, case when i % 2 = 0 or i >= 400 then 'user' end from n`,
    // As many in each part: of fewer rows of others than of their own, another index is the shorter way.
    ...db.parts.map(
      (_, place) => `insert into grants (${grant})
       ${rows(many)} select 'gr_other_${place}_' || i, '${client_id}', 'usr_' || i, 'ses_x' || i, 'openid', 'x', 'other_${place}_' || i, 'x',
         ${at} - 60, ${at} - 60, 1, ${at} + 86400, ${at} + 86400, 1, 'pwd', 'x', ${at} - 60 - i, null, null from n`,
    ),
    `insert into audit_log (${event})
       ${rows(many)} select 'evt_a' || i, ${at}, 'consent.given', 'user:usr_' || i, '${client_id}', ${place} + i, 'x' from n`,
    `insert into audit_log (${event})
       ${rows(many)} select 'evt_b' || i, ${at}, 'user.unlocked', 'user:${admin.user_id}', 'usr_' || i, ${place + many} + i, 'x' from n`,
    `insert into audit_log (${event})
       ${rows(many)} select 'evt_c' || i, ${at}, 'session.started', 'user:${user_id}', '${user_id}', ${place + 2 * many} + i, 'x' from n`,
    `insert into unauthenticated_events (event_key, hour, action, target, address, first_at, last_at, count)
       ${rows(fewer)} select 'key_' || i, 1, 'session.refused', '${user_id}', '127.0.0.1', ${at} - i, ${at}, 1 from n`,
    `insert into entitlement_versions (user_id, product, version, plan, status, source, credential_id, written_at)
       ${rows(fewer)} select '${user_id}', 'editor', i + 1, 'pro', 'active', 'x', 'svc_x', ${at} - i from n`,
    `insert into logout_deliveries (delivery_id, client_id, user_id, session_id, created_at, attempts, delivered_at, dead_at, next_attempt_at)
       ${rows(fewer)} select 'msg_l' || i, '${client_id}', '${user_id}', 'ses_' || i, ${at} - i, 1,
         case when i % 3 = 0 then ${at} end, case when i % 3 = 1 then ${at} end, case when i % 3 = 2 then ${at} + 60 end from n`,
    ...[stream_id, own_stream_id].map(
      (stream, place) => `insert into signal_deliveries
         (delivery_id, stream_id, user_id, event_id, ordinal, event_type, payload, created_at, attempts, delivered_at, dead_at, next_attempt_at)
       ${rows(fewer)} select 'msg_s${place}_' || i, '${stream}', '${user_id}', 'evt_s' || i, 0, 'session-revoked', '{"members":{}}', ${at} - i, 1,
         case when i % 3 = 0 then ${at} end, case when i % 3 = 1 then ${at} end, case when i % 3 = 2 then ${at} + 60 end from n`,
    ),
    `insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts, delivered_at, dead_at, next_attempt_at)
       ${rows(fewer)} select 'msg_w' || i, '${webhook_id}', 'evt_w' || i, 'user.created', '{}', ${at} - i, 1,
         case when i % 3 = 0 then ${at} end, case when i % 3 = 1 then ${at} end, case when i % 3 = 2 then ${at} + 60 end from n`,
  ]) {
    await plain(db).run(statement);
  }
  await plain(db).run('analyze');
}

type Document = { paths: Record<string, { get?: { parameters: { name: string; in: string; required: boolean }[] } }> };

/** Every operation that reads and takes no other parameters than these. */
async function readingOperations({ signet, user, client, webhook_id, stream_id }: World): Promise<string[]> {
  const { paths } = (await (await fetch(`${signet.url}/openapi.json`)).json()) as Document;
  const ids = new Map(
    Object.entries({
      '{user_id}': user.user_id,
      '{client_id}': client.client_id,
      '{webhook_id}': webhook_id,
      '{stream_id}': stream_id,
    }),
  );
  return Object.entries(paths).flatMap(([path, { get }]) => {
    const address = path.replaceAll(/\{\w+\}/g, (name) => ids.get(name) ?? name);
    return get && /^\/v1\/(?!signals\/)/.test(path) && !address.includes('{') ? [address] : [];
  });
}

test('no read of a page or an operation looks at more rows when a user, a client or an actor has more of them', async (t) => {
  const signet = await startSignet(t, {
    engine: 'postgres',
    env: { SIGNET_RATE_LIMITS: 'off', SIGNET_WEBHOOK_INTERNAL: '127.0.0.1' },
  });
  const admin = await signet.signedInUser({ role: 'admin' });
  const user = await signet.signedInUser();
  const app = await signalApp(signet, { owner: user });
  const { client } = app;
  const { client_id } = client;
  const { user_id } = user;
  const receiver = await openReceiver(t);
  const made = await admin.browser.postJson('/v1/admin/webhooks', { url: receiver.url, event_types: ['user.created'] });
  const webhook_id = String(made.json?.webhook_id);
  const { authorization } = await newService(signet);
  await postEntitlement(signet, authorization, writeOf(user_id));
  await signet.deps.auditLog.seal();
  const signals = await signalClient(signet);
  const stream = await signals.create();
  const { stream_id } = stream;
  const { stream_id: own_stream_id } = await app.create();
  const world = { signet, admin, user, client, webhook_id, stream_id, own_stream_id };
  await fill(world);
  const reads = watchReads(signet.deps.db);

  const get = async (browser: TestUser['browser'], path: string) => {
    const answer = await browser.get(path);
    assert.ok([200, 303, 400, 403].includes(answer.status), `${path}: ${answer.status} ${answer.text}`);
  };
  for (const path of await readingOperations(world)) {
    await get(/^\/v1\/(?:me|oauth)\b/.test(path) ? user.browser : admin.browser, path);
  }
  for (const endpoint of ['configuration_endpoint', 'status_endpoint'])
    assert.equal((await signals.call('GET', `${endpoint}?stream_id=${stream_id}`)).status, 200);
  assert.equal(Object.keys((await signals.poll(stream)).sets).length, 100);
  const by = (id: string) => `actor=user:${id}`;
  for (const filter of [
    ...[`target=${client_id}`, `target=${user_id}`, by(user_id), by(admin.user_id), `about=${user_id}`],
    ...[`about=${client_id}`, 'action=consent', 'action=consent.given'],
  ]) {
    for (const more of [
      '',
      '&action=consent.given',
      '&action=client',
      '&action=client.approved',
      '&since=1',
      '&until=1',
      `&${by('usr_7')}`,
    ]) {
      for (const one of ['/v1/admin/audit?limit=50&', '/admin/audit?'])
        await get(admin.browser, `${one}${filter}${more}`);
    }
  }
  const clientPage = `/clients/${client_id}`;
  const userPage = `/users/${user_id}`;
  for (const path of [
    ...[
      '',
      '/clients',
      '/users',
      '/audit',
      '/webhooks',
      `/webhooks/${webhook_id}`,
      '/signals',
      `/signals/${stream_id}`,
      clientPage,
      userPage,
    ],
    ...[
      `${clientPage}/logout-deliveries`,
      `${userPage}/entitlements?product=editor`,
      `/audit/unauthenticated?target=${user_id}`,
    ],
  ]) {
    await get(admin.browser, `/admin${path}`);
  }
  for (const path of ['', '/security', '/sessions', '/activity', '/apps', '/email', '/entitlements', '/delete']) {
    await get(user.browser, `/account${path}`);
  }
  for (const path of ['', clientPage, `${clientPage}/activity`]) await get(user.browser, `/developer${path}`);

  const elsewhere = await user.signedInElsewhere();
  const { access_token, refresh_token } = await elsewhere.obtainTokens(client, { scope: 'openid offline_access' });
  for (const token of [access_token, refresh_token]) await client.introspect(token);
  await signet.userinfo(access_token);
  await client.refresh(refresh_token);
  await client.refresh(refresh_token); // a replay
  await user.browser.patch(`/v1/oauth/clients/${client_id}`, { name: 'Renamed' });
  const review = await admin.browser.get(`/v1/admin/clients/${client_id}`);
  await get(admin.browser, `/admin/clients/${client_id}`);
  await get(admin.browser, '/admin/clients?status=waiting');
  const { revision } = review.json as { revision: number };
  await admin.browser.postJson(`/v1/admin/clients/${client_id}/approve`, { revision });
  await user.browser.delete(`/v1/me/grants/${client_id}`);
  await elsewhere.browser.post('/signout');
  await admin.browser.postJson(`/v1/admin${userPage}/sign-out`, {});
  await admin.browser.postJson(`/v1/admin${clientPage}/suspend`, { reason: 'Phishing.' });
  await admin.browser.delete(`/v1/admin${clientPage}`);
  await admin.browser.postJson(`/v1/admin${userPage}/disable`, { reason: 'Stolen.' });
  assert.ok(reads.size > 200, `${reads.size} reads`);

  const visited = await visitedRows([...reads.values()]);
  assert.deepEqual(
    visited.filter((one) => one.rows > Math.max(bound, counted(one.sql))),
    [],
  );
});

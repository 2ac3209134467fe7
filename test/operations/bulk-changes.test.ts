import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { exportUsers } from '../../src/admin/users/export-list.ts';
import { purgeNow } from '../../src/app/jobs.ts';
import { exportLog, exportLogWithoutSealing } from '../../src/audit/read-log.ts';
import { exportClients } from '../../src/clients/export-clients.ts';
import { exportEntitlements } from '../../src/entitlements/find-entitlements.ts';
import { finishClientDeletions } from '../../src/oauth/cleanup.ts';
import { applyBulkRevocations } from '../../src/oauth/grants/grants.ts';
import { now } from '../../src/platform/clock.ts';
import type { OneDb, Statement } from '../../src/platform/db/db.ts';
import { sliceRows } from '../../src/platform/db/slices.ts';
import { pace, type RunSlice } from '../../src/platform/pace.ts';
import { finishAccountDeletions } from '../../src/self-service/delete-account/delete-account.ts';
import { exportUser } from '../../src/self-service/export/export-user.ts';
import { newUserIn } from '../support/buckets.ts';
import { onBothEngines } from '../support/databases.ts';
import { sentence } from '../support/messages.ts';
import { openTransaction } from '../support/open-transaction.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, type RegisteredClient, tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall, watchChanges } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

/** More than a request writes, and one slice of a job, and another. */
const many = 2 * sliceRows + 100;

/**
 * Grants that were given before the one under test, so that the first slices come to these. They have just expired, and
 * their client is yet to be notified: of others a user has at most a hundred with one client.
 */
async function fill({ deps }: Signet, { user_id }: TestUser, { client_id }: RegisteredClient): Promise<void> {
  const at = now(deps);
  await plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge,
                         code_expires_at, redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr,
                         created_at, expiry_check_at)
     select 'gr_' || i || '_' || cast($1 as text), cast($1 as text), cast($2 as text), 'ses_of_another_browser',
            'openid offline_access', 'x', 'code_' || i || '_' || cast($1 as text), 'x', cast($3 as bigint), cast($3 as bigint), 1,
            cast($3 as bigint), cast($3 as bigint), cast($3 as bigint), 'pwd', 'x', cast($3 as bigint), cast($3 as bigint) + 1000000
       from n`,
    [client_id, user_id, at],
  );
}

/** How many grants of the client carry which reason. */
async function written({ deps }: Signet, { client_id }: RegisteredClient): Promise<Record<string, number>> {
  const rows = await plain(deps.db).all<{ reason: string; grants: number }>(
    `select coalesce(revoked_reason, 'alive') as reason, count(*) as grants from grants where client_id = $1
      group by revoked_reason`,
    [client_id],
  );
  return Object.fromEntries(rows.map(({ reason, grants }) => [reason, Number(grants)]));
}

async function assertDead(
  signet: Signet,
  client: RegisteredClient,
  held: { access_token: string; refresh_token: string },
) {
  assertRefused(await signet.userinfo(held.access_token), 401, 'invalid_token');
  for (const token of [held.access_token, held.refresh_token]) {
    assert.deepEqual((await client.introspect(token)).json, { active: false });
  }
  assertRefused(await client.refresh(held.refresh_token), 400, 'invalid_grant');
}

async function assertAlive(
  signet: Signet,
  client: RegisteredClient,
  held: { access_token: string; refresh_token: string },
) {
  assert.equal((await signet.userinfo(held.access_token)).status, 200);
  assert.equal(tokensOf(await client.refresh(held.refresh_token)).token_type, 'Bearer');
}

const grantsOf = async (administrator: TestUser, { user_id }: TestUser) =>
  (await administrator.browser.get(`/v1/admin/users/${user_id}/grants`)).json as { grants: { client_id: string }[] };

testSignet('a client with any number of grants is suspended at once and for good', async ({ signet }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const beside = await signet.registerClient();
  const user = await signet.signedInUser();
  const neighbour = await newUserIn(signet, signet.deps.db.of(user.user_id)); // few grants of a part are written at once
  await neighbour.signIn();
  await fill(signet, neighbour, client);
  const held = await user.obtainTokens(client);
  const waiting = await user.authorize(client);
  const other = await user.obtainTokens(beside);
  const decide = (deed: string, body: unknown) =>
    administrator.browser.postJson(`/v1/admin/clients/${client.client_id}/${deed}`, body);

  let longest = 0;
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    longest = Math.max(longest, sql.length);
  });
  assert.equal((await decide('suspend', { reason: 'It leaked its secret.' })).status, 200);
  stop();
  assert.ok(longest < 10, `${longest} statements`);
  assert.deepEqual(await written(signet, client), { alive: many + 2 }, 'all rows are still to be written');
  assertRefused(await signet.userinfo(held.access_token), 401, 'invalid_token');
  assert.equal((await decide('reinstate', {})).status, 200);

  await assertDead(signet, client, held);
  assertRefused(await client.redeem(waiting), 400, 'invalid_grant');
  assert.deepEqual(
    (await grantsOf(administrator, user)).grants.map(({ client_id }) => client_id),
    [beside.client_id],
    'a grant whose revocation is not written yet is not shown as active',
  );
  const anew = await user.obtainTokens(client);
  await signet.runJobs();
  assert.deepEqual(await written(signet, client), { client_suspended: many + 2, alive: 1 });
  await assertDead(signet, client, held);
  await assertAlive(signet, client, anew);
  await assertAlive(signet, beside, other);

  signet.clock.advance(4201);
  await signet.runJobs();
  assert.deepEqual(await plain(signet.deps.db).all('select * from grant_endings'), [], 'nothing is left to be asked');
  await assertDead(signet, client, held);
});

testSignet('a user with any number of grants is disabled at once, and enabled without them', async ({ signet }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  await fill(signet, user, client);
  const held = await user.obtainTokens(client);
  const decide = (deed: string) =>
    administrator.browser.postJson(
      `/v1/admin/users/${user.user_id}/${deed}`,
      deed === 'disable' ? { reason: 'Stolen.' } : {},
    );

  assert.equal((await decide('disable')).status, 200);
  assert.deepEqual(await written(signet, client), { alive: many + 1 });
  await assertDead(signet, client, held);
  assert.equal((await decide('enable')).status, 200);
  await assertDead(signet, client, held);
  assert.deepEqual((await grantsOf(administrator, user)).grants, []);
  assert.equal((await user.signIn()).status, 303);
  const anew = await user.obtainTokens(client);
  await signet.runJobs();
  await assertAlive(signet, client, anew);
  await assertDead(signet, client, held);
  assert.deepEqual(await written(signet, client), { user_disabled: many + 1, alive: 1 });
});

testSignet(
  'disconnecting one app, or signing out elsewhere, ends all of those grants and no other',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const beside = await signet.registerClient();
    const user = await signet.signedInUser();
    await fill(signet, user, client);
    const held = await user.obtainTokens(client);
    const other = await user.obtainTokens(beside);

    assert.equal((await user.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 204);
    await assertDead(signet, client, held);
    assert.equal((await user.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 404);
    await assertAlive(signet, beside, other);
    const anew = await user.obtainTokens(client);
    await assertAlive(signet, client, anew);
    await signet.runJobs();
    assert.deepEqual(await written(signet, client), { user: many + 1, alive: 1 });

    await fill(signet, user, beside);
    const elsewhere = await user.signedInElsewhere();
    const there = await elsewhere.obtainTokens(beside);
    const here = await user.obtainTokens(beside);
    assert.equal((await user.browser.delete('/v1/me/sessions')).status, 200);
    await assertDead(signet, beside, there);
    await signet.runJobs();
    await assertDead(signet, beside, there);
    await assertAlive(signet, beside, here);
    assert.deepEqual(await written(signet, beside), { sign_out: many + 1, alive: 2 });
  },
);

/**
 * Another node has begun to write the next slice, and commits it only when this one waits for its rows: then this one
 * finds nothing left in the slice that it has chosen.
 */
async function whileAnotherNodeHas(t: TestContext, { deps }: Signet, slice: Statement, work: () => Promise<unknown>) {
  const other = await openTransaction(t, deps, slice);
  const working = work();
  await other.untilBlocked([working]);
  await other.commit();
  await working;
}

/** The table with those of a user, as another client names it. */
function tableOfGrants({ deps }: Signet, { user_id }: TestUser): string {
  const { schema } = deps.db.of(user_id) as OneDb;
  return schema ? `${schema}.grants` : 'grants';
}

test('two nodes that write the same slice of a bulk revocation leave no grant active', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres' });
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  await fill(signet, user, client);
  const held = await user.obtainTokens(client);
  assert.equal((await user.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 204);
  signet.clock.advance(4201);

  const grants = tableOfGrants(signet, user);
  const slice = {
    sql: `update ${grants} set revoked_at = ${now(signet.deps)}, revoked_reason = 'user' where grant_id in
            (select grant_id from ${grants} where user_id = $1 and revoked_at is null limit ${sliceRows})`,
    params: [user.user_id],
  };
  await whileAnotherNodeHas(t, signet, slice, () => applyBulkRevocations(signet.deps));
  assert.ok((await written(signet, client)).alive! > 0, 'some rows are still to be written');
  await assertDead(signet, client, held);
  await signet.runJobs();
  assert.deepEqual(await written(signet, client), { user: many + 1 });
  assert.deepEqual(await plain(signet.deps.db).all('select * from grant_endings'), []);
});

test('two nodes that delete the same slice of a client or an account leave its row for the last', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres' });
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const { client_id } = client;
  const user = await signet.signedInUser();
  const beside = await signet.registerClient();
  await fill(signet, user, client);
  await fill(signet, user, beside);
  const grants = tableOfGrants(signet, user);
  const sliceOf = (column: string, id: string) => ({
    sql: `delete from ${grants} where grant_id in (select grant_id from ${grants} where ${column} = $1 limit ${sliceRows})`,
    params: [id],
  });

  assert.equal((await administrator.browser.delete(`/v1/admin/clients/${client_id}`)).status, 204);
  await whileAnotherNodeHas(t, signet, sliceOf('client_id', client_id), () => finishClientDeletions(signet.deps));
  assert.equal(await countIn(signet, 'grants', 'client_id', client_id), 0);
  assert.equal((await user.browser.post('/account/delete', { email: user.email })).status, 303);
  await whileAnotherNodeHas(t, signet, sliceOf('user_id', user.user_id), () => finishAccountDeletions(signet.deps));
  await signet.runJobs();
  assert.equal(await countIn(signet, 'clients', 'client_id', client_id), 0);
  assert.equal(await countIn(signet, 'users', 'user_id', user.user_id), 0);
});

test('two nodes that delete the grants of a client or an account remember each of them', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres' });
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const beside = await signet.registerClient();
  await fill(signet, user, client);
  await fill(signet, user, beside);
  const grants = tableOfGrants(signet, user);
  const tokens = grants.replace('grants', 'revoked_access_tokens');
  const at = now(signet.deps);
  const sliceOf = (column: string, id: string) => ({
    sql: `with gone as (delete from ${grants} where grant_id in
                          (select grant_id from ${grants} where ${column} = $1 limit ${sliceRows}) returning grant_id)
          insert into ${tokens} (jti, expires_at, noted_at) select grant_id, ${at + 3600}, ${at} from gone`,
    params: [id],
  });
  // The first slice was remembered with the answer: here it is as any other.
  const forget = () => plain(signet.deps.db).run('delete from revoked_access_tokens');
  const remembered = async ({ client_id }: RegisteredClient) => {
    const of = `gr\\_%\\_${client_id.replaceAll('_', '\\_')}`;
    const found = await plain(signet.deps.db).get<{ n: number }>(
      'select count(*) as n from revoked_access_tokens where jti like $1 and status_refs is null',
      [of],
    );
    return Number(found?.n);
  };

  const { client_id } = client;
  assert.equal((await administrator.browser.delete(`/v1/admin/clients/${client_id}`)).status, 204);
  await forget();
  await whileAnotherNodeHas(t, signet, sliceOf('client_id', client_id), () => finishClientDeletions(signet.deps));
  await signet.runJobs();
  assert.equal(await remembered(client), many);
  assert.equal((await user.browser.post('/account/delete', { email: user.email })).status, 303);
  await plain(signet.deps.db).run(`update ${grants} set revoked_at = ${at} where user_id = $1`, [user.user_id]);
  await forget();
  await whileAnotherNodeHas(t, signet, sliceOf('user_id', user.user_id), () => finishAccountDeletions(signet.deps));
  await signet.runJobs();
  assert.equal(await remembered(beside), many);
});

testSignet('a revocation is written however many others were written in the last hour', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  await fill(signet, user, client);
  await user.obtainTokens(client);
  const { schema } = signet.deps.db.of(user.user_id) as OneDb;
  await plain(signet.deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000)
     insert into ${schema ? `${schema}.` : ''}grant_endings (ending_id, user_id, session_id, epoch, reason, ended_at)
     select 'end_' || i, cast($1 as text), 'ses_that_is_over', 0, 'sign_out', cast($2 as bigint) from n`,
    [user.user_id, now(signet.deps) - 1],
  );
  assert.equal((await user.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 204);
  assert.deepEqual(await written(signet, client), { alive: many + 1 });
  await applyBulkRevocations(signet.deps);
  assert.deepEqual(await written(signet, client), { user: many + 1 });
});

test('a suspension that was cut off before a cell is made there, also soon after an earlier one', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', cells: 4 });
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  await fill(signet, user, client);
  const decide = (deed: string, body: unknown) =>
    administrator.browser.postJson(`/v1/admin/clients/${client.client_id}/${deed}`, body);
  assert.equal((await decide('suspend', { reason: 'It leaked its secret.' })).status, 200);
  await signet.runJobs();
  assert.equal((await decide('reinstate', {})).status, 200);
  await user.obtainTokens(client);
  signet.clock.advance(60);
  let commits = 0;
  const stop = beforeEachCall(signet.deps.db, (sql) => {
    if (sql.some((one) => one.startsWith('update grants set revoked_at')) && commits++ === 0)
      throw new Error('Cut off.');
  });
  await decide('suspend', { reason: 'It did so again.' });
  stop();
  assert.equal(commits, 1);
  await signet.runJobs();
  const [grant] = await plain(signet.deps.db).all<{ revoked_reason: string }>(
    'select revoked_reason from grants where client_id = $1 and client_epoch > 0',
    [client.client_id],
  );
  assert.equal(grant?.revoked_reason, 'client_suspended');
});

const countIn = async ({ deps }: Signet, table: string, column: string, id: string) =>
  Number((await plain(deps.db).get<{ n: number }>(`select count(*) as n from ${table} where ${column} = $1`, [id]))?.n);

testSignet('a client with any number of grants is deleted at once for everybody', async ({ signet }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const owner = await signet.signedInUser();
  const client = await signet.registerClient({ owner });
  const { client_id } = client;
  const user = await signet.signedInUser();
  await fill(signet, user, client);
  const held = await user.obtainTokens(client);
  const waiting = await user.authorize(client);

  assert.equal((await administrator.browser.delete(`/v1/admin/clients/${client_id}`)).status, 204);
  assert.ok((await countIn(signet, 'grants', 'client_id', client_id)) > sliceRows, 'most rows are still there');
  assertRefused(await signet.userinfo(held.access_token), 401, 'invalid_token');
  assertRefused(await client.refresh(held.refresh_token), 401, 'invalid_client');
  assertRefused(await client.redeem(waiting), 401, 'invalid_client');
  assert.equal((await user.browser.get(client.authorizePath())).status, 400);
  const one = `/v1/admin/clients/${client_id}`;
  assert.equal((await administrator.browser.get(one)).status, 404);
  assert.equal((await administrator.browser.delete(one)).status, 404);
  assert.equal((await owner.browser.get(`/v1/oauth/clients/${client_id}`)).status, 404);
  for (const [browser, path] of [
    [administrator.browser, '/v1/admin/clients?status=all'],
    [administrator.browser, `/v1/admin/clients?query=${client_id}`],
    [owner.browser, '/v1/oauth/clients'],
    [user.browser, '/v1/me/grants'],
    [administrator.browser, `/v1/admin/users/${user.user_id}/grants`],
  ] as const) {
    const answer = await browser.get(path);
    assert.equal(answer.status, 200, path);
    assert.ok(!answer.text.includes(client_id), path);
  }

  await signet.runJobs();
  assert.equal(await countIn(signet, 'grants', 'client_id', client_id), 0);
  assert.equal(await countIn(signet, 'clients', 'client_id', client_id), 0);
  assert.equal(await countIn(signet, 'audit_log', 'action', 'client.deleted'), 1);
});

testSignet('an account with any number of grants is deleted at once for everybody', async ({ signet }) => {
  const administrator = await signet.signedInUser({ role: 'admin' });
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const { user_id, email } = user;
  const theirs = await signet.registerClient({ owner: user });
  await fill(signet, user, client);
  const held = await user.obtainTokens(client);

  assert.equal((await user.browser.post('/account/delete', { email })).status, 303);
  assert.ok((await countIn(signet, 'grants', 'user_id', user_id)) > sliceRows, 'most rows are still there');
  await assertDead(signet, client, held);
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  assert.notEqual((await user.signIn()).status, 303);
  assert.equal((await administrator.browser.get(`/v1/admin/users/${user_id}`)).status, 404);
  const enabling = await administrator.browser.postJson(`/v1/admin/users/${user_id}/enable`, {});
  assert.equal(enabling.status, 404);
  assert.ok(!(await administrator.browser.get('/v1/admin/users')).text.includes(user_id));
  const left = await administrator.browser.get(`/v1/admin/clients/${theirs.client_id}`);
  assert.equal((left.json as { owner_user_id: unknown }).owner_user_id, null, 'its client has no owner at once');
  const [row] = await plain(signet.deps.db).all('select email, name, picture from users where user_id = $1', [user_id]);
  assert.deepEqual({ ...row! }, { email: '', name: null, picture: null });
  assert.notEqual((await signet.newUser({ email })).user_id, user_id, 'the address is free at once');

  await signet.runJobs();
  assert.equal(await countIn(signet, 'grants', 'user_id', user_id), 0);
  assert.equal(await countIn(signet, 'users', 'user_id', user_id), 0);
  assert.equal((await user.signIn()).status, 303, 'the new account is usable');
});

testSignet(
  'a webhook with any number of deliveries is deleted at once for everybody',
  { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' } },
  async ({ signet, t }) => {
    const { browser } = await signet.signedInUser({ role: 'admin' });
    const [receiver, other] = [await openReceiver(t), await openReceiver(t)];
    const create = async ({ url }: { url: string }) => {
      const answer = await browser.postJson('/v1/admin/webhooks', { url, event_types: ['user.created'] });
      assert.equal(answer.status, 200, answer.text);
      return `${(answer.json as { webhook_id: string }).webhook_id}`;
    };
    const [webhook_id, small] = [await create(receiver), await create(other)];
    await plain(signet.deps.db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
     insert into webhook_deliveries (delivery_id, webhook_id, event_id, event_type, payload, created_at, attempts,
                                     next_attempt_at, dead_at)
     select 'msg_' || i, cast($1 as text), 'evt_' || i, 'user.created', '{}', cast($2 as bigint), 0,
            case when i > 9 then cast($2 as bigint) end, case when i <= 9 then cast($2 as bigint) end from n`,
      [webhook_id, now(signet.deps)],
    );
    const one = `/v1/admin/webhooks/${webhook_id}`;
    assert.equal((await browser.delete(one)).status, 204);
    assert.ok(
      (await countIn(signet, 'webhook_deliveries', 'webhook_id', webhook_id)) > sliceRows,
      'most are still there',
    );
    assert.equal((await browser.delete(one)).status, 404);
    for (const deed of ['enable', 'disable', 'test', 'rotate-secret', 'deliveries/replay', 'deliveries/msg_1/replay'])
      assert.equal((await browser.postJson(`${one}/${deed}`, {})).status, 404, deed);
    assert.equal((await browser.get(`${one}/deliveries`)).status, 404);
    assert.ok(!(await browser.get('/v1/admin/webhooks')).text.includes(webhook_id));
    assert.ok(!(await browser.get('/admin/webhooks')).text.includes(webhook_id));
    const overview = (await browser.get('/admin')).text;
    assert.ok(
      sentence('admin.overview.webhooks.well').test(overview) &&
        !sentence('admin.overview.webhooks.off', { off: 2 }).test(overview),
    );
    assert.equal(
      (
        await plain(signet.deps.db).all(
          `select 1 as one from webhooks where webhook_id = $1 and url || secret_sealed <> ''`,
          [webhook_id],
        )
      ).length,
      0,
    );

    const { changed, stop } = watchChanges(signet.deps.db);
    await signet.newUser();
    await signet.runJobs();
    stop();
    assert.ok(changed.every(({ changes }) => changes <= sliceRows));
    assert.equal(await countIn(signet, 'webhook_deliveries', 'webhook_id', webhook_id), 0);
    assert.equal(await countIn(signet, 'webhooks', 'webhook_id', webhook_id), 0);
    assert.equal(receiver.deliveries.length, 0);
    assert.ok(other.deliveries.length > 0, 'the other one is still notified');
    assert.equal((await browser.delete(`/v1/admin/webhooks/${small}`)).status, 204);
    if (signet.deps.db.parts.length > 1) await signet.runJobs(); // which delete them in cells
    assert.equal(await countIn(signet, 'webhooks', 'webhook_id', small), 0, 'few deliveries go with it at once');
  },
);

testSignet('what has expired is purged in slices, however much it is', async ({ signet }) => {
  const client = await signet.registerClient();
  await fill(signet, await signet.signedInUser(), client);
  await plain(signet.deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${many})
     insert into spent_tokens (token_hash, expires_at) select 'spent_' || i, 1 from n`,
  );
  const other = await signet.registerClient();
  await fill(signet, await signet.signedInUser(), other);
  await plain(signet.deps.db).run('update grants set expiry_check_at = null');
  await plain(signet.deps.db).run(`update grants set redeemed_at = null, expires_at = 1e12 where client_id = $1`, [
    other.client_id,
  ]);
  signet.clock.advance(30 * 86_400);

  const { changed, stop } = watchChanges(signet.deps.db);
  await signet.runJobs();
  stop();
  assert.ok(changed.every(({ changes }) => changes <= sliceRows));
  for (const one of [client, other]) assert.deepEqual(await written(signet, one), {});
  assert.deepEqual(await plain(signet.deps.db).all('select 1 as one from spent_tokens'), []);
});

onBothEngines('an export of the audit log lets others in between its pages', async (t, engine) => {
  const { deps } = await startSignet(t, { engine });
  await plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < 2100)
     insert into audit_log (event_id, at, action, actor, seq, seal)
     select 'evt_' || i, 1, 'thing.done', 'system', i, 'x' from n`,
  );
  let turns = 0;
  let turn = setImmediate(function next() {
    turns += 1;
    turn = setImmediate(next);
  });
  const lines = (await Array.fromAsync(exportLog(deps, {}, 'jsonl'))).join('').split('\n');
  clearImmediate(turn);
  assert.equal(lines.length, 2101);
  assert.ok(turns >= 4, `${turns} turns of the event loop`);
});

test('jobs, exports and the verification of the audit log go at one pace, which every request slows down', async (t) => {
  const signet = await startSignet(t);
  const { deps } = signet;
  const { user_id } = await signet.signedInUser();
  const caller = { actor: 'cli' } as const;
  let slices = 0;
  const paced = pace.slices;
  t.mock.method(pace, 'slices', (most?: number): RunSlice => {
    const run = paced(most);
    return (slice) => {
      slices += 1;
      return run(slice);
    };
  });
  const works: Record<string, () => Promise<unknown>> = {
    purges: () => purgeNow(deps),
    verification: () => deps.auditLog.verify(),
    'audit log': () => Array.fromAsync(exportLog(deps, {}, 'csv')),
    'audit log by command': () => Array.fromAsync(exportLogWithoutSealing(deps, {}, 'csv')),
    clients: () => Array.fromAsync(exportClients(deps, 'all')),
    entitlements: () => Array.fromAsync(exportEntitlements(deps, {})),
    users: async () => Array.fromAsync((await exportUsers(deps, caller, {})).content as AsyncIterable<string>),
    user: async () => Array.fromAsync((await exportUser(deps, caller, user_id)).content as AsyncIterable<string>),
  };
  for (const [name, work] of Object.entries(works)) {
    slices = 0;
    await work();
    assert.ok(slices > 0, name);
  }
  const arrivals = t.mock.method(pace, 'requestArrived');
  for (const path of ['/.well-known/jwks.json', '/signin', '/nowhere']) await signet.newBrowser().get(path);
  assert.equal(arrivals.mock.callCount(), 3);
});

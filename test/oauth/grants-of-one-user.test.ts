import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dangerousSkewSeconds } from '../../src/platform/processes.ts';
import { fullScansOf, watchStatements } from '../support/full-scans.ts';
import { plain } from '../support/plain-sql.ts';
import { assertRefused, type RegisteredClient } from '../support/relying-party.ts';
import { watchRowsRead } from '../support/rows-read.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall, holdNextCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

// What one person can make of grants, and what that costs everybody else.

const scope = 'openid offline_access';
const week = 7 * 86_400;

/** Copies of the newest grant of a user to a client, older by a second each. */
async function copies(
  { deps }: Signet,
  { user_id }: TestUser,
  { client_id }: RegisteredClient,
  count: number,
  values: Partial<Record<'created_at' | 'revoked_at' | 'revoked_reason', string>> = {},
): Promise<void> {
  const columns = [
    'client_id, user_id, session_id, scope, redirect_uri, code_challenge, code_expires_at, redeemed_at, refresh_seq',
    'idle_expires_at, expires_at, auth_time, amr, acr, revoked_at, revoked_reason, client_epoch, user_epoch, session_token_hash',
  ].flatMap((some) => some.split(', '));
  await plain(deps.db).run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
     insert into grants (grant_id, code_hash, created_at, ${columns})
     select 'gr_' || i || '_' || client_id, 'code_' || i || '_' || client_id, ${values.created_at ?? 'created_at - i'},
            ${columns.map((name) => values[name as keyof typeof values] ?? name)}
       from (select * from grants where user_id = $1 and client_id = $2 order by grant_id desc limit 1) as original, n`,
    [user_id, client_id],
  );
}

const countOf = async ({ deps }: Signet, condition: string, ...params: string[]) =>
  Number((await plain(deps.db).get<{ n: number }>(`select count(*) as n from grants where ${condition}`, params))?.n);

/** Requests that read or end what a user has allowed, and the owner's page. */
async function everythingOf(user: TestUser, client: RegisteredClient, owner: TestUser) {
  const elsewhere = await user.signedInElsewhere();
  for (const one of [user, elsewhere]) await one.obtainTokens(client, { scope });
  const { browser } = user;
  const answers = [
    await browser.get('/v1/me/grants'),
    await browser.get('/account/apps'),
    await owner.browser.get(`/developer/clients/${client.client_id}/activity`),
    await browser.delete('/v1/me/sessions'),
    await browser.delete('/v1/me/sessions'), // when nothing is left elsewhere
    await browser.delete(`/v1/me/grants/${client.client_id}`),
    await elsewhere.browser.get('/account'),
    await browser.post('/signout'),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200, 200, 204, 303, 303],
  );
}

test('a request reads no more of a user than what is active, and the hundred codes that there may be', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', env: { SIGNET_RATE_LIMITS: 'off' } });
  const [user, owner] = [await signet.signedInUser(), await signet.signedInUser()];
  const client = await signet.registerClient({ owner });
  await user.authorize(client, { scope });
  const at = Math.floor(signet.clock() / 1000);
  await copies(signet, user, client, 900, {
    revoked_at: `case when i > 110 then ${at} end`,
    revoked_reason: `case when i > 110 then 'user' end`,
  });
  await plain(signet.deps.db).run('analyze grants');
  const read = await watchRowsRead(t, signet.deps, 'grants');
  await everythingOf(user, client, owner);
  assert.ok(read.length > 10, `${read.length} statements`);
  assert.deepEqual(
    read.filter(({ rows }) => rows > 250),
    [],
  );
});

test('an authorization reads no more than some hundred of thousands of grants that have expired', async (t) => {
  const signet = await startSignet(t, { engine: 'postgres', env: { SIGNET_RATE_LIMITS: 'off' } });
  const user = await signet.signedInUser();
  const client = await signet.registerClient({ backchannel_logout_uri: 'https://rp.test/logout' });
  const { db } = signet.deps;
  await user.obtainTokens(client, { scope: 'openid' });
  signet.clock.advance(7200);
  await copies(signet, user, client, 3000);
  await plain(db).run('analyze grants');
  const read = await watchRowsRead(t, signet.deps, 'grants');
  await user.obtainTokens(client, { scope: 'openid' });
  // A bulk revocation covers them all, and no job has written it yet.
  await (await user.signedInElsewhere()).obtainTokens(client, { scope: 'openid' });
  assert.equal((await user.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 204);
  await user.obtainTokens(client, { scope: 'openid' });
  const most = Math.max(...read.map(({ rows }) => rows));
  assert.ok(most > 300 && most < 1500, `${most} rows`);
});

testSignet('of codes that a user leaves unredeemed, a client keeps the newest hundred', async ({ signet }) => {
  const user = await signet.signedInUser();
  const [client, beside] = [await signet.registerClient(), await signet.registerClient()];
  const [oldest, other] = [await user.authorize(client), await user.authorize(beside)];
  signet.clock.advance(1);
  await user.authorize(client);
  await copies(signet, user, client, 97, { created_at: 'created_at' });
  assert.equal(await countOf(signet, 'client_id = $1', client.client_id), 99);
  signet.clock.advance(1);
  await user.authorize(client);
  const newest = await user.authorize(client);
  const left = await countOf(signet, 'client_id = $1', client.client_id);
  assert.ok([51, 52].includes(left), `${left}: the newest fifty, and those since`);
  assertRefused(await client.redeem(oldest), 400, 'invalid_grant');
  assert.equal((await client.redeem(newest)).status, 200);
  assert.equal((await beside.redeem(other)).status, 200, 'of another client');
});

testSignet('while one authorization deletes the codes that are too many, others do not', async ({ signet }) => {
  const { db } = signet.deps;
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  await user.authorize(client);
  await copies(signet, user, client, 100);
  let looks = 0;
  const stop = beforeEachCall(db, ([sql = '']) => {
    if (sql.includes('as codes')) looks += 1;
  });
  const deletion = holdNextCall(db, /^delete from grants/);
  const first = user.authorize(client);
  await deletion.reached;
  await user.authorize(client);
  deletion.release();
  await first;
  stop();
  assert.equal(looks, 1);
  assert.equal(await countOf(signet, 'client_id = $1', client.client_id), 52, 'the newest fifty, and the two since');
});

testSignet('a revoked grant is deleted a week later, and its tokens stay inactive', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  const tokens = await user.obtainTokens(client, { scope });
  const kept = await user.obtainTokens(client, { scope });
  await client.post('/oauth/revoke', { token: tokens.refresh_token });
  signet.clock.advance(week);
  await signet.runJobs();
  assert.equal(await countOf(signet, 'client_id = $1', client.client_id), 2);
  signet.clock.advance(3601 + dangerousSkewSeconds);
  const statements = watchStatements(signet.deps.db);
  await signet.runJobs();
  assert.deepEqual(await fullScansOf(signet.deps.db, [...statements.values()]), []);
  assert.equal(await countOf(signet, 'client_id = $1', client.client_id), 1);
  assertRefused(await client.refresh(tokens.refresh_token), 400, 'invalid_grant');
  assert.deepEqual((await client.introspect(tokens.refresh_token)).json, { active: false });
  assert.equal((await client.refresh(kept.refresh_token)).status, 200);
});

testSignet('of the grants of a user that were revoked one by one, the newest thousand are kept', async ({ signet }) => {
  const user = await signet.signedInUser();
  const client = await signet.registerClient();
  await user.obtainTokens(client, { scope });
  const at = Math.floor(signet.clock() / 1000);
  await copies(signet, user, client, 1020, { revoked_at: `${at} - i`, revoked_reason: `'client'` });
  const { refresh_token } = await user.obtainTokens(client, { scope });
  const statements = watchStatements(signet.deps.db);
  await client.post('/oauth/revoke', { token: refresh_token });
  assert.deepEqual(await fullScansOf(signet.deps.db, [...statements.values()]), []);
  assert.equal(await countOf(signet, 'revoked_at is not null'), 1000);
  assert.equal(await countOf(signet, 'revoked_at = $1', `${at - 1020}`), 0, 'the oldest');
  assert.equal(await countOf(signet, 'revoked_at is null'), 1);
});

testSignet(
  'a person who disconnects an app over and over leaves twenty sign-out notifications of a session',
  { env: { SIGNET_WEBHOOK_INTERNAL: '127.0.0.1', SIGNET_RATE_LIMITS: 'off' } },
  async ({ signet, t }) => {
    const receiver = await openReceiver(t);
    const user = await signet.signedInUser();
    const client = await signet.registerClient({ backchannel_logout_uri: receiver.url });
    const elsewhere = await user.signedInElsewhere();
    const deliveries = async () =>
      Number((await plain(signet.deps.db).get<{ n: number }>('select count(*) as n from logout_deliveries'))?.n);
    const disconnect = async (of: TestUser) => {
      await of.obtainTokens(client, { scope });
      assert.equal((await of.browser.delete(`/v1/me/grants/${client.client_id}`)).status, 204);
    };
    for (let time = 0; time < 23; time += 1) await disconnect(user);
    assert.equal(await deliveries(), 20);
    await disconnect(elsewhere);
    assert.equal(await deliveries(), 21, 'another session');
    await signet.runJobs();
    assert.equal(receiver.deliveries.length, 21);
    for (let time = 0; time < 3; time += 1) await disconnect(user);
    assert.equal(await deliveries(), 24);
    const statements = watchStatements(signet.deps.db);
    await signet.runJobs();
    assert.deepEqual(await fullScansOf(signet.deps.db, [...statements.values()]), []);
    assert.equal(receiver.deliveries.length, 24, 'one that waits is sent, however many there were before');
    assert.equal(await deliveries(), 21);
  },
);

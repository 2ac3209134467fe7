import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { failureLog } from '../../src/app/job-failures.ts';
import { keepKeysFresh, purgeNow, quickJobs, runJobs, runLongJobs } from '../../src/app/jobs.ts';
import { suspendClient } from '../../src/clients/review-client.ts';
import { openCodePurge } from '../../src/oauth/cleanup.ts';
import { now } from '../../src/platform/clock.ts';
import { type Statement, StoreUnavailable } from '../../src/platform/db/db.ts';
import { dangerousSkewSeconds } from '../../src/platform/processes.ts';
import { newUserIn } from '../support/buckets.ts';
import { onBothEngines } from '../support/databases.ts';
import { plain } from '../support/plain-sql.ts';
import { tokensOf } from '../support/relying-party.ts';
import { type Signet, startSignet, testSignet } from '../support/signet.ts';
import { beforeEachCall } from '../support/store-spy.ts';
import type { TestUser } from '../support/test-user.ts';

const week = 7 * 86_400;
type Values = Record<string, string | number | null>;

const insert = (table: string, values: Values): Statement => ({
  sql: `insert into ${table} (${Object.keys(values).join(', ')})
        values (${Object.keys(values)
          .map((_, index) => `$${index + 1}`)
          .join(', ')})`,
  params: Object.values(values),
});

async function idsIn({ deps }: Signet, table: string, column: string): Promise<string[]> {
  const rows = await plain(deps.db).all<{ id: string }>(`select ${column} as id from ${table} order by 1`);
  return rows.map(({ id }) => id);
}

const seeded = (ids: string[]) => ids.filter((id) => /^(gone|kept)/.test(id));

testSignet(
  'the jobs remove what has expired on any node whose clock is tolerated, to the second, and nothing else',
  async ({ signet }) => {
    const client = await signet.registerClient();
    const { user_id } = await signet.signedInUser();
    const at = now(signet.deps) - dangerousSkewSeconds;

    const session = (session_id: string, expires_at: number, more: Values = {}) =>
      insert('sessions', {
        ...{ session_id, token_hash: session_id, user_id, created_at: 0, auth_time: 0, amr: 'pwd', acr: 'x' },
        ...{ last_seen_at: 0, idle_expires_at: expires_at, expires_at, ...more },
      });
    const grant = (
      grant_id: string,
      times: { code: number; end: number; redeemed: number | null },
      more: Values = {},
    ) =>
      insert('grants', {
        ...{ grant_id, client_id: client.client_id, user_id, session_id: 'x', scope: 'openid', redirect_uri: 'x' },
        ...{ code_hash: grant_id, code_challenge: 'x', code_expires_at: times.code, redeemed_at: times.redeemed },
        ...{ refresh_seq: 0, idle_expires_at: times.end, expires_at: times.end, auth_time: 0, amr: 'pwd', acr: 'x' },
        ...{ created_at: 0, ...more },
      });
    const request = (request_id: string, expires_at: number) =>
      insert('authorization_requests', {
        ...{ request_id, browser_hash: 'x', client_id: client.client_id, parameters: '{}', created_at: 0, expires_at },
      });
    const counter = (counter_key: string, expires_at: number) =>
      insert('failure_counters', { counter_key, failures: 1, window_ends_at: 0, blocked_until: 0, expires_at });
    const grantEnd = at - 3600 - week;
    const webhook = (webhook_id: string, disabled_at: number | null) =>
      insert('webhooks', { webhook_id, url: 'x', event_types: '[]', secret_sealed: 'x', created_at: 0, disabled_at });
    const delivery = (delivery_id: string, webhook_id: string, state: Values) =>
      insert('webhook_deliveries', {
        ...{ delivery_id, webhook_id, event_id: delivery_id, event_type: 'x', payload: '{}', created_at: 0 },
        ...{ attempts: 0, ...state },
      });
    const month = 30 * 86_400;

    await plain(signet.deps.db).batch([
      session('gone', at - week - 1),
      session('kept: ended a week ago', at - week),
      session('kept: ended by its user', at + 1, { ended_at: at - 1, end_reason: 'sign_out' }),
      session('kept: alive', at + 1),
      grant('gone: not redeemed', { code: now(signet.deps) - 3601, end: at + 1, redeemed: null }),
      grant('gone: over for a week', { code: 0, end: grantEnd - 1, redeemed: 1 }),
      grant('kept: over for less than a week', { code: 0, end: grantEnd, redeemed: 1 }),
      grant('kept: its code expired an hour ago', { code: now(signet.deps) - 3600, end: at + 1, redeemed: null }),
      grant(
        'gone: revoked',
        { code: 0, end: at + 1, redeemed: 1 },
        { revoked_at: grantEnd - 1, revoked_reason: 'replay' },
      ),
      grant('kept: revoked', { code: 0, end: at + 1, redeemed: 1 }, { revoked_at: grantEnd, revoked_reason: 'replay' }),
      grant('kept: alive', { code: 0, end: at + 1, redeemed: 1 }),
      request('gone', at - 1),
      request('kept', at),
      insert('revoked_access_tokens', { jti: 'gone', expires_at: at - 1 }),
      insert('revoked_access_tokens', { jti: 'kept', expires_at: at }),
      insert('one_time_links', { token_hash: 'gone', purpose: 'administrator', created_at: 0, expires_at: at - 1 }),
      insert('one_time_links', { token_hash: 'kept', purpose: 'administrator', created_at: 0, expires_at: at }),
      insert('spent_tokens', { token_hash: 'gone', expires_at: at - 1 }),
      insert('spent_tokens', { token_hash: 'kept', expires_at: at }),
      counter('gone', at - 1),
      counter('kept', at),
      webhook('wh_on', null),
      webhook('wh_off', 1),
      delivery('gone: arrived', 'wh_on', { delivered_at: at - week - 1 }),
      delivery('kept: arrived a week ago', 'wh_on', { delivered_at: at - week }),
      delivery('kept: waits once more', 'wh_on', { delivered_at: at - week - 1, next_attempt_at: at + 1 }),
      delivery('kept: so does this', 'wh_on', { dead_at: at - month - 1, next_attempt_at: at + 1 }),
      delivery('kept: was sent again in vain', 'wh_on', { delivered_at: at - week - 1, dead_at: at }),
      delivery('gone: given up', 'wh_on', { dead_at: at - month - 1 }),
      delivery('kept: given up a month ago, may be sent again', 'wh_on', { dead_at: at - month }),
      delivery('gone: its webhook is off for too long', 'wh_off', { next_attempt_at: at - month - 1 }),
      delivery('kept: its webhook may be enabled', 'wh_off', { next_attempt_at: at - month }),
      delivery('kept: waits', 'wh_on', { next_attempt_at: at + 1 }),
    ]);
    const lasting = { users: 'user_id', clients: 'client_id', client_secrets: 'secret_id', audit_log: 'event_id' };
    const withKeys = { ...lasting, signing_keys: 'kid', passwords: 'user_id' };
    const before = await Promise.all(Object.entries(withKeys).map(([table, column]) => idsIn(signet, table, column)));

    await signet.runJobs();
    const expiring = {
      sessions: 'session_id',
      grants: 'grant_id',
      authorization_requests: 'request_id',
      revoked_access_tokens: 'jti',
      one_time_links: 'token_hash',
      spent_tokens: 'token_hash',
      failure_counters: 'counter_key',
      webhook_deliveries: 'delivery_id',
    };
    const expected: Record<string, number> = { sessions: 3, grants: 4, webhook_deliveries: 7 };
    for (const [table, column] of Object.entries(expiring)) {
      const left = seeded(await idsIn(signet, table, column));
      assert.equal(left.length, expected[table] ?? 1, `${table}: ${left}`);
      for (const id of left) assert.match(id, /^kept/, table);
    }
    const after = await Promise.all(Object.entries(withKeys).map(([table, column]) => idsIn(signet, table, column)));
    assert.deepEqual(after, before, 'users, clients, keys and the audit log stay');
  },
);

testSignet('a purge by command deletes at once, and counts', async ({ signet }) => {
  await signet.signedInUser();
  signet.clock.advance(400 * 86_400);
  const counts = await purgeNow(signet.deps);
  assert.deepEqual([counts['purge sessions'], counts['purge devices']], [1, 1]);
  assert.equal((await purgeNow(signet.deps))['purge sessions'], 0);
});

testSignet('the jobs leave a grant that is in use alone, for its ninety days', async ({ signet }) => {
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  let { refresh_token } = await user.obtainTokens(client);
  await user.authorize(client); // a code that is not redeemed
  for (let month = 1; month <= 3; month += 1) {
    signet.clock.advance(29 * 86_400);
    await signet.runJobs();
    ({ refresh_token } = tokensOf(await client.refresh(refresh_token)));
  }
  assert.equal((await idsIn(signet, 'grants', 'grant_id')).length, 1);
  signet.clock.advance(11 * 86_400);
  await signet.runJobs();
  assert.deepEqual(await idsIn(signet, 'grants', 'grant_id'), []);
  assert.deepEqual(await idsIn(signet, 'sessions', 'session_id'), []);
});

testSignet('of a code that was never redeemed no client waits to be notified', async ({ signet }) => {
  const client = await signet.registerClient();
  await (await signet.signedInUser()).authorize(client);
  const { db } = signet.deps;
  await plain(db).run('update grants set expiry_check_at = 1');
  await signet.runJobs();
  const grants = await plain(db).all('select expiry_check_at, revoked_at from grants');
  assert.deepEqual(grants, [{ expiry_check_at: null, revoked_at: null }], 'so the next run does not look at it again');
});

testSignet('codes that were never redeemed are deleted of some users at a time, in turn', async ({ signet }) => {
  const client = await signet.registerClient();
  const part = signet.deps.db.parts.at(-1)!;
  const users: TestUser[] = [];
  while (users.length < 5) users.push(await newUserIn(signet, part));
  for (const user of users) {
    await user.signIn();
    await user.authorize(client);
  }
  const deps = { ...signet.deps, db: part };
  const { refresh_token } = await users[0]!.obtainTokens(client);
  const codes = async () => (await idsIn(signet, 'grants', 'grant_id')).length - 1;
  const [, , third] = users.map(({ user_id }) => user_id).toSorted();
  const purgeCodes = openCodePurge(third);
  assert.equal(await purgeCodes(deps, undefined, 5), 0, 'an hour has not passed');
  signet.clock.advance(3661);
  await users[1]!.signIn();
  await users[1]!.authorize(client);
  const deleted = [];
  while (deleted.length < 6) deleted.push(await purgeCodes(deps, undefined, 2));
  assert.ok(
    deleted.every((count) => count <= 2),
    `${deleted}`,
  );
  assert.equal(await codes(), 1, 'the one that is not an hour old');
  assert.equal((await client.refresh(refresh_token)).status, 200);
});

testSignet('work over many rows is done in turns, so that no other job waits for its end', async ({ signet }) => {
  const { deps } = signet;
  const client = await signet.registerClient();
  const { user_id } = await signet.signedInUser();
  const columns = {
    ...{
      client_id: `'${client.client_id}'`,
      user_id: `'${user_id}'`,
      session_id: `'x'`,
      scope: `'openid'`,
      amr: `'pwd'`,
    },
    ...{ redirect_uri: `'x'`, code_challenge: `'x'`, acr: `'x'`, code_expires_at: 0, redeemed_at: now(deps) },
    ...{ refresh_seq: 0, idle_expires_at: now(deps) + week, expires_at: now(deps) + week, auth_time: 0, created_at: 0 },
  };
  await plain(deps.db).run(
    `insert into grants (grant_id, code_hash, ${Object.keys(columns)})
     with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 2000)
     select 'many-' || n, 'many-' || n, ${Object.values(columns)} from numbers`,
  );
  await suspendClient(deps, { client_id: client.client_id, caller: { actor: 'cli' } }, 'Phishing.');
  const left = () => idsIn(signet, "grants where revoked_at is null and grant_id like 'many%'", 'grant_id');
  const leftAtFlush: number[] = [];
  const flush = async () => {
    leftAtFlush.push((await left()).length);
    throw new StoreUnavailable('no');
  };
  const signInCounter = { ...deps.signInCounter, flush };
  assert.ok(await runLongJobs({ ...deps, signInCounter }, AbortSignal.abort()));
  assert.deepEqual(leftAtFlush, [], 'a server that stops begins no job');
  assert.ok(
    !(await runLongJobs({ ...deps, signInCounter }, new AbortController().signal, failureLog(deps), 1)),
    'one has failed',
  );
  assert.ok(leftAtFlush.length === 1 && leftAtFlush[0]! > 0, `${leftAtFlush}`);
  assert.deepEqual(await left(), []);
});

testSignet('a job that fails is logged, and the others run all the same', async ({ signet }) => {
  const expired = now(signet.deps) - dangerousSkewSeconds - 1;
  await plain(signet.deps.db).batch([insert('revoked_access_tokens', { jti: 'gone', expires_at: expired })]);
  const stop = beforeEachCall(signet.deps.db, ([sql = '']) => {
    if (/signing_keys|from grants/.test(sql)) throw new Error('no');
  });
  await signet.runJobs();
  stop();
  assert.deepEqual(await idsIn(signet, 'revoked_access_tokens', 'jti'), []);
  const failed = signet.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'job failed');
  const inCells = signet.deps.db.parts.length > 1 ? ['apply bulk revocations', 'delete clients'] : [];
  assert.deepEqual(
    failed.map(({ job }) => job),
    ['rotate keys', 'refresh keys', ...inCells, 'purge codes', 'expire grants', 'purge grants'],
  );
});

test('while the store is away each job logs one short line a minute', async (t) => {
  const signet = await startSignet(t);
  const stop = beforeEachCall(signet.deps.db, () => {
    throw new StoreUnavailable('The store is away.', { cause: new Error('connect ECONNREFUSED') });
  });
  const logFailure = failureLog(signet.deps);
  const run = () => runJobs(signet.deps, quickJobs, logFailure);
  const lines = () => signet.logLines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith('job failed'));
  for (let second = 0; second < 60; second += 1) {
    await run();
    signet.clock.advance(1);
  }
  assert.deepEqual(
    lines().map(({ job, reason, err }) => ({ job, reason, err })),
    quickJobs.map((job) => ({ job, reason: 'The store is away. (connect ECONNREFUSED)', err: undefined })),
  );
  await run();
  stop();
  assert.equal(lines().length, 2 * quickJobs.length);
});

onBothEngines("the jobs run on every node at once without getting in each other's way", async (t, engine) => {
  const first = await startSignet(t, { engine });
  const second = await startSignet(t, { engine, beside: first });
  const client = await first.registerClient();
  const user = await first.signedInUser();
  const { refresh_token } = await user.obtainTokens(client.at(first));
  first.clock.advance(8 * 86_400);
  const [refreshed] = await Promise.all([
    client.at(first).refresh(refresh_token),
    ...[first, second, first, second].map((node) => node.runJobs()),
  ]);
  assert.equal(refreshed.status, 200);
  for (const node of [first, second]) assert.ok(!node.logLines.some((line) => line.includes('job failed')));
});

test('work that keeps failing is tried ever more rarely, and at once again when it is well', async (t) => {
  const signet = await startSignet(t, { engine: 'sqlite' }); // which answers within a turn
  let isDown = true;
  let asked = 0;
  const stopSpying = beforeEachCall(signet.deps.db, ([sql = '']) => {
    if (!sql.includes('signing_keys')) return;
    asked += 1;
    if (isDown) throw new Error('no');
  });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const stop = keepKeysFresh(signet.deps);
  const seconds = async (count: number) => {
    for (let second = 0; second < count; second += 1) {
      t.mock.timers.tick(1000);
      await turn();
    }
    const askedMeanwhile = asked;
    asked = 0;
    return askedMeanwhile;
  };
  const first = await seconds(60);
  assert.ok(first >= 5 && first <= 8, `${first} times in the first minute`);
  const later = await seconds(600);
  assert.ok(later >= 8 && later <= 11, `${later} times in the next ten minutes`);
  isDown = false;
  await seconds(60);
  assert.equal(await seconds(10), 10);
  await stop();
  stopSpying();
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { inviteAdministrator } from '../../src/admin/invite-administrator.ts';
import { quickJobs, runJobs } from '../../src/app/jobs.ts';
import { listSigningKeys } from '../../src/oauth/signing-keys/store.ts';
import { now } from '../../src/platform/clock.ts';
import { storeHeartbeat } from '../../src/platform/processes.store.ts';
import { openProcesses } from '../../src/platform/processes.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { newUserIn } from '../support/buckets.ts';
import { type Engine, onBothEngines } from '../support/databases.ts';
import { openMailbox, type ReceivedMail } from '../support/mailbox.ts';
import { sentence } from '../support/messages.ts';
import { plain } from '../support/plain-sql.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const day = 86_400;
const minute = 60;

const warnings = ({ logLines }: Pick<Signet, 'logLines'>) =>
  logLines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);

/** A service on a machine of which the clock can be set: `pass` lets time go by, `set` sets it. */
async function settable(t: TestContext, engine: Engine = 'sqlite', env: Record<string, string> = {}) {
  let passed = 0;
  const signet = await startSignet(t, { engine, env, monotonic: () => passed });
  return {
    signet,
    set: (seconds: number) => signet.clock.advance(seconds),
    pass(seconds: number) {
      passed += seconds * 1000;
      signet.clock.advance(seconds);
    },
  };
}

const rowsIn = async ({ deps }: Signet, table: string) =>
  (await plain(deps.db).get<{ n: number }>(`select count(*) as n from ${table}`))?.n;

onBothEngines('a code that was refused as expired stays so when the clock is set back', async (t, engine) => {
  const { signet, set } = await settable(t, engine);
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const code = await user.authorize(client);
  set(65);
  assert.equal((await client.redeem(code)).status, 400);
  set(-65);
  const again = await client.redeem(code);
  assert.deepEqual([again.status, again.json?.error], [400, 'invalid_grant']);
  const grant = await plain(signet.deps.db).get<{ revoked_reason: string }>('select revoked_reason from grants');
  assert.equal(grant?.revoked_reason, 'expired');
});

onBothEngines('a link that was refused as expired stays so when the clock is set back', async (t, engine) => {
  const { signet, set } = await settable(t, engine);
  const { url } = await inviteAdministrator(signet.deps, 'cli');
  const browser = signet.newBrowser();
  const { pathname } = new URL(url);
  assert.equal((await browser.get(pathname)).status, 200);
  set(2 * day);
  assert.equal((await browser.get(pathname)).status, 400);
  set(-2 * day);
  assert.equal((await browser.get(pathname)).status, 400);
});

onBothEngines('a session and a refresh token that were refused as expired stay so', async (t, engine) => {
  const { signet, set, pass } = await settable(t, engine);
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const { refresh_token } = await user.obtainTokens(client);
  // A clock that was not set, hour by hour as a process that serves looks at it.
  pass(31 * day);
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  assert.equal((await client.refresh(refresh_token)).status, 400);
  set(-31 * day);
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  assert.equal((await client.refresh(refresh_token)).status, 400);
  const session = await plain(signet.deps.db).get<{ end_reason: string }>(
    'select end_reason from sessions where user_id = $1',
    [user.user_id],
  );
  assert.equal(session?.end_reason, 'expired');
});

onBothEngines('a clock that jumps ahead for a minute deletes nothing and ends nothing', async (t, engine) => {
  const { signet, set, pass } = await settable(t, engine);
  const client = await signet.registerClient();
  const user = await signet.signedInUser();
  const { refresh_token } = await user.obtainTokens(client);
  const before = [await rowsIn(signet, 'sessions'), await rowsIn(signet, 'grants')];
  const keys = await listSigningKeys(signet.deps.db);
  await signet.runJobs();
  assert.deepEqual(warnings(signet), []);

  set(100 * day);
  await signet.runJobs();
  pass(minute);
  await signet.runJobs();
  assert.equal((await user.browser.get('/v1/me')).status, 401);
  assert.equal((await client.refresh(refresh_token)).status, 400);
  set(-100 * day);
  await signet.runJobs();

  assert.deepEqual([await rowsIn(signet, 'sessions'), await rowsIn(signet, 'grants')], before);
  assert.deepEqual(await listSigningKeys(signet.deps.db), keys, 'no key was rotated');
  assert.equal((await user.browser.get('/v1/me')).status, 200);
  assert.equal((await client.refresh(refresh_token)).status, 200);
  const jumps = warnings(signet).map(({ jumped_seconds }) => jumped_seconds);
  assert.deepEqual(jumps, [100 * day, -100 * day]);
});

onBothEngines(
  'a clock that jumps ahead ends no grant that only seems unused, and deletes none that only seems to have expired',
  async (t, engine) => {
    const { signet, set } = await settable(t, engine);
    const client = await signet.registerClient({ backchannel_logout_uri: 'https://rp.test/logout' });
    const user = await signet.signedInUser();
    const scopes = { scope: 'openid offline_access' };
    const { refresh_token } = await user.obtainTokens(client, scopes);
    await plain(signet.deps.db).run(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 110)
     insert into grants (grant_id, client_id, user_id, session_id, scope, redirect_uri, code_hash, code_challenge, code_expires_at,
                         redeemed_at, refresh_seq, idle_expires_at, expires_at, auth_time, amr, acr, created_at, expiry_check_at)
     select 'gr_' || i, client_id, user_id, session_id, scope, redirect_uri, 'code' || i, code_challenge, code_expires_at, redeemed_at,
            refresh_seq, idle_expires_at + i, expires_at + i, auth_time, amr, acr, created_at, expiry_check_at + i
       from grants, n`,
    );
    for (const jump of [40 * day, 89 * day, 100 * day]) {
      set(jump);
      await (await user.signedInElsewhere()).authorize(client, scopes);
      set(-jump);
    }
    assert.equal((await plain(signet.deps.db).all('select 1 from grants where revoked_at is null')).length, 114);
    assert.equal((await client.refresh(refresh_token)).status, 200);
  },
);

onBothEngines('a clock that has stood for a quarter of an hour after a jump is believed', async (t, engine) => {
  const { signet, set, pass } = await settable(t, engine);
  await signet.signedInUser();
  set(100 * day);
  await signet.runJobs();
  pass(15 * minute - 1);
  await signet.runJobs();
  assert.notEqual(await rowsIn(signet, 'sessions'), 0);
  pass(1);
  await signet.runJobs();
  assert.equal(await rowsIn(signet, 'sessions'), 0);
  assert.equal((await listSigningKeys(signet.deps.db)).filter(({ status }) => status === 'retiring').length, 2);
});

for (const [first, second] of [
  [2 * day, -2 * day],
  [-2 * day, 2 * day],
] as const) {
  onBothEngines(
    `while the clock is ${first / day} days off, then ${second / day}, and then right, each event gets its place and its webhook, and is found by its date`,
    async (t, engine) => {
      const { signet, set } = await settable(t, engine, { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' });
      const { deps } = signet;
      const { browser, user_id } = await signet.signedInUser({ role: 'admin' });
      const part = deps.db.of(user_id);
      await deps.auditLog.seal();
      const receiver = await openReceiver(t);
      await createWebhook(deps, { actor: 'cli' }, { url: receiver.url, event_types: ['user.created'] });
      const start = now(deps);
      const created: { user_id: string; at: number }[] = [];
      const create = async (isSealed: boolean) => {
        created.push({ user_id: (await newUserIn(signet, part)).user_id, at: now(deps) });
        if (isSealed) await runJobs(deps, quickJobs);
      };
      for (const clock of [first, second, 0]) {
        set(start + clock - now(deps));
        await create(true);
        await create(false);
      }
      set(minute);
      await create(true);

      const reports = await deps.auditLog.verify();
      for (const { broken, unsealed } of reports) assert.deepEqual([broken, unsealed], [undefined, 0]);
      const { set_back } = reports.find((one) => one.set_back.times > 0)!;
      const page = await browser.post('/admin/audit/verify');
      const { times, last_seq: seq } = set_back;
      assert.match(page.text, sentence('admin.audit.set_back', { times, seq: seq ?? 0 }));
      const reported = receiver.deliveries.map(({ body }) => JSON.parse(body).data.target);
      assert.deepEqual(reported.toSorted(), created.map(({ user_id }) => user_id).toSorted());

      const edges = [-3, -1, 0, 1, 3].map((days) => start + days * day);
      for (const since of edges) {
        for (const until of edges.filter((edge) => edge >= since)) {
          const { json } = await browser.get(
            `/v1/admin/audit?action=user.created&since=${since}&until=${until}&limit=100`,
          );
          const found = ((json?.events ?? []) as { target: string }[]).map(({ target }) => target);
          const wanted = created.filter(({ at }) => at >= since && at <= until).map(({ user_id }) => user_id);
          for (const user_id of wanted) assert.ok(found.includes(user_id), `from ${since - start} to ${until - start}`);
        }
      }
    },
  );
}

onBothEngines(
  'what a clock that was ahead has planned to send again is sent once the clock is right, and no pause is shortened',
  async (t, engine) => {
    const mailbox = await openMailbox(t);
    const settings = { SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8', SIGNET_SMTP_URL: mailbox.url };
    const { signet, set, pass } = await settable(t, engine, settings);
    const { deps } = signet;
    const receiver = await openReceiver(t);
    const isReset = ({ subject }: ReceivedMail) => sentence('mail.reset.subject').test(subject);
    const paths = () => receiver.deliveries.splice(0).map(({ path }) => path);
    const client = await signet.registerClient({ backchannel_logout_uri: receiver.url.replace('/hook', '/logout') });
    await signet.runJobs();
    await createWebhook(deps, { actor: 'cli' }, { url: receiver.url, event_types: ['user.created'] });
    receiver.status = 500;
    mailbox.refuses = true;
    set(400 * day);
    const user = await signet.signedInUser();
    await signet.newBrowser().post('/reset', { email: user.email });
    await user.obtainTokens(client);
    await user.browser.post('/signout');
    await signet.runJobs();
    assert.deepEqual(paths().toSorted(), ['/hook', '/logout']);

    set(-400 * day);
    receiver.status = 204;
    mailbox.refuses = false;
    await signet.runJobs();
    await runJobs(deps, quickJobs);
    assert.deepEqual(
      [paths(), mailbox.mails.filter(isReset)],
      [[], []],
      'it is not known yet which of the two was right',
    );
    pass(15 * minute);
    await signet.runJobs();
    await runJobs(deps, quickJobs);
    assert.deepEqual(paths().toSorted(), ['/hook', '/logout']);
    await deps.mail.deliver();
    assert.equal(mailbox.mails.filter(isReset).length, 1);

    receiver.status = 500;
    await signet.newUser();
    await runJobs(deps, quickJobs);
    assert.deepEqual(paths(), ['/hook']);
    const longestPause = now(deps) + day;
    await plain(deps.db).run('update webhook_deliveries set next_attempt_at = $1 where dead_at is null', [
      longestPause,
    ]);
    await signet.runJobs();
    await runJobs(deps, quickJobs);
    assert.deepEqual(paths(), []);
  },
);

onBothEngines('who edits a client that was approved by a clock ahead does not approve the edit', async (t, engine) => {
  const { signet, set } = await settable(t, engine);
  const first = await signet.signedInUser({ role: 'admin' });
  const second = await signet.signedInUser({ role: 'admin' });
  const redirect_uris = ['https://rp.test/desk'];
  const registration = { name: 'Desk', client_type: 'public', redirect_uris };
  const { client_id } = (await first.browser.postJson('/v1/admin/clients', registration)).json ?? {};
  const approve = ({ browser }: TestUser, revision: number) =>
    browser.postJson(`/v1/admin/clients/${client_id}/approve`, { revision, consent: 'required' });
  set(minute);
  assert.equal((await approve(second, 1)).status, 200);
  await signet.deps.auditLog.seal();
  set(-minute);
  for (const [revision, seals] of [
    [1, true],
    [2, false],
  ] as const) {
    const edit = { revision, name: `Desk ${revision}` };
    assert.equal((await second.browser.patch(`/v1/admin/clients/${client_id}`, edit)).status, 200);
    if (seals) await signet.deps.auditLog.seal();
    const refused = await approve(second, revision + 1);
    assert.deepEqual([refused.status, refused.json?.error], [403, 'access_denied']);
  }
  assert.equal((await approve(first, 3)).status, 200);
});

test('a drift is no jump', async (t) => {
  const { signet, set, pass } = await settable(t);
  for (let branding = 0; branding < 20; branding += 1) {
    pass(minute);
    set(4);
    assert.equal(signet.deps.timekeeper.isSettled(), true);
  }
  assert.deepEqual(warnings(signet), []);
});

/** Two nodes on one store. The second one's clock is ahead, or behind, by so much. */
async function twoNodes(t: TestContext, engine: Engine, seconds: number) {
  let passed = 0;
  const first = await startSignet(t, { engine, monotonic: () => passed });
  const second = await startSignet(t, { engine, beside: first, monotonic: () => passed });
  const skewed = openProcesses({ ...second.deps, clock: () => first.clock() + seconds * 1000 });
  return {
    first,
    second,
    async minutes(count: number) {
      for (let one = 0; one < count; one += 1) {
        passed += minute * 1000;
        first.clock.advance(minute);
        await first.deps.processes.record();
        await skewed.record();
      }
    },
  };
}

onBothEngines('nodes whose clocks disagree both say so, with the size, and not every minute', async (t, engine) => {
  for (const skew of [90, -90]) {
    const { first, second, minutes } = await twoNodes(t, engine, skew);
    await minutes(20);
    const [one, other] = [warnings(first), warnings(second)];
    assert.deepEqual([one.length, other.length], [1, 1]);
    // What is read is up to a minute old.
    for (const [{ other_node_ahead_seconds }, expected] of [
      [one[0], skew],
      [other[0], -skew],
    ] as const) {
      assert.ok(Math.abs(other_node_ahead_seconds - expected) <= minute, String(other_node_ahead_seconds));
      assert.equal(Math.sign(other_node_ahead_seconds), Math.sign(expected));
    }
    assert.equal(first.deps.timekeeper.isSettled(), true, 'ninety seconds delete nothing that matters');
  }
});

onBothEngines('nodes that agree say nothing; those that are hours apart delete nothing', async (t, engine) => {
  const agreed = await twoNodes(t, engine, 2);
  await agreed.minutes(20);
  assert.deepEqual([...warnings(agreed.first), ...warnings(agreed.second)], []);
  const apart = await twoNodes(t, engine, 3600);
  await apart.minutes(3);
  for (const { deps } of [apart.first, apart.second]) assert.equal(deps.timekeeper.isSettled(), false);
});

test('at a start the clock is compared with the last sign of life', async (t) => {
  for (const [what, ahead, isSettled, warned] of [
    ['a restart', -minute, true, 0],
    ['the clock was set back meanwhile', 1000, false, 1],
    [
      'it may have been set ahead, or nothing was running: what has expired waits a quarter of an hour',
      -40 * day,
      false,
      0,
    ],
  ] as const) {
    const signet = await startSignet(t);
    const { deps, clock } = signet;
    const last = { node: 'node_before', base_url: 'x', mail: 'log' } as const;
    await deps.processes.start();
    assert.equal(deps.timekeeper.isSettled(), true, 'a first start');
    const fresh = await startSignet(t, { beside: signet });
    await deps.db.run(storeHeartbeat({ ...last, at: now(deps) + ahead }));
    await fresh.deps.processes.start();
    assert.deepEqual([fresh.deps.timekeeper.isSettled(), warnings(fresh).length], [isSettled, warned], what);
    clock.advance(15 * minute);
    assert.equal(fresh.deps.timekeeper.isSettled(), true);
  }
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { moveStore } from '../../src/app/move.ts';
import { closeDeps } from '../../src/app/open-deps.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { allTables, type TableName } from '../../src/platform/db/tables.ts';
import { bucketOf } from '../../src/platform/ids.ts';
import { readTotals } from '../../src/statistics/totals.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { afterTest } from '../support/after-test.ts';
import { refused, runCommand, succeed } from '../support/command-line.ts';
import { type Engine, freshStore } from '../support/databases.ts';
import { fillEveryTable } from '../support/every-table.ts';
import { linkIn, openMailbox } from '../support/mailbox.ts';
import { change, changesOf, exchange, killAfter, rowsWithoutMoves } from '../support/moved-stores.ts';
import { signInWithPasskey } from '../support/passkeys.ts';
import { pngOf } from '../support/pictures.ts';
import { plain } from '../support/plain-sql.ts';
import { cellCount, cellsAt, startEmptyPostgres } from '../support/postgres-server.ts';
import { redirectedTo, tokensOf } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { aUser, newDirectory } from '../support/scim.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { bareSettings, type Settings } from '../support/server-process.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { masterKey } from '../support/store-template.ts';
import type { TestUser } from '../support/test-user.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const cells = 'c0 c1 c2 c3';

/** A SQLite store with rows in every table, and an empty PostgreSQL to divide it among four cells. */
async function filled(t: TestContext, rows: number) {
  const { SIGNET_DATA_DIR: dataDir = '', ...more } = await bareSettings(t);
  const settings: Settings = {
    ...more,
    SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on',
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_DATA_DIR: dataDir,
  };
  await succeed(['migrate'], settings);
  fillEveryTable(join(dataDir, databaseFile), 1, rows);
  const store = { dataDir };
  // No store in one part has any of these.
  await change(store, 'delete from cells', 'delete from claims', 'update users set same_mailbox_as = null');
  const { url = '' } = await freshStore(t, 'postgres', { empty: true });
  const moving = { ...settings, SIGNET_MOVE_TO: url, SIGNET_MOVE_TO_CELLS: cells };
  return {
    store,
    target: { url, dataDir },
    settings,
    moving,
    moved: { ...settings, SIGNET_DATABASE_URL: url, SIGNET_CELLS: cells },
  };
}

/** Of which a part has rows that are in others, too, or in another way. */
const inSeveral: readonly TableName[] = [
  'counted_places',
  'daily_counts',
  'failure_counters',
  'grant_endings',
  'one_time_links',
  'spent_tokens',
];

/** The kinds of claims, and the tables that each row of claims one for. */
const claimed: [kind: string, name: TableName][] = [
  ['identity', 'identities'],
  ['passkey', 'passkeys'],
  ['user_name', 'scim_users'],
];
const times = (line: string, among: readonly string[]): number => among.filter((one) => one === line).length;

test('a move into cells that is killed again and again, while rows change, is continued: nothing twice, nothing lost', async (t) => {
  const random = seededRandom(t);
  const { store, target, moving } = await filled(t, 40);
  let round = 0;
  let killed = 0;
  const changing = async (times: number) => {
    for (let time = 0; time < times; time += 1) {
      round += 1;
      await change(store, ...changesOf(round % 9));
      await sleep(random.below(60));
    }
  };
  for (let time = 0; time < repeated(3); time += 1) {
    const [wasKilled] = await Promise.all([killAfter(300 + random.below(1200), ['move'], moving), changing(6)]);
    if (wasKilled) killed += 1;
  }
  const [{ state }] = await Promise.all([succeed(['move'], moving), changing(6)]);
  assert.equal(state, 'copied');
  await change(store, ...exchange);
  const before = await rowsWithoutMoves(store);
  let isOver = false;
  for (let time = 0; time < repeated(2) && !isOver; time += 1) {
    isOver = !(await killAfter(300 + random.below(700), ['move', '--finish'], moving));
    if (!isOver) killed += 1;
  }
  t.diagnostic(`killed ${killed} times`);
  if (!isOver) assert.equal((await succeed(['move', '--finish', '--deep'], moving)).state, 'finished');

  const after = await rowsWithoutMoves(target);
  for (const [name] of allTables) {
    if (name === 'claims' || name === 'cells') continue;
    if (!inSeveral.includes(name)) assert.deepEqual(after[name], before[name], name);
    else for (const line of before[name]!) assert.ok([1, 4, 5].includes(times(line, after[name]!)), `${name}: ${line}`);
  }
  for (const [kind, name] of claimed) {
    const claims = after.claims!.filter((line) => line.includes(`"claim_key","${kind}:`));
    assert.equal(claims.length, before[name]!.length, `claims of ${name}`);
  }
  const db = await openDb({
    ...target,
    databaseUrl: target.url,
    databaseMayLoseCommits: true,
    cells: cellsAt(target.url, 4),
  });
  afterTest(t, () => db.close());
  for (const [name, { place, key }] of allTables) {
    if (place === 'shared' || place === 'home' || inSeveral.includes(name) || name === 'claims') continue;
    for (const part of db.parts) {
      const found = await part.query({ sql: `select * from ${name}` });
      if (place === 'user') {
        for (const row of found)
          assert.equal(db.of(String(row.user_id ?? row[key])), part, `${name}: ${JSON.stringify(row)}`);
      }
      if (place === 'each' && part !== db.parts[0]) assert.equal(found.length, 0, name);
    }
  }
  await refused(['users', 'list'], { ...moving }, /was moved to .* \(SIGNET_CELLS=c0 c1 c2 c3\) and is closed/);
});

const log = pino({ enabled: false });
const caller = { actor: 'cli' } as const;

type Divided = { url: string; servers?: string };

const moving = (signet: Signet, { url, servers }: Divided, isLast: boolean) =>
  moveStore(
    { ...signet.deps.config, moveToCells: cells, moveToCellServers: servers },
    { clock: signet.clock, log },
    { to: url, isLast, isDeep: true, caller, onProgress: () => undefined },
  );

/** Of a page of the other store, which has the same origin. */
const statusOf = async (url: string) => (await fetch(url, { redirect: 'manual' })).status;

/** What is in progress in a store in one part goes on in one of cells. */
async function goesOn(t: TestContext, engine: Engine, target: Divided): Promise<void> {
  const mailbox = await openMailbox(t);
  const receiver = await openReceiver(t);
  const env = {
    SIGNET_SMTP_URL: mailbox.url,
    SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8',
  };
  const first = await startSignet(t, { engine, env });
  const admin = await first.signedInUser({ role: 'admin' });
  const client = await first.registerClient({ owner: admin });
  const people = [];
  for (let count = 0; count < 6; count += 1) {
    const user = await first.signedInUser();
    people.push({ user, tokens: await user.obtainTokens(client) });
  }
  const [changed, keyed, pictured, locked, late] = people.map(({ user }) => user) as TestUser[] as [
    TestUser,
    TestUser,
    TestUser,
    TestUser,
    TestUser,
  ];
  await changed.browser.post('/account/email/change', { email: 'elsewhere@example.com' });
  const used = linkIn(await mailbox.next('elsewhere@example.com'), /^\/verify-email\//);
  assert.equal((await changed.browser.post(used)).status, 303);
  const authenticator = await keyed.addPasskey();
  await pictured.browser.send('/account/picture', {
    method: 'POST',
    body: (() => {
      const body = new FormData();
      body.append('content', new File([new Uint8Array(pngOf())], 'me.png', { type: 'image/png' }));
      return body;
    })(),
    headers: { origin: first.url },
  });
  // As a version made it whose ids did not say whose they are.
  const other = `pic_${'x'.repeat(22)}`;
  await plain(first.deps.db).run('update user_pictures set picture_id = $1', [other]);
  await plain(first.deps.db).run("update users set picture = $1 where picture like '%/pictures/%'", [
    `${first.url}/pictures/${other}`,
  ]);
  const directory = await newDirectory(first);
  const provisioned = await directory.ok(201, 'POST', '/Users', aUser({ userName: 'Ada' }));
  for (let guess = 0; guess < 5; guess += 1) await locked.elsewhere().signIn({ password: 'not this one' });
  assert.equal((await locked.elsewhere().signIn()).status, 429);
  await admin.browser.postJson('/v1/admin/users/invite', { email: 'guest@join.test', reason: 'Asked for.' });
  const invitation = linkIn(await mailbox.next('guest@join.test'), /^\/join\//);
  receiver.status = 500;
  await createWebhook(first.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  await first.runJobs();
  const guest = await first.newUser();
  await first.runJobs();
  const attempts = receiver.deliveries.splice(0);
  assert.ok(attempts.length > 0, 'it was sent, and is to be sent again');
  assert.equal((await moving(first, target, false)).state, 'copied');
  const afterwards = await first.newUser();
  const code = await late.authorize(client);
  const asking = late.elsewhere();
  const asked = await asking.browser.get(client.authorizePath());
  const request = new URL(asked.location!, first.url).searchParams.get('request')!;
  await first.runJobs();
  mailbox.refuses = true;
  await plain(first.deps.db).batch(first.deps.mail.enqueue({ to: guest.email, subject: 'Hello', text: 'World' }));
  const events = await first.auditLog();
  const totals = await readTotals(first.deps);
  const { head } = (await first.deps.auditLog.verify())[0]!;
  await first.app.close();
  await closeDeps(first.deps);
  const finished = await moving(first, target, true);
  assert.ok(finished.state === 'finished' && finished.audit_log.broken === null && finished.audit_log.verified > 5);
  const port = { SIGNET_PORT: String(first.deps.config.port) };
  await assert.rejects(startSignet(t, { beside: first, env: port }), /was moved to .* and is closed/);

  const inCells = { SIGNET_CELLS: cells, ...(target.servers && { SIGNET_CELL_SERVERS: target.servers }) };
  const on = { url: target.url, dataDir: first.deps.config.dataDir, at: first.clock() / 1000 };
  const now = await startSignet(t, { on, env: { ...env, ...port, ...inCells, SIGNET_BASE_URL: first.url } });
  assert.equal(now.deps.db.parts.length, 5);
  assert.deepEqual(await readTotals(now.deps), totals);
  for (const { user, tokens } of people) {
    assert.equal((await user.browser.get('/account')).status, 200, 'the session');
    assert.equal((await client.post('/oauth/introspect', { token: tokens.access_token })).json?.active, true);
    const refreshed = tokensOf(await client.refresh(tokens.refresh_token));
    assert.equal((await client.refresh(tokens.refresh_token)).status, 400, 'it is used up');
    assert.equal((await client.refresh(refreshed.refresh_token)).status, 400, 'and this is a replay');
  }
  assert.equal((await client.redeem(code)).status, 200, 'a code in progress');
  const signedIn = await asking.signIn({ request });
  assert.equal(signedIn.status, 303, 'a request under way');
  assert.ok(redirectedTo(await asking.browser.get(signedIn.location!)).get('code'), signedIn.location);
  assert.equal((await changed.elsewhere().with({ email: 'elsewhere@example.com' }).signIn()).status, 303);
  assert.equal((await changed.browser.post(used)).status, 400, 'a link that was used');
  assert.equal((await signInWithPasskey(now, authenticator)).answer.status, 303);
  const picture = String((await pictured.browser.get('/v1/me')).json?.picture);
  assert.notEqual(picture, `${first.url}/pictures/${other}`);
  assert.equal(await statusOf(picture), 200);
  assert.equal((await locked.elsewhere().signIn()).status, 429, 'it is still locked');
  const found = await directory.ok(200, 'GET', `/Users?filter=${encodeURIComponent('userName eq "ada"')}`);
  assert.deepEqual(
    (found.Resources as { id: string }[]).map(({ id }) => id),
    [provisioned.id],
  );
  assert.equal((await directory.send('POST', '/Users', aUser({ userName: 'ADA' }))).status, 409);
  const joined = await guestOf(now, invitation);
  assert.equal((await joined.get('/v1/me')).json?.email, 'guest@join.test');
  assert.equal((await afterwards.signIn()).status, 303, 'an account that was made between the passes');
  receiver.status = 204;
  mailbox.refuses = false;
  now.clock.advance(3600);
  await now.runJobs();
  await mailbox.next(guest.email);
  const ids = receiver.deliveries.map(({ headers }) => headers['webhook-id']);
  for (const { headers } of attempts) assert.equal(times(String(headers['webhook-id']), ids.map(String)), 1);

  const log = await now.auditLog();
  for (const { event_id } of events) assert.ok(log.some((one) => one.event_id === event_id));
  assert.equal((await now.auditLog({ action: 'store.moved' })).length, 1);
  const reports = await now.deps.auditLog.verify(head);
  assert.deepEqual(
    reports.map(({ part }) => part),
    ['public', ...cells.split(' ')],
  );
  for (const { broken, stopped } of reports) assert.ok(!broken && !stopped);
  assert.ok(reports[0]!.verified >= events.length, 'the chain of before goes on');

  now.clock.advance(86_400);
  const before = await readTotals(now.deps);
  for (const { user } of people)
    assert.equal(
      (
        await user
          .with({ email: user === changed ? 'elsewhere@example.com' : user.email })
          .elsewhere()
          .signIn()
      ).status,
      303,
    );
  await now.runJobs();
  assert.deepEqual(await readTotals(now.deps), before, 'nobody is counted twice who is active on another day');
}

async function guestOf(signet: Signet, path: string) {
  const browser = signet.newBrowser();
  const made = await browser.post(path, { name: 'New', password: 'ordinary words in a row' });
  assert.deepEqual([made.status, made.location], [303, '/account'], made.text);
  return browser;
}

test('what is in progress goes on in cells of one server, and no server starts on the old store', async (t) => {
  const { url = '' } = await freshStore(t, 'postgres', { empty: true });
  await goesOn(t, cellCount > 0 ? 'sqlite' : 'postgres', { url });
});

/** As PostgreSQL has to be to be one of several servers. */
const followed = {
  wal_level: 'logical',
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  autovacuum: 'off',
};

test('it goes on in cells that were given two servers before', async (t) => {
  const servers = await Promise.all([startEmptyPostgres(followed), startEmptyPostgres(followed)]);
  afterTest(t, async () => void (await Promise.all(servers.map((server) => server.stop()))));
  const [url, second] = servers.map((server) => server.url) as [string, string];
  const { SIGNET_DATA_DIR: dataDir = '' } = await bareSettings(t);
  const settings: Settings = {
    SIGNET_DATA_DIR: dataDir,
    SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on',
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_DATABASE_URL: url,
    SIGNET_CELLS: cells,
    SIGNET_CELL_SERVERS: `b=${second}`,
  };
  await succeed(['migrate'], settings);
  await succeed(['cells', 'add', 'b'], settings);
  for (const cell of ['c2', 'c3']) await succeed(['cells', 'move', cell, '--to', 'b'], settings);
  await goesOn(t, 'sqlite', { url, servers: settings.SIGNET_CELL_SERVERS! });
  const listed = (await succeed(['cells', 'list'], settings)).cells as { name: string; server: string }[];
  assert.deepEqual(
    listed.map(({ server }) => server),
    ['first', 'first', 'b', 'b'],
  );
  // A cell goes on to move, without what the move of the store has noted in it.
  assert.equal(
    (await succeed(['cells', 'move', 'c1', '--to', 'b'], settings)).to,
    new URL(second).href.replace(':test@', '@'),
  );
});

test('a store that cannot be divided is refused with what to do, and goes on to be used', async (t) => {
  const { store, target, settings, moving, moved } = await filled(t, 0);
  const folder = join(store.dataDir, 'elsewhere');
  await refused(['move'], { ...moving, SIGNET_MOVE_TO: folder }, /a store in cells is on PostgreSQL/);
  await refused(['move'], { ...moving, SIGNET_MOVE_TO_CELLS: 'c0 c1 c2' }, /SIGNET_MOVE_TO_CELLS must be 2, 4, 8/);
  const insert = `insert into users (user_id, email, email_key, role, created_at, updated_at)`;
  const user_id = 'usr_AAAAAAAAAAAAAAAAAAAAAA';
  const now = Math.floor(Date.now() / 1000);
  await change(store, `${insert} values ('${user_id}', 'ada@example.com', 'ada@example.com', 'user', 1, 1)`);
  const session = (id: string, owner: string) =>
    `insert into sessions (session_id, token_hash, user_id, created_at, auth_time, amr, acr, last_seen_at, idle_expires_at, expires_at)
     values ('${id}', '${id}', '${owner}', 1, 1, '[]', '1', 1, ${now + 86_400}, ${now + 86_400})`;
  const lastDay = new Date((now + 86_400) * 1000).toISOString().slice(0, 10);
  const yet = new RegExp(`cannot be divided yet: 1 sessions were made .* The last of them ends on ${lastDay}`);
  const others = `${insert} values ('auth0|6', 'bo@example.com', 'bo@example.com', 'user', 1, 1)`;
  await change(store, others);
  for (const [id, owner] of [
    ['ses_AAAAAAAABBAAAAAAAAAAAA', user_id],
    ['ses_AAAAAAAAAAAAAAAAAAAAAA', 'auth0|6'],
  ] as const) {
    await change(store, session(id, owner));
    await refused(['move'], moving, yet);
    await change(store, `update sessions set ended_at = 1 where session_id = '${id}'`);
  }
  await change(store, session(`ses_AAAAAAAA${bucketOf('auth0|6')}AAAAAAAAAAAA`, 'auth0|6'));
  const later = now + 1; // than the store was made, also within this second
  const began = `update schema_migrations set applied_at = ${later} where name = '0079-placement-keys'`;
  await change(
    store,
    `insert into one_time_links (token_hash, purpose, email, created_at, expires_at) values ('x', 'invitation', 'cy@example.com', ${now - 5}, ${now + 86_400})`,
    began,
  );
  await refused(['move'], moving, /cannot be divided yet: 1 links in mails and invitations were made/);
  await change(store, began.replace(String(later), '(select min(applied_at) from schema_migrations)'));
  const twin = 'usr_AAAAAAAAAAAAAAAAAAAAAB';
  await change(
    store,
    `${insert.replace('updated_at', 'updated_at, same_mailbox_as')} values ('${twin}', 'ada@example.com.', 'ada@example.com.', 'user', 1, 1, '${user_id}')`,
  );
  await refused(['move'], moving, /1 accounts have the mailbox of another account/);
  await change(store, `delete from users where user_id = '${twin}'`);
  await succeed(['users', 'list'], settings);

  const { url = '' } = await freshStore(t, 'postgres', { empty: true });
  const taken = { ...settings, SIGNET_DATABASE_URL: url, SIGNET_CELLS: cells };
  await succeed(['migrate'], taken);
  await succeed(
    ['users', 'create', '--email', 'bo@example.com', '--name', 'Bo', '--password-stdin'],
    taken,
    'ordinary words in a row',
  );
  await refused(['move'], { ...moving, SIGNET_MOVE_TO: url }, /is not empty/);
  await refused(['move', '--to', folder], taken, /does not move as a whole\. .*signet export and signet import/);

  await succeed(['move'], moving);
  await refused(
    ['move'],
    { ...moving, SIGNET_MOVE_TO_CELLS: 'c0 c1' },
    /A move to .*SIGNET_CELLS=c0 c1 c2 c3\) has begun/,
  );
  await refused(['cells', 'list'], moved, /incomplete copy of/);
  await succeed(['move', '--finish'], moving);
  await refused(['users', 'list'], settings, /was moved to .*SIGNET_CELLS=c0 c1 c2 c3/);
  await succeed(['move', '--abandon'], moving);
  await refused(['users', 'list'], moved, /incomplete copy of/);
  await succeed(['users', 'list'], settings);
  await change(
    { ...target },
    ...['public', ...cells.split(' ')].map((schema) => `drop schema ${schema} cascade`),
    'create schema public',
  );
  const { stdout } = await runCommand(['move', '--finish'], { env: moving });
  assert.match(stdout, /Give every server SIGNET_DATABASE_URL .*, SIGNET_CELLS="c0 c1 c2 c3", and the same master key/);
  await succeed(
    ['users', 'create', '--email', 'cy@example.com', '--name', 'Cy', '--password-stdin'],
    moved,
    'ordinary words in a row',
  );
  await refused(['move', '--abandon'], moving, /was used since the move/);
});

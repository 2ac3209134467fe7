import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { moveStore } from '../../src/app/move.ts';
import { closeDeps } from '../../src/app/open-deps.ts';
import { StoreUnavailable } from '../../src/platform/db/db.ts';
import { databaseFile, openDb } from '../../src/platform/db/open.ts';
import { sql } from '../../src/platform/db/sql.ts';
import { startOf } from '../../src/platform/db/sqlite-processes.ts';
import { deleteRun, recordRun } from '../../src/platform/processes.store.ts';
import { changeSetting } from '../../src/settings/change-setting.ts';
import { createWebhook } from '../../src/webhooks/manage-webhook.ts';
import { afterTest } from '../support/after-test.ts';
import { misunderstood, refused, succeed } from '../support/command-line.ts';
import { type FreshStore, freshStore } from '../support/databases.ts';
import { everyIndex, everyRow, fillEveryTable } from '../support/every-table.ts';
import { openMailbox } from '../support/mailbox.ts';
import { change, changesOf, exchange, killAfter, rowsWithoutMoves } from '../support/moved-stores.ts';
import { plain } from '../support/plain-sql.ts';
import { asAdmin } from '../support/postgres-admin.ts';
import { cellCount } from '../support/postgres-server.ts';
import { tokensOf } from '../support/relying-party.ts';
import { repeated } from '../support/repeated.ts';
import { scratchFolder } from '../support/scratch.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { bareSettings, type Settings } from '../support/server-process.ts';
import { type Signet, startSignet } from '../support/signet.ts';
import { masterKey } from '../support/store-template.ts';
import { openReceiver } from '../support/webhook-receiver.ts';

const caller = { actor: 'cli' } as const;

/** Why a run in cells has none of these: `move-to-cells.test.ts` says what moves there. */
const skip = cellCount > 0 && 'signet move leads into cells, and not out of them';

/** A SQLite store with rows in every table, an empty PostgreSQL, and an empty folder. */
async function filled(t: TestContext, rows: number) {
  const { SIGNET_DATA_DIR: dataDir = '', ...more } = await bareSettings(t);
  const common: Settings = {
    ...more,
    SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on',
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_DATA_DIR: dataDir,
  };
  await succeed(['migrate'], common);
  fillEveryTable(join(dataDir, databaseFile), 1, rows);
  const { url = '' } = await freshStore(t, 'postgres', { empty: true });
  const addressFile = join(dataDir, 'move-to');
  writeFileSync(addressFile, `${url}\n`, { mode: 0o600 });
  const back = join(await scratchFolder('moved-back'), 'data');
  afterTest(t, () => rm(join(back, '..'), { recursive: true, force: true }));
  const onPostgres: Settings = { ...common, SIGNET_DATABASE_URL: url };
  return {
    sqlite: { dataDir },
    postgres: { url, dataDir },
    back: { dataDir: back },
    there: { ...common, SIGNET_MOVE_TO_FILE: addressFile } as Settings,
    home: { ...onPostgres, SIGNET_MOVE_TO: back } as Settings,
    onPostgres,
  };
}

test('a move that is killed again and again, while rows change, is continued: nothing twice, nothing lost, both ways', {
  skip,
}, async (t) => {
  const random = seededRandom(t);
  const { sqlite, postgres, back, there, home } = await filled(t, 40);
  const ways: { from: FreshStore; to: FreshStore; env: Settings }[] = [
    { from: sqlite, to: postgres, env: there },
    { from: postgres, to: back, env: home },
  ];
  let round = 0;
  for (const { from, to, env } of ways) {
    let killed = 0;
    const changing = async (times: number) => {
      for (let time = 0; time < times; time += 1) {
        round += 1;
        await change(from, ...changesOf(round % 9));
        await sleep(random.below(60));
      }
    };
    for (let time = 0; time < repeated(2); time += 1) {
      const [wasKilled] = await Promise.all([killAfter(250 + random.below(700), ['move'], env), changing(6)]);
      if (wasKilled) killed += 1;
    }
    const [{ state }] = await Promise.all([succeed(['move'], env), changing(6)]);
    assert.equal(state, 'copied');
    await change(from, ...exchange);
    const before = await rowsWithoutMoves(from);
    let isOver = false;
    for (let time = 0; time < repeated(1) && !isOver; time += 1) {
      isOver = !(await killAfter(250 + random.below(400), ['move', '--finish'], env));
      if (!isOver) killed += 1;
    }
    t.diagnostic(`killed ${killed} times`);
    if (!isOver) assert.equal((await succeed(['move', '--finish', '--deep'], env)).state, 'finished');
    assert.deepEqual(await rowsWithoutMoves(to), before);
    assert.deepEqual(
      await everyIndex(to),
      await everyIndex(to.url === undefined ? sqlite : await freshStore(t, 'postgres')),
    );
    await refused(['users', 'list'], env, /was moved to .* and is closed/);
  }
});

const log = pino({ enabled: false });

const moving = (signet: Signet, to: string, isLast: boolean) =>
  moveStore(
    signet.deps.config,
    { clock: signet.clock, log },
    { to, isLast, isDeep: true, caller, onProgress: () => undefined },
  );

async function stop({ app, deps }: Signet): Promise<void> {
  await app.close();
  await closeDeps(deps);
}

test('sessions, tokens, mails and webhooks in progress go on in the other store, and no server starts on the old one', {
  skip,
}, async (t) => {
  const mailbox = await openMailbox(t);
  const receiver = await openReceiver(t);
  const env = { SIGNET_SMTP_URL: mailbox.url, SIGNET_WEBHOOK_INTERNAL: '127.0.0.0/8' };
  const first = await startSignet(t, { env });
  const user = await first.signedInUser();
  const client = await first.registerClient({ owner: user });
  const tokens = await user.obtainTokens(client);
  const app = await user.enableTotp();
  await first.runJobs();
  receiver.status = 500;
  await createWebhook(first.deps, caller, { url: receiver.url, event_types: ['user.created'] });
  mailbox.refuses = true;
  await changeSetting(first.deps, caller, 'SIGNET_LIMIT_PENDING_CLIENTS', { value: '7' });
  const stores: FreshStore[] = [
    { url: (await freshStore(t, 'postgres', { empty: true })).url, dataDir: first.deps.config.dataDir },
    { dataDir: join(first.deps.config.dataDir, 'back') },
  ];
  let now = first;
  let { access_token, refresh_token } = tokens;
  for (const store of stores) {
    const to = store.url ?? store.dataDir;
    const other = store.url ? `${process.ppid}-${startOf(process.ppid)}-server` : now.deps.db.run_id;
    await now.deps.db.run(recordRun(other, now.clock() / 1000, now.deps.vault.id));
    assert.equal((await moving(now, to, false)).state, 'copied');
    ({ access_token, refresh_token } = tokensOf(await client.refresh(refresh_token)));
    const guest = await now.newUser();
    await now.runJobs();
    const to_guest = { to: guest.email, subject: 'Hello', text: 'World' };
    await plain(now.deps.db).batch(now.deps.mail.enqueue(to_guest));
    const attempts = receiver.deliveries.splice(0);
    assert.equal(attempts.length, 1, 'it was sent, and is to be sent again');
    await assert.rejects(moving(now, to, true), /A server is running on this store/);
    await deleteRun(now.deps.db, other);
    await stop(now);
    const finished = await moving(now, to, true);
    assert.ok(finished.state === 'finished' && finished.audit_log.broken === null);
    const port = { SIGNET_PORT: String(now.deps.config.port) };
    await assert.rejects(startSignet(t, { beside: now, env: port }), /was moved to .* and is closed/);
    const closed = await openDb(now.deps.config);
    await assert.rejects(closed.run(sql`delete from users`), StoreUnavailable, 'a version that knows no moves');
    await closed.close();

    const on = { ...store, at: now.clock() / 1000 };
    now = await startSignet(t, { on, env: { ...env, ...port, SIGNET_BASE_URL: first.url } });
    assert.equal((await user.browser.get('/account')).status, 200, 'the session');
    assert.equal(now.deps.config.limits.pendingClients, 7, 'a setting that was changed while a server ran');
    ({ refresh_token } = tokensOf(await client.refresh(refresh_token)));
    assert.equal((await client.post('/oauth/introspect', { token: access_token })).json?.active, true);
    first.clock.advance((now.clock() - first.clock()) / 1000);
    const code = app.code(); // by the clock of the first server, which it moves
    now.clock.advance((first.clock() - now.clock()) / 1000);
    assert.equal((await (await user.awaitingSecondFactor()).giveCode(code)).status, 303, 'what is sealed');
    receiver.status = 204;
    mailbox.refuses = false;
    now.clock.advance(3600);
    await now.runJobs();
    await mailbox.next(guest.email);
    const [delivered] = receiver.deliveries.splice(0);
    assert.equal(delivered?.headers['webhook-id'], attempts[0]?.headers['webhook-id']);
    receiver.status = 500;
    mailbox.refuses = true;
    const [report] = await now.deps.auditLog.verify();
    const { broken, stopped, verified } = report!;
    assert.ok(verified > 5 && !broken && !stopped);
    assert.equal((await now.auditLog({ action: 'store.moved' })).length, stores.indexOf(store) + 1);
  }
});

test('what cannot be moved is refused, and the store goes on to be used', { skip }, async (t) => {
  const { there, home, postgres, sqlite, back } = await filled(t, 0);
  const { SIGNET_MOVE_TO_FILE: _, ...unnamed } = there;
  const before = await everyRow(sqlite);
  const url = new URL(postgres.url);
  await misunderstood(['move'], unnamed, /Say where to/);
  await misunderstood(['move', '--to', postgres.url], unnamed, /password on the command line/);
  await misunderstood(['move', '--deep'], there, /--deep belongs to --finish/);
  await refused(['move', '--to', sqlite.dataDir], unnamed, /The store is SQLite, and moves to PostgreSQL/);
  await refused(['move', '--abandon'], unnamed, /No move from this store has begun/);
  const to = (change: (address: URL) => void) => {
    const other = new URL(url);
    change(other);
    return { ...unnamed, SIGNET_MOVE_TO: other.href };
  };
  const said = [
    await refused(
      ['move'],
      to((one) => (one.password = 'wr0ng-one')),
      /PostgreSQL refused the connection/,
    ),
    await refused(
      ['move'],
      to((one) => (one.port = '1')),
      /The connection to PostgreSQL failed/,
    ),
    await refused(
      ['move'],
      to((one) => (one.search = '?password=s3cret')),
      /./,
    ),
    await refused(['move'], { ...there, SIGNET_MASTER_KEY: 'ab'.repeat(32) }, /master key does not match/),
  ];
  assert.doesNotMatch(said.join(), /wr0ng-one|s3cret/);

  await asAdmin(postgres.url, async (client) => {
    await client.query('select pg_advisory_lock(7446382)');
    await refused(['move'], there, /Another signet move uses the same PostgreSQL/);
  });
  await change(postgres, 'create table of_another_program (id text)');
  await refused(['move'], there, /is not empty/);
  await change(postgres, 'drop table of_another_program');
  assert.deepEqual(await everyRow(sqlite), before);
  await succeed(['users', 'list'], unnamed);

  await succeed(['move'], there);
  const { SIGNET_MOVE_TO: _to, ...onPostgres } = home;
  await refused(['users', 'list'], onPostgres, /incomplete copy of/);
  await refused(
    ['move'],
    to((one) => (one.pathname = '/postgres')),
    /A move to .* has begun/,
  );
  await change(sqlite, `update schema_migrations set checksum = checksum || 'x' where name = '0001-foundation'`);
  await refused(['move'], there, /differs from the one that was applied/);
  await change(sqlite, `update schema_migrations set checksum = rtrim(checksum, 'x') where name = '0001-foundation'`);
  await succeed(['move', '--finish'], there);
  await refused(['move', '--finish'], there, /was moved to/);
  await refused(['move', '--abandon'], unnamed, /may have taken its place/);

  // Back, as long as nothing was written there.
  await succeed(['move', '--abandon'], there);
  assert.deepEqual(await everyRow(sqlite), before);
  await refused(['users', 'list'], onPostgres, /incomplete copy of/);
  await refused(['move'], there, /is not empty/);
  await change(postgres, 'drop schema public cascade', 'create schema public');
  await succeed(['move', '--finish'], there);
  await succeed(['users', 'invite', 'late@example.com'], onPostgres);
  await refused(['move', '--abandon'], there, /was used since the move/);
  await succeed(['move', '--abandon', '--force'], unnamed);
  await succeed(['users', 'list'], unnamed);
  await refused(['move', '--to', back.dataDir], unnamed, /The store is SQLite/);
});

test('a backup that was made in the course of a move is restored without it', { skip }, async (t) => {
  const { there, sqlite } = await filled(t, 0);
  await succeed(['move'], there);
  const file = join(sqlite.dataDir, 'backup.db');
  await succeed(['backup', file], there);
  const elsewhere = { ...there, SIGNET_DATA_DIR: join(sqlite.dataDir, 'restored') };
  await succeed(['restore', file], elsewhere);
  await refused(['move', '--abandon'], elsewhere, /No move from this store has begun/);
  await refused(['move', '--finish'], elsewhere, /is not empty/);
});

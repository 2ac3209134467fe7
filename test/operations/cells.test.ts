import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { moveCell } from '../../src/platform/db/cell-move.ts';
import { followShared } from '../../src/platform/db/cell-servers.ts';
import { readCells } from '../../src/platform/db/cell-settings.ts';
import { openCells } from '../../src/platform/db/cells.ts';
import { OutcomeUnknown, StoreUnavailable } from '../../src/platform/db/engine.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { integer, row, text } from '../../src/platform/db/rows.ts';
import { sql } from '../../src/platform/db/sql.ts';
import { type Bucket, newUserId } from '../../src/platform/ids.ts';
import { afterTest } from '../support/after-test.ts';
import { refused, succeed } from '../support/command-line.ts';
import { type PostgresServer, startEmptyPostgres } from '../support/postgres-server.ts';
import { bareSettings } from '../support/server-process.ts';
import { masterKey } from '../support/store-template.ts';

const settings = {
  wal_level: 'logical',
  fsync: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  autovacuum: 'off',
};

async function twoServers(t: TestContext): Promise<PostgresServer[]> {
  const servers = await Promise.all([startEmptyPostgres(settings), startEmptyPostgres(settings)]);
  afterTest(t, async () => void (await Promise.all(servers.map((server) => server.stop()))));
  return servers;
}

const Host = row('approved_hosts', { host: text });

async function storeOnTwo(t: TestContext) {
  const [first, second] = await twoServers(t);
  const cells = readCells(first!.url, 'c0 c1 c2 c3', `b=${second!.url}`)!;
  const db = await openCells(cells, { mayLoseCommits: true });
  afterTest(t, () => db.close());
  await migrate(db, 0);
  await migrate(db.copyAt!('b'), 0);
  await followShared(first!.url, { name: 'b', url: second!.url });
  return { db, first: first!, second: second! };
}

test('a cell moves to another server while its users change: nothing is lost, and who asks finds it there', async (t) => {
  const { db, first, second } = await storeOnTwo(t);
  const users = Array.from({ length: 40 }, () => newUserId('AA' as Bucket));
  const insert = (user_id: string) => sql`insert into users (user_id, email, email_key, role, created_at, updated_at)
      values (${user_id}, ${user_id}, ${user_id}, 'user', 1, 1)`;
  for (const user_id of users) await db.of(user_id).run(insert(user_id));
  const acknowledged = new Map<string, number>();
  let moving = true;
  const changing = Promise.all(
    users.slice(0, 6).map(async (user_id) => {
      for (let n = 2; moving || acknowledged.get(user_id) === undefined; n += 1) {
        try {
          await db.of(user_id).run(sql`update users set updated_at = ${n} where user_id = ${user_id}`);
          acknowledged.set(user_id, n);
        } catch (error) {
          assert.ok(error instanceof StoreUnavailable, String(error));
          assert.ok(!(error instanceof OutcomeUnknown), 'what was refused has changed nothing');
          await sleep(5);
        }
      }
    }),
  );
  await migrate(db.cellAt!('c0', 'b'), 0);
  const move = moveCell(
    'c0',
    { from: first.url, to: second.url },
    {
      switchOver: keepPlace,
      onProgress: () => {},
      monotonic: () => performance.now(),
    },
  );
  const { rows } = await move.finally(() => (moving = false));
  await changing;
  const Row = row('users', { user_id: text, updated_at: integer });
  const found = await db.of(users[0]!).all(Row, sql`select user_id, updated_at from users`);
  assert.equal(found.length, users.length);
  for (const { user_id, updated_at } of found) assert.equal(updated_at, acknowledged.get(user_id) ?? 1);
  assert.equal(rows > 40, true);

  function keepPlace() {
    return db.shared.run(sql`update cells set server = 'b' where name = 'c0'`).then(() => undefined);
  }
});

test('a change of what all parts have is on every server when it is confirmed, and is refused while one is away', async (t) => {
  const { db, second } = await storeOnTwo(t);
  const add = (host: string) =>
    db.shared.run(
      sql`insert into approved_hosts (host, allowed_scopes, event_id, created_at, updated_at) values (${host}, '', '', 1, 1)`,
    );
  const following = async (): Promise<void> => {
    const refused = await add('one.test').then(
      () => false,
      (error: Error) => /does not follow: b/.test(error.message) || Promise.reject(error),
    );
    if (refused) return sleep(20).then(following);
  };
  await following();
  for (let n = 0; n < 20; n += 1) {
    await add(`host${n}.test`);
    assert.equal((await db.copyAt!('b').all(Host, sql`select host from approved_hosts`)).length, n + 2);
  }
  await second.stop();
  await assert.rejects(add('late.test'), /cannot be reached, or does not follow: b/);
});

test('signet cells: a server is added, a cell moves to it, and both are listed; what cannot be is said', async (t) => {
  const [first, second] = await twoServers(t);
  const { SIGNET_DATA_DIR = '', ...bare } = await bareSettings(t);
  const onePart = { ...bare, SIGNET_DATA_DIR, SIGNET_DATABASE_URL: first!.url, SIGNET_DATABASE_MAY_LOSE_COMMITS: 'on' };
  const env = {
    ...onePart,
    SIGNET_MASTER_KEY: masterKey.toString('base64'),
    SIGNET_CELLS: 'c0 c1',
    SIGNET_CELL_SERVERS: `b=${second!.url}`,
  };
  await succeed(['migrate'], env);
  await succeed(
    ['users', 'create', '--email', 'ada@example.com', '--name', 'Ada', '--verified', '--password-stdin'],
    env,
    'ordinary words in a row\n',
  );
  await refused(['cells', 'move', 'c1', '--to', 'b'], env, /b has no copy of the shared tables .*signet cells add b/);
  await refused(['cells', 'add', 'z'], env, /SIGNET_CELL_SERVERS does not name z\. It names b/);
  await succeed(['cells', 'add', 'b'], env);
  for (const cell of ['c0', 'c1']) await succeed(['cells', 'move', cell, '--to', 'b'], env);
  await refused(['cells', 'move', 'c1', '--to', 'b'], env, /c1 is on that server already/);
  await refused(['cells', 'move', 'c9', '--to', 'b'], env, /has no cell c9/);
  const listed = await succeed(['cells', 'list'], env);
  assert.deepEqual(
    (listed.cells as Record<string, unknown>[]).map(({ name, server, buckets, problem }) => [
      name,
      server,
      buckets,
      problem,
    ]),
    [
      ['c0', 'b', [0, 2047], null],
      ['c1', 'b', [2048, 4095], null],
    ],
  );
  const { user_id } = await succeed(['users', 'show', 'ada@example.com'], env);
  assert.match(String(user_id), /^usr_/);
  await refused(['users', 'show', 'ada@example.com'], { ...env, SIGNET_CELLS: 'c1 c0' }, /It has to be: c0 c1/);
  const { SIGNET_CELLS: _, SIGNET_CELL_SERVERS: __, ...without } = env;
  await refused(['users', 'show', 'ada@example.com'], without, /SIGNET_CELLS is not set\. Set it to: c0 c1/);
  await refused(['cells', 'list'], without, /This store is in one part/);
});

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
import { type PostgresServer, startEmptyPostgres } from '../support/postgres-server.ts';

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
  const cells = readCells(first!.url, 'c0 c1 c2@b c3@b', `b=${second!.url}`)!;
  const db = await openCells(cells, { mayLoseCommits: true });
  afterTest(t, () => db.close());
  await migrate(db, 0);
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
    assert.equal((await db.copies![0]!.all(Host, sql`select host from approved_hosts`)).length, n + 2);
  }
  await second.stop();
  await assert.rejects(add('late.test'), /cannot be reached, or does not follow: b/);
});

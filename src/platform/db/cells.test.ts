import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { afterTest } from '../../../test/support/after-test.ts';
import { freshStore } from '../../../test/support/databases.ts';
import { cellsAt } from '../../../test/support/postgres-server.ts';
import { type Bucket, bucketNumber, newIdOf, newUserId } from '../ids.ts';
import { openCells } from './cells.ts';
import { migrate } from './migrate.ts';
import { integer, row, text } from './rows.ts';
import { sql } from './sql.ts';

const Found = row('sessions', { session_id: text });
const Count = row('users', { count: integer });

async function eightCells(t: TestContext) {
  const { url = '' } = await freshStore(t, 'postgres', { empty: true });
  const db = await openCells(cellsAt(url, 8), { mayLoseCommits: true });
  afterTest(t, () => db.close());
  await migrate(db, 0);
  return db;
}

const buckets = ['AA', 'Bz', 'fu', '9-', '__'] as Bucket[];

test('buckets are counted in the order of their alphabet', () => {
  assert.deepEqual(buckets.map(bucketNumber), [0, 115, 2030, 3966, 4095]);
});

test('each cell has the rows of its buckets, and finds them by the ids that were made for their user', async (t) => {
  const db = await eightCells(t);
  const users = buckets.map(newUserId);
  for (const user_id of users) {
    const session_id = newIdOf(user_id, 'ses');
    await db.of(user_id).change({
      run: {
        user: sql`insert into users (user_id, email, email_key, role, created_at, updated_at)
                  values (${user_id}, ${user_id}, ${user_id}, 'user', 1, 1)`,
        counter: sql`insert into failure_counters (counter_key, failures, window_ends_at, blocked_until, expires_at)
                     values (${user_id}, 1, 0, 0, 0)`,
      },
    });
    const found = await db
      .of(session_id)
      .all(Found, sql`select user_id as session_id from users where user_id = ${user_id}`);
    assert.deepEqual(found, [{ session_id: user_id }]);
  }
  const counts = await Promise.all(
    db.parts.slice(1).map((part) => part.get(Count, sql`select count(*) as count from users`)),
  );
  assert.deepEqual(
    counts.map((one) => one?.count),
    [2, 0, 0, 1, 0, 0, 0, 2],
  );
});

test('what a part does not have is refused before it is sent', async (t) => {
  const db = await eightCells(t);
  const [one, other] = [newUserId('AA' as Bucket), newUserId('__' as Bucket)];
  const ofUser = sql`update users set name = null where user_id = ${other}`;
  await assert.rejects(db.of(one).run(ofUser), /about a user of another cell/);
  const named = sql`update users set name = ${other} where user_id = ${one}`;
  assert.equal((await db.of(one).run(named)).changes, 0, 'a name may be like an id');
  await assert.rejects(db.shared.run(ofUser), /users is in another part/);
  await assert.rejects(db.of(one).run(sql`update clients set name = 'x'`), /clients is in another part/);
  await assert.rejects(
    db.of(one).all(Found, sql`select node as session_id from server_heartbeat`),
    /server_heartbeat is in/,
  );
  await assert.rejects(
    db.of(one).all(Found, sql`select session_id from clients c, sessions s where s.client_id = c.client_id`),
    /sessions is to be joined/,
  );
  assert.deepEqual(await db.of(one).all(Found, sql`select client_id as session_id from clients`), []);
});

import assert from 'node:assert/strict';
import { databaseBefore, onBothEngines } from '../../test/support/databases.ts';
import { plain } from '../../test/support/plain-sql.ts';
import { migrate } from '../platform/db/migrate.ts';
import { listUsers } from './lists.store.ts';

onBothEngines('of users of an earlier version, the list knows the last sign-in and the factors', async (t, engine) => {
  const { db } = await databaseBefore(t, engine, '0029');
  for (const id of ['new', 'app', 'key']) {
    await plain(db).run(
      `insert into users (user_id, email, email_key, role, created_at, updated_at) values ($1, $1, $1, 'user', 5, 5)`,
      [id],
    );
  }
  await plain(db).run(
    `insert into known_devices (user_id, device_hash, first_seen_at, last_seen_at) values ('app', 'a', 1, 7), ('app', 'b', 1, 9)`,
  );
  await plain(db).run(`insert into totp (user_id, confirmed_at) values ('app', 1), ('new', null)`);
  await plain(db).run(
    `insert into passkeys (credential_id, user_id, public_key, sign_count, transports, name, created_at)
     values ('c', 'key', 'x', 0, '', 'Key', 1)`,
  );
  assert.ok((await migrate(db, 0)).includes('0029-list-of-people'));
  const all = await listUsers(db, { order: 'last_sign_in', limit: 9, staleBefore: 0 });
  assert.deepEqual(
    all.map(({ user_id, last_sign_in_at }) => [user_id, last_sign_in_at]),
    [
      ['app', 9],
      ['new', null],
      ['key', null],
    ],
  );
  const without = await listUsers(db, { filter: 'no_second_factor', limit: 9, staleBefore: 0 });
  assert.deepEqual(
    without.map(({ user_id }) => user_id),
    ['new'],
  );
});

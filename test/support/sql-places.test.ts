import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresMigrations } from './portable-sql.ts';
import { inTheWayOf } from './sql-places.ts';

const device = 'insert into known_devices (user_id, device_hash, first_seen_at, last_seen_at)';

test('of a statement it is seen what no store in parts could answer, and what Citus refuses', () => {
  for (const [problem, sql] of [
    [/^rows of two parts: users, claims$/, 'select 1 from users u join claims c on c.user_id = u.user_id'],
    [/^rows of two parts: handles, claims$/, 'delete from handles where exists (select 1 from claims)'],
    [/^a change of clients that depends on grants$/, 'delete from clients where not exists (select 1 from grants)'],
    [
      /^a change of webhooks that depends on audit_log$/,
      'update webhooks set name = (select max(action) from audit_log)',
    ],
    [
      /^a subquery behind returning/,
      `${device} select user_id, $1, 1, 1 from users returning (select count(*) from sessions)`,
    ],
    [/^insert … select of no table$/, `${device} select $1, $2, 1, 1 where 1 = 1`],
    [/^a number that is joined to text/, `${device} select user_id, user_id || ' ' || created_at, 1, 1 from users`],
    [
      /^a number that is joined to text/,
      `${device} select user_id, 'x' || row_number() over (order by user_id), 1, 1 from users`,
    ],
    [
      /^a change of webhook_deliveries by a condition on a shared table/,
      'update webhook_deliveries set attempts = 1 where exists (select 1 from webhooks where webhook_id = $1)',
    ],
    [
      /^a change of webhook_deliveries by a condition on a shared table/,
      'delete from webhook_deliveries where $1 in (select webhook_id from webhooks)',
    ],
  ] as const) {
    const found = inTheWayOf(sql);
    assert.equal(found.length, 1, sql);
    assert.match(found[0]!, problem);
  }
  for (const sql of [
    'select 1 from users u join sessions s on s.user_id = u.user_id join clients c on c.owner_user_id = u.user_id',
    `${device} select user_id, user_id || ' ' || cast(created_at as text), 1, 1 from users`,
    `${device} values ($1, $2, 1, 1)`,
    'update webhooks set name = (select max(name) from clients)',
    'update webhook_deliveries set attempts = 1 where webhook_id in (select webhook_id from webhooks where webhook_id = $1)',
  ]) {
    assert.deepEqual(inTheWayOf(sql), [], sql);
  }
});

/** Of the tables of cells. No store on Citus is older than they are. */
const withCells = 84;

test('no migration that a store on Citus will meet has a construct that it refuses', () => {
  const scripts = postgresMigrations().slice(withCells);
  assert.deepEqual(
    scripts.flatMap((script) => inTheWayOf(script)),
    [],
  );
});

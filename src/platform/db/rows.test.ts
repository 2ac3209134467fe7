import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from '../schema.ts';
import { choice, flag, integer, json, nullable, RowMismatch, type RowOf, row, text } from './rows.ts';
import { sql } from './sql.ts';

const Client = row('clients', {
  client_id: text,
  status: choice('approved', 'suspended'),
  is_first_party: flag,
  redirect_uris: json(Type.Array(Type.String())),
  pending: nullable(json(Type.Object({ name: Type.String() }))),
  deleted_at: nullable(integer),
});
type Client = RowOf<typeof Client>;

const stored = {
  client_id: 'cl_1',
  status: 'approved',
  is_first_party: 1,
  redirect_uris: '["https://rp.test"]',
  pending: null,
  deleted_at: null,
};
const decoded: Client = {
  client_id: 'cl_1',
  status: 'approved',
  is_first_party: true,
  redirect_uris: ['https://rp.test'],
  pending: null,
  deleted_at: null,
};

test('a row is checked and decoded', () => {
  assert.deepEqual(Client.parse({ ...stored }), decoded);
  const { pending } = Client.parse({ ...stored, pending: '{"name":"n"}' });
  assert.deepEqual(pending, { name: 'n' });
  assert.deepEqual(Client.pick('is_first_party').parse({ is_first_party: 0 }), { is_first_party: false });
});

test('a row of another shape is an error that names the column and no value', () => {
  const broken: [string, object][] = [
    ['clients.status', { status: 'secret' }],
    ['clients.client_id', { client_id: undefined }],
    ['clients.deleted_at', { deleted_at: 'secret' }],
    ['clients.redirect_uris', { redirect_uris: '["secret"' }],
    ['clients.redirect_uris', { redirect_uris: '{"secret":1}' }],
    ['clients.pending', { pending: '{"name":1}' }],
  ];
  for (const [column, change] of broken) {
    assert.throws(
      () => Client.parse({ ...stored, ...change }),
      (error) =>
        error instanceof RowMismatch && error.message.startsWith(`${column} `) && !error.message.includes('secret'),
      column,
    );
  }
  const { status: _, ...incomplete } = stored;
  assert.throws(() => Client.parse(incomplete), /^RowMismatch: clients\.status /);
});

test('a row writes its own lists', () => {
  assert.equal(Client.pick('client_id', 'status').columns.sql, 'client_id, status');
  assert.equal(Client.pick('client_id', 'status').columnsOf('c').sql, 'c.client_id, c.status');
  const some = { deleted_at: 7, client_id: 'cl_1', redirect_uris: ['a'], is_first_party: false };
  const insert = sql`insert into clients ${Client.values(some)}`;
  assert.equal(
    insert.sql,
    'insert into clients (client_id, is_first_party, redirect_uris, deleted_at) values ($1, cast($2 as bigint), $3, cast($4 as bigint))',
  );
  assert.deepEqual(insert.params, ['cl_1', 0, '["a"]', 7]);
  assert.equal(Client.select({ client_id: 'x', pending: null }).sql, '(client_id, pending) select $1, $2');
  const update = sql`update clients set ${Client.set({ pending: null, is_first_party: true })} where client_id = ${'x'}`;
  assert.equal(update.sql, 'update clients set is_first_party = cast($1 as bigint), pending = $2 where client_id = $3');
  assert.deepEqual(update.params, [1, null, 'x']);
  assert.equal(Client.values(some).shape, Client.values({ ...some, deleted_at: 9 }).shape);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storedClient } from '../../test/support/a-client.ts';
import { createDb, type Statement, StoreUnavailable } from '../platform/db/db.ts';
import { clientDirectory } from './find-clients.ts';

const row: Record<string, unknown> = {
  ...storedClient({ client_type: 'public' }),
  secret_id: null,
  secret_hash: null,
  secret_created_at: null,
  secret_expires_at: null,
  secret_name: null,
  secret_last_four: null,
  secret_last_used_at: null,
};

/** A directory over a store that counts its reads and answers on demand. */
function countingDirectory() {
  let milliseconds = 0;
  const asked: string[] = [];
  const store = { rows: [row], failure: undefined as Error | undefined };
  const unused = () => assert.fail('only one read was expected');
  const query = async ({ params = [] }: Statement) => {
    asked.push(String(params[0]));
    const { rows, failure } = store;
    await Promise.resolve();
    if (failure) throw failure;
    return rows.filter(({ client_id }) => client_id === params[0]).map((one) => ({ ...one }));
  };
  const requestArrived = () => undefined;
  const rest = { room: 1, isRunning: unused, commit: unused, close: unused, requestArrived };
  const db = createDb({ engine: 'sqlite', run_id: '1-a', query, ...rest });
  const pass = (more: number) => {
    milliseconds += more;
  };
  return { directory: clientDirectory({ db, clock: () => milliseconds }), asked, store, pass };
}

test('a client is read once a second, and a change is seen within that second', async () => {
  const { directory, asked, store, pass } = countingDirectory();
  assert.equal((await directory.find('cl_1'))?.status, 'approved');
  store.rows = [{ ...row, status: 'suspended' }];
  pass(999);
  assert.equal((await directory.find('cl_1'))?.status, 'approved');
  pass(1);
  assert.equal((await directory.find('cl_1'))?.status, 'suspended');
  assert.equal(asked.length, 2);
});

test('a hundred who ask at once share one read', async () => {
  const { directory, asked } = countingDirectory();
  const found = await Promise.all(Array.from({ length: 100 }, () => directory.find('cl_1')));
  assert.ok(found.every((client) => client === found[0] && client !== undefined));
  assert.equal(asked.length, 1);
});

test('what was changed here is read anew, also when an older read was under way', async () => {
  const { directory, store, asked } = countingDirectory();
  const before = directory.find('cl_1');
  store.rows = [{ ...row, status: 'suspended' }];
  directory.forget('cl_1');
  assert.equal((await directory.find('cl_1'))?.status, 'suspended');
  assert.equal((await before)?.status, 'approved');
  assert.equal((await directory.find('cl_1'))?.status, 'suspended', 'the older answer did not come back');
  assert.equal(asked.length, 2);
});

test('an unknown client is asked for once a second too, and a text that is no client_id never', async () => {
  const { directory, asked } = countingDirectory();
  for (const client_id of ['cl_2', 'cl_2', '', 'x'.repeat(65), 'a\0b', 'a b', '__proto__;']) {
    assert.equal(await directory.find(client_id), undefined);
  }
  assert.deepEqual(asked, ['cl_2']);
});

test('a store that cannot answer is an error, not an unknown client, and is asked again', async () => {
  const { directory, store } = countingDirectory();
  store.failure = new StoreUnavailable('down');
  await assert.rejects(directory.find('cl_1'), StoreUnavailable);
  store.failure = undefined;
  assert.equal((await directory.find('cl_1'))?.status, 'approved');
});

test('a clock that was set back makes nothing fresh for longer', async () => {
  const { directory, asked, pass } = countingDirectory();
  pass(60_000);
  await directory.find('cl_1');
  pass(-30_000);
  await directory.find('cl_1');
  assert.equal(asked.length, 2);
});

test('ten thousand are remembered, and the one that was read longest ago makes room', async () => {
  const { directory, asked } = countingDirectory();
  await directory.find('cl_1');
  for (let index = 0; index < 9_999; index++) await directory.find(`x${index}`);
  await directory.find('cl_1');
  assert.equal(asked.length, 10_000);
  await directory.find('one-more');
  await directory.find('cl_1');
  assert.equal(asked.length, 10_002);
});

import assert from 'node:assert/strict';
import { cpSync, mkdirSync, renameSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { plain } from '../../../test/support/plain-sql.ts';
import { scratchFolder } from '../../../test/support/scratch.ts';
import { until } from '../../../test/support/until.ts';
import { type Db, OutcomeUnknown, StoreUnavailable } from './db.ts';
import { openSqlite } from './sqlite.ts';

const put = (db: Db, k: string) => plain(db).run('insert into things (k) values ($1)', [k]);
const keys = async (db: Db) =>
  (await plain(db).all<{ k: string }>('select k from things order by k')).map(({ k }) => k);

const isMoved = (error: unknown) =>
  error instanceof StoreUnavailable &&
  !(error instanceof OutcomeUnknown) &&
  /is not the one that this server has open/.test(error.message);

/** A database in a folder of its own, opened as a server opens it. `pass` lets a second go by. */
async function opened(t: TestContext) {
  const around = await scratchFolder('moved');
  t.after(() => rmSync(around, { recursive: true, force: true }));
  const folder = join(around, 'data');
  mkdirSync(folder);
  const path = join(folder, 'signet.db');
  let passed = 0;
  const db = openSqlite(path, { monotonic: () => passed });
  t.after(() => db.close());
  await plain(db).run('create table things (k text primary key)');
  await put(db, 'before');
  return { db, folder, path, pass: () => (passed += 1_000) };
}

/** What a start would find. */
async function keysAt(path: string) {
  const other = openSqlite(path);
  try {
    return await keys(other);
  } finally {
    await other.close();
  }
}

test('when a copy is put in place of the folder, nothing more is confirmed or read until the folder is back', async (t) => {
  const { db, folder, path, pass } = await opened(t);
  cpSync(folder, `${folder}.copy`, { recursive: true });
  renameSync(folder, `${folder}.away`);
  renameSync(`${folder}.copy`, folder);
  await assert.rejects(put(db, 'at once'), OutcomeUnknown);
  await assert.rejects(put(db, 'then'), isMoved);
  await assert.rejects(keys(db), isMoved);
  assert.deepEqual(await keysAt(path), ['before']);

  renameSync(folder, `${folder}.copy`);
  renameSync(`${folder}.away`, folder);
  await until('changes are accepted again', () =>
    put(db, 'after').then(
      () => true,
      () => false,
    ),
  );
  const kept = await keys(db);
  assert.deepEqual(
    kept.filter((key) => key !== 'at once'),
    ['after', 'before'],
  );
  pass();
  assert.deepEqual(await keysAt(path), kept);
});

const moves = {
  'the folder is moved away': (folder: string) => renameSync(folder, `${folder}.away`),
  'the folder is removed': (folder: string) => rmSync(folder, { recursive: true }),
  'another file has its name': (folder: string) => {
    cpSync(join(folder, 'signet.db'), join(folder, 'copy.db'));
    renameSync(join(folder, 'copy.db'), join(folder, 'signet.db'));
  },
  'its log is removed': (folder: string) => unlinkSync(join(folder, 'signet.db-wal')),
};

for (const [what, move] of Object.entries(moves)) {
  test(`a second after ${what}, reads and changes are refused for certain`, async (t) => {
    const { db, folder, pass } = await opened(t);
    move(folder);
    pass();
    await assert.rejects(keys(db), isMoved);
    await assert.rejects(put(db, 'then'), isMoved);
    await assert.rejects(plain(db).batch([{ sql: 'delete from things' }, { sql: 'delete from things' }]), isMoved);
  });
}

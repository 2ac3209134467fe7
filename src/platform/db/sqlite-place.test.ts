import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { plain } from '../../../test/support/plain-sql.ts';
import { scratchFolder } from '../../../test/support/scratch.ts';
import { until } from '../../../test/support/until.ts';
import { type Db, OutcomeUnknown, StoreMoved } from './db.ts';
import { openSqlite } from './sqlite.ts';
import { closeSqliteFile, copySqlite } from './sqlite-backup.ts';

const put = (db: Db, k: string) => plain(db).run('insert into things (k) values ($1)', [k]);
const keys = async (db: Db) =>
  (await plain(db).all<{ k: string }>('select k from things order by k')).map(({ k }) => k);

const says = (words: RegExp) => (error: unknown) => error instanceof StoreMoved && words.test(error.message);
const isMoved = says(/is not the one that this server has open/);

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

for (const suffix of ['-wal', '-shm']) {
  test(`a second after signet.db${suffix} is removed, reads and changes are refused, and a stop saves what was confirmed`, async (t) => {
    const { db, path, pass } = await opened(t);
    unlinkSync(path + suffix);
    pass();
    const isLost = says(new RegExp(`signet\\.db${suffix}, which belongs to the database, was removed or replaced`));
    await assert.rejects(keys(db), isLost);
    await assert.rejects(put(db, 'then'), isLost);
    await db.close();
    assert.deepEqual(await keysAt(path), ['before']);
  });
}

/** Whatever stands in the log by now is copied into the database. */
function checkpoint(path: string) {
  const other = new DatabaseSync(path);
  other.exec('pragma wal_checkpoint(restart)');
  other.close();
}

type Opened = Awaited<ReturnType<typeof opened>>;
const overwrites: Record<string, (database: Opened, older: Buffer) => Promise<void> | void> = {
  async 'a backup is'({ path }) {
    const copy = `${path}.backup`;
    await copySqlite(path, copy, () => undefined);
    closeSqliteFile(copy);
    writeFileSync(path, readFileSync(copy));
  },
  'a copy from before it grew is': ({ path }, older) => writeFileSync(path, older),
  async 'a copy from before its tables changed is'({ path, db, pass }) {
    const copy = readFileSync(path);
    await plain(db).run('alter table things add column more text');
    checkpoint(path);
    pass();
    await keys(db);
    writeFileSync(path, copy);
  },
  'something else is': ({ path }) => writeFileSync(path, 'x'.repeat(10_000)),
  'nothing is': ({ path }) => truncateSync(path),
};

for (const [what, overwrite] of Object.entries(overwrites)) {
  test(`a second after ${what} written over the file, reads and changes are refused for good`, async (t) => {
    const database = await opened(t);
    const { db, path, pass } = database;
    checkpoint(path);
    const older = readFileSync(path);
    await put(db, 'grown'.padEnd(50_000));
    checkpoint(path);
    pass();
    assert.equal((await keys(db)).length, 2);
    await overwrite(database, older);
    const right = readFileSync(path);
    pass();
    const isOverwritten = says(/was overwritten while this server has it open.*signet restore/);
    await assert.rejects(keys(db), isOverwritten);
    await assert.rejects(put(db, 'then'), isOverwritten);
    writeFileSync(path, right);
    pass();
    await assert.rejects(keys(db), isOverwritten, 'what is in memory does not belong to it');
  });
}

test('a database that grows, whose tables change and that gets smaller by a vacuum is still the same', async (t) => {
  const { db, path, pass } = await opened(t);
  const beside = openSqlite(path);
  t.after(() => beside.close());
  for (const change of [
    () => put(db, 'grown'.padEnd(50_000)),
    () => put(beside, 'more'.padEnd(50_000)),
    () => plain(beside).run('alter table things add column more text'),
    () => plain(db).run('delete from things'),
    () => {
      const other = new DatabaseSync(path);
      other.exec('vacuum');
      other.close();
      return Promise.resolve();
    },
    () => put(db, 'after'),
  ]) {
    await change();
    checkpoint(path);
    pass();
    await keys(db);
  }
  assert.deepEqual(await keys(db), ['after']);
});

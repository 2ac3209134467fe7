import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { plain, saying } from '../../../test/support/plain-sql.ts';
import { MigrationRefused, migrate } from './migrate.ts';
import { openDb } from './open.ts';

const first = 'create table first (a text primary key); create index first_by_a on first (a);';

/** A folder of migrations, by file name. */
async function migrationFolder(dataDir: string, files: Record<string, string>): Promise<URL> {
  const folder = join(dataDir, 'migrations');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  return pathToFileURL(`${folder}/`);
}

onBothEngines('four nodes that start at once apply each migration once', async (t, engine) => {
  const { dataDir, url } = await freshDatabase(t, engine, { empty: true });
  const start = async () => {
    const db = await openDb({ dataDir, databaseUrl: url, databaseMayLoseCommits: true });
    t.after(() => db.close());
    return migrate(db, 1_700_000_000);
  };
  const applied = await Promise.all([start(), start(), start(), start()]);
  const all = applied.flat();
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.includes('0001-foundation'));
});

onBothEngines('only missing migrations are applied, in order, with the time given', async (t, engine) => {
  const { db, dataDir } = await freshDatabase(t, engine, { empty: true });
  const one = await migrationFolder(dataDir, { '0001-first.sql': first });
  assert.deepEqual(await migrate(db, 11, one), ['0001-first']);
  const more = await migrationFolder(dataDir, {
    '0001-first.sql': first,
    '0003-third.sql': 'insert into second (b) values (7);',
    '0002-second.sql': 'create table second (b bigint);',
    'README.md': 'not a migration',
  });
  assert.deepEqual(await migrate(db, 22, more), ['0002-second', '0003-third']);
  assert.deepEqual(await migrate(db, 33, more), []);
  const rows = await plain(db).all<{ name: string; applied_at: number }>(
    'select name, applied_at from schema_migrations order by name',
  );
  assert.deepEqual(
    rows.map(({ name, applied_at }) => [name, applied_at]),
    [
      ['0001-first', 11],
      ['0002-second', 22],
      ['0003-third', 22],
    ],
  );
});

onBothEngines('a migration that was edited after it ran is refused', async (t, engine) => {
  const { db, dataDir } = await freshDatabase(t, engine, { empty: true });
  await migrate(db, 0, await migrationFolder(dataDir, { '0001-first.sql': `${first}\n-- end` }));
  // Other line ends are the same migration: git changes them on Windows.
  await migrate(db, 0, await migrationFolder(dataDir, { '0001-first.sql': `${first}\r\n-- end` }));
  const edited = await migrationFolder(dataDir, { '0001-first.sql': `${first}\n-- the end` });
  await assert.rejects(migrate(db, 0, edited), (error) => {
    assert.ok(error instanceof MigrationRefused);
    return /0001-first differs from the one that was applied/.test(error.message);
  });
});

onBothEngines('a database that a newer version has migrated is refused', async (t, engine) => {
  const { db, dataDir } = await freshDatabase(t, engine, { empty: true });
  await migrate(db, 0, await migrationFolder(dataDir, { '0001-first.sql': first, '0002-new.sql': 'select 1;' }));
  const older = await migrationFolder(dataDir, { '0001-first.sql': first });
  await assert.rejects(migrate(db, 0, older), (error) => {
    assert.ok(error instanceof MigrationRefused);
    return /0002-new.*newer version/.test(error.message);
  });
});

onBothEngines('a migration that fails leaves nothing behind, and those before it stay', async (t, engine) => {
  const { db, dataDir } = await freshDatabase(t, engine, { empty: true });
  const files = { '0001-first.sql': first, '0002-second.sql': 'create table second (b bigint);' };
  await migrate(db, 0, await migrationFolder(dataDir, { '0001-first.sql': first }));
  const broken = await migrationFolder(dataDir, {
    ...files,
    '0003-broken.sql': 'create table third (c bigint); insert into nowhere values (1);',
  });
  await assert.rejects(migrate(db, 0, broken), saying(/nowhere/));
  await assert.rejects(plain(db).all('select * from third'), saying(/third/));
  assert.deepEqual(await plain(db).all('select * from second'), []);
  const mended = await migrationFolder(dataDir, { ...files, '0003-broken.sql': 'create table third (c bigint);' });
  assert.deepEqual(await migrate(db, 0, mended), ['0003-broken']);
});

onBothEngines('a new store gets all its tables at once, or none', async (t, engine) => {
  const { db, dataDir } = await freshDatabase(t, engine, { empty: true });
  const files = { '0001-first.sql': first, '0002-broken.sql': 'insert into nowhere values (1);' };
  await assert.rejects(migrate(db, 0, await migrationFolder(dataDir, files)), saying(/nowhere/));
  for (const table of ['schema_migrations', 'first']) {
    await assert.rejects(plain(db).all(`select * from ${table}`), saying(new RegExp(table)));
  }
  const mended = await migrationFolder(dataDir, { ...files, '0002-broken.sql': 'create table second (b bigint);' });
  assert.deepEqual(await migrate(db, 0, mended), ['0001-first', '0002-broken']);
});

onBothEngines('what a migration has for one engine is a comment to the other', async (t, engine) => {
  const { db, dataDir } = await freshDatabase(t, engine, { empty: true });
  const script = 'create table first (a text /* postgres: collate "C" */, /* sqlite: b int */ /* postgres: c int */);';
  await migrate(db, 1, await migrationFolder(dataDir, { '0001-first.sql': script }));
  await plain(db).run(`insert into first (a, ${engine === 'sqlite' ? 'b' : 'c'}) values ('b', 1), ('B', 2)`);
  const rows = await plain(db).all<{ a: string }>('select a from first order by a');
  assert.deepEqual(
    rows.map(({ a }) => a),
    ['B', 'b'],
  );
});

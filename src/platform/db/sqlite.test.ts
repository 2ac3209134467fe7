import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync, statSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediately } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { freshDatabase } from '../../../test/support/databases.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { until } from '../../../test/support/until.ts';
import { type Db, OutcomeUnknown, StoreUnavailable } from './db.ts';
import { openSqlite } from './sqlite.ts';

async function freshTable(t: TestContext) {
  const { db, dataDir } = await freshDatabase(t, 'sqlite', { empty: true });
  await plain(db).run('create table things (k text primary key, n bigint not null)');
  return { db, path: join(dataDir, 'signet.db'), dataDir };
}

const put = (db: Db, k: string) => plain(db).run('insert into things (k, n) values ($1, 0)', [k]);
const keys = async (db: Db) => (await plain(db).all<{ k: string }>('select k from things')).map(({ k }) => k);

/** Runs `script` in a process of its own, with `openDb`, `migrate`, `plain` and `dataDir` at hand. */
function child(dataDir: string, script: string) {
  const module = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const source = `
    import { openDb } from ${module('./open.ts')};
    import { migrate } from ${module('./migrate.ts')};
    import { plain } from ${module('../../../test/support/plain-sql.ts')};
    const dataDir = ${JSON.stringify(dataDir)};
    ${script}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', source], { stdio: ['pipe', 'pipe', 'inherit'] });
}

test('what was acknowledged survives kill -9', async (t) => {
  const { db, dataDir } = await freshTable(t);
  const writer = child(
    dataDir,
    `const db = await openDb({ dataDir });
     const loop = async (name) => {
       for (let i = 0; ; i += 1) {
         const k = name + '/' + i;
         await plain(db).batch([
           { sql: 'insert into things (k, n) values ($1, 0)', params: [k] },
           { sql: 'update things set n = 1 where k = $1', params: [k] },
         ]);
         process.stdout.write(k + '\\n');
       }
     };
     for (let i = 0; i < 16; i += 1) loop('loop ' + i);`,
  );
  t.after(() => writer.kill('SIGKILL'));
  const acknowledged: string[] = [];
  for await (const k of createInterface(writer.stdout)) {
    acknowledged.push(k);
    if (acknowledged.length === 500) writer.kill('SIGKILL');
  }
  const kept = new Set(await keys(db));
  assert.deepEqual(
    acknowledged.filter((k) => !kept.has(k)),
    [],
  );
  assert.equal(await plain(db).get('select k from things where n = 0'), undefined, 'half a batch was kept');
});

test('processes that write the same file lose no change', async (t) => {
  const { db, dataDir } = await freshTable(t);
  await put(db, 'counter');
  const script = `
    const db = await openDb({ dataDir });
    process.stdout.write('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    for (let i = 0; i < 25; i += 1) {
      await Promise.all(Array.from({ length: 8 }, () => plain(db).run("update things set n = n + 1 where k = 'counter'")));
    }
    await db.close();
    process.exit();`;
  const processes = [1, 2, 3].map(() => child(dataDir, script));
  await Promise.all(processes.map(({ stdout }) => once(stdout, 'data')));
  const ended = Promise.all(processes.map((process) => once(process, 'exit')));
  for (const { stdin } of processes) stdin.write('go');
  for (let i = 0; i < 50; i += 1) await plain(db).run("update things set n = n + 1 where k = 'counter'");
  assert.deepEqual(
    (await ended).map(([code]) => code),
    [0, 0, 0],
  );
  assert.equal((await plain(db).get<{ n: number }>('select n from things'))?.n, 3 * 200 + 50);
});

test('processes that start at once on a new folder apply each migration once', async (t) => {
  const { dataDir } = await freshDatabase(t, 'sqlite', { empty: true });
  const folder = join(dataDir, 'new');
  const script = `
    const db = await openDb({ dataDir });
    console.log((await migrate(db, 0)).join());
    await db.close();`;
  const answers = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      let answer = '';
      for await (const line of createInterface(child(folder, script).stdout)) answer += line;
      return answer;
    }),
  );
  const applied = answers.flatMap((names) => names.split(',').filter(Boolean));
  assert.ok(applied.length > 0);
  assert.equal(new Set(applied).size, applied.length);
});

test('a read sees a change as soon as that is confirmed, and not before', async (t) => {
  const { db } = await freshTable(t);
  const first = put(db, 'a');
  assert.deepEqual(await keys(db), []);
  await first;
  assert.deepEqual(await keys(db), ['a']);
  await put(db, 'b');
  assert.deepEqual(await keys(db), ['a', 'b']);
});

test('what another process has committed is read in the next turn of the event loop at the latest', async (t) => {
  const { db, path } = await freshTable(t);
  const other = openSqlite(path);
  t.after(() => other.close());
  for (const k of ['a', 'b']) {
    const before = await keys(db);
    await put(other, k);
    await immediately();
    assert.deepEqual(await keys(db), [...before, k]);
  }
});

test('a store is running for as long as its process is', async (t) => {
  const { db, dataDir } = await freshTable(t);
  assert.equal(await db.isRunning(db.run_id), true);
  assert.equal(await db.isRunning(`${process.pid}-earlier`), false, 'a process of the same number, before this one');
  const other = child(
    dataDir,
    'const db = await openDb({ dataDir }); console.log(db.run_id); setInterval(() => {}, 1e6);',
  );
  const [run_id] = await once(createInterface(other.stdout), 'line');
  assert.equal(await db.isRunning(run_id), true);
  const started = `/proc/${other.pid}/stat`;
  const [pid, , name] = run_id.split('-');
  if (existsSync(started)) assert.equal(await db.isRunning(`${pid}-1-${name}`), false, "its number was another one's");
  other.kill('SIGKILL');
  await once(other, 'exit');
  assert.equal(await db.isRunning(run_id), false);
});

test('only its owner can read the files', async (t) => {
  const { db, path, dataDir } = await freshTable(t);
  await put(db, 'a');
  for (const file of [path, `${path}-wal`, `${path}-shm`]) assert.equal(statSync(file).mode & 0o777, 0o600, file);
  assert.equal(statSync(dataDir).mode & 0o777, 0o700);
});

test('a file that cannot be written refuses changes and still answers reads', async (t) => {
  const { db, path } = await freshTable(t);
  await put(db, 'a');
  const readOnly = openSqlite(`${pathToFileURL(path)}?mode=ro`);
  t.after(() => readOnly.close());
  const changes = [put(readOnly, 'b'), plain(readOnly).batch([{ sql: "delete from things where k = 'a'" }])];
  for (const change of changes) await assert.rejects(change, StoreUnavailable);
  assert.deepEqual(await keys(readOnly), ['a']);
});

test('a file on a disk that cannot be written is read, and written again as soon as that is possible', async (t) => {
  const { db: first, path } = await freshTable(t);
  await plain(first).run('create table schema_migrations (name text)');
  await put(first, 'a');
  await first.close();
  // In place of a full disk: the index of the log cannot be made.
  symlinkSync('/nowhere/at/all', `${path}-shm`);
  assert.throws(() => openSqlite(path, { isDiskUnwritable: () => false }), StoreUnavailable);
  const db = openSqlite(path, { isDiskUnwritable: () => true });
  t.after(() => db.close());
  assert.deepEqual(await keys(db), ['a']);
  await assert.rejects(put(db, 'b'), /cannot be written/);
  unlinkSync(`${path}-shm`);
  await until('it can be written', () =>
    put(db, 'c').then(
      () => true,
      () => false,
    ),
  );
  assert.deepEqual((await keys(db)).sort(), ['a', 'c']);
});

test('a full disk refuses the change, and the store goes on', async (t) => {
  const { db } = await freshTable(t);
  await put(db, 'before');
  const [{ page_count } = { page_count: 0 }] = await plain(db).all<{ page_count: number }>('pragma page_count');
  await plain(db).run(`pragma max_page_count = ${page_count}`);
  const outcomes = await Promise.allSettled([put(db, 'x'.repeat(100_000)), put(db, 'y'.repeat(100_000))]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable);
  }
  await plain(db).run('pragma max_page_count = 1000000');
  await put(db, 'after');
  assert.deepEqual((await keys(db)).sort(), ['after', 'before']);
});

test('a store that is closed keeps none of its files open', async (t) => {
  const open = '/proc/self/fd';
  if (!existsSync(open)) return t.skip('the system does not tell which files are open');
  const { db, path } = await freshTable(t);
  await put(db, 'a');
  const ofStore = () => readdirSync(open).filter((name) => targetOf(join(open, name)).startsWith(path));
  assert.notDeepEqual(ofStore(), []);
  await db.close();
  assert.deepEqual(ofStore(), []);
});

const targetOf = (link: string): string => {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // closed meanwhile
  }
};

test('what is not a database, or not a place for one, is StoreUnavailable', async (t) => {
  const { dataDir } = await freshTable(t);
  assert.throws(() => openSqlite(dataDir), StoreUnavailable);
  assert.throws(() => openSqlite(import.meta.filename), StoreUnavailable);
});

test('a queue without end is refused, and what is in it is still kept', async (t) => {
  const { db } = await freshTable(t);
  const outcomes = await Promise.allSettled(Array.from({ length: 10_001 }, (_, i) => put(db, `k${i}`)));
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  assert.equal(refused.length, 1);
  assert.ok(refused[0]?.status === 'rejected' && refused[0].reason instanceof StoreUnavailable);
  assert.equal((await keys(db)).length, 10_000);
});

test('changes that change nothing are answered in their order, and let other work go on between them', async (t) => {
  const { db } = await freshTable(t);
  const answered: number[] = [];
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const steps = [{ sql: "update things set n = 1 where k = 'missing'" }];
  const changes = Array.from({ length: 2_000 }, (_, number) => db.commit(steps).then(() => answered.push(number)));
  await Promise.all(changes);
  isDone = true;
  assert.deepEqual(
    answered,
    Array.from({ length: 2_000 }, (_, number) => number),
  );
  assert.ok(turns >= 5, `${turns} turns`);
});

test('while another process holds the lock reads go on, and writes wait for it', async (t) => {
  const { db } = await freshTable(t);
  await db.exclusively(async (session) => {
    await session.exec("insert into things values ('migrated', 0)");
    const write = put(db, 'waited');
    const first = await Promise.race([write.then(() => 'write'), keys(db).then(() => 'read')]);
    assert.equal(first, 'read');
    setImmediate(() => write.catch(() => undefined));
  });
  await put(db, 'after');
  assert.deepEqual((await keys(db)).sort(), ['after', 'migrated', 'waited']);
});

test('a commit that fails rejects every change in it, and nothing is kept', async (t) => {
  const { db } = await freshTable(t);
  // A deferred constraint is the one failure that SQLite finds at the commit and a test can arrange.
  await plain(db).run('create table late (k text references things (k) deferrable initially deferred)');
  const outcomes = await Promise.allSettled([
    put(db, 'neighbour'),
    plain(db).run("insert into late values ('nobody')"),
  ]);
  for (const outcome of outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StoreUnavailable);
  }
  assert.deepEqual(await keys(db), []);
  await put(db, 'after');
  assert.deepEqual(await keys(db), ['after']);
});

test('after a failed flush nothing is acknowledged until the file has been checked and has taken a write', async (t) => {
  const { db: other, path } = await freshTable(t);
  await put(other, 'before');
  const disk = { fails: false, flushes: 0 };
  const flush = async (sync: () => Promise<void>) => {
    disk.flushes += 1;
    await sync();
    if (disk.fails) throw new Error('EIO: i/o error, fdatasync');
  };
  const db = openSqlite(path, { flush });
  t.after(() => db.close());
  const refusedForCertain = (error: unknown) => error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown);

  assert.deepEqual(await keys(db), ['before']);
  disk.fails = true;
  const sent = Promise.allSettled([put(db, 'a'), plain(db).batch([{ sql: 'update things set n = 1' }])]);
  for (const outcome of await sent)
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof OutcomeUnknown);
  await assert.rejects(put(db, 'b'), refusedForCertain);
  assert.deepEqual((await keys(db)).sort(), ['a', 'before'], 'reads go on, and see what the file has');

  await until('the check has tried to write, and failed', () => disk.flushes >= 3);
  disk.fails = false;
  await assert.rejects(put(db, 'c'), refusedForCertain, 'the disk is well again, but was not checked');
  await until('changes are accepted again', () =>
    put(db, 'd').then(
      () => true,
      () => false,
    ),
  );
  assert.deepEqual((await keys(other)).sort(), ['a', 'before', 'd']);
});

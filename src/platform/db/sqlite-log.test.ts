import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { setImmediate as immediately, setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { afterTest } from '../../../test/support/after-test.ts';
import { freshDatabase } from '../../../test/support/databases.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { until } from '../../../test/support/until.ts';
import { type Db, OutcomeUnknown, StoreUnavailable, UniqueViolation } from './db.ts';
import { row, text } from './rows.ts';
import { sql } from './sql.ts';
import { openSqlite } from './sqlite.ts';
import type { LogOptions } from './sqlite-log.ts';
import { openSqliteThread } from './sqlite-thread.ts';

async function freshTable(t: TestContext, options: LogOptions & { release?: () => void }) {
  const { db: first, dataDir } = await freshDatabase(t, 'sqlite', { empty: true });
  await plain(first).run('create table things (k text primary key)');
  await first.close();
  const path = join(dataDir, 'signet.db');
  const db = openSqlite(path, options);
  afterTest(t, () => db.close());
  afterTest(t, () => options.release?.()); // before that, or a test that fails would never end
  const raw = new DatabaseSync(path);
  afterTest(t, () => raw.isOpen && raw.close());
  const logBytes = () => statSync(`${path}-wal`).size;
  return { db, raw, path, dataDir, logBytes };
}

const put = (db: Db, k: string) => plain(db).run('insert into things (k) values ($1)', [k]);
const keys = async (db: Db) => (await plain(db).all<{ k: string }>('select k from things')).map(({ k }) => k);

/** Flushes that do not end until they are released. */
function heldDisk() {
  const waiting: PromiseWithResolvers<void>[] = [];
  const disk = {
    holds: false,
    flushes: 0,
    flush: async (sync: () => Promise<void>) => {
      disk.flushes += 1;
      const held = Promise.withResolvers<void>();
      if (disk.holds) {
        waiting.push(held);
        await held.promise;
      }
      await sync();
    },
    /** Resolves when a flush is held. */
    reached: () => until('a flush is held', () => waiting.length > 0),
    end: (outcome: (held: PromiseWithResolvers<void>) => void) => waiting.splice(0).forEach(outcome),
    release() {
      disk.holds = false;
      disk.end(({ resolve }) => resolve());
    },
  };
  return disk;
}

/** What has become of each promise so far, after some turns of the event loop. */
async function answered(promises: readonly Promise<unknown>[]): Promise<boolean[]> {
  const states = promises.map(() => false);
  for (const [at, promise] of promises.entries()) {
    const settle = () => (states[at] = true);
    promise.then(settle, settle);
  }
  for (let turn = 0; turn < 10; turn += 1) await immediately();
  return states;
}

test('a commit flushes and copies nothing on the event loop', async (t) => {
  const { db } = await freshTable(t, {});
  assert.deepEqual(await plain(db).get('pragma synchronous'), { synchronous: 1 });
  assert.deepEqual(await plain(db).get('pragma wal_autocheckpoint'), { wal_autocheckpoint: 0 });
});

test('neither a change nor what reads saw of it is answered before it has been flushed', async (t) => {
  const disk = heldDisk();
  const { db, raw } = await freshTable(t, disk);
  assert.deepEqual(await keys(db), []);
  disk.holds = true;
  const change = put(db, 'a');
  await disk.reached();
  assert.deepEqual(raw.prepare('select k from things').all().length, 1, 'it is in the log');
  const read = keys(db);
  const shared = ['b', 'c', 'd'].map((k) => put(db, k));
  assert.deepEqual(await answered([change, read, ...shared]), [false, false, false, false, false]);
  const flushes = disk.flushes;
  disk.release();
  await change;
  assert.deepEqual(await read, ['a']);
  await Promise.all(shared);
  assert.equal(disk.flushes, flushes + 1, 'what arrived during a flush shared the next one');
});

/** A read that waits for the flush of what another connection has written. */
async function readThatFlushes(t: TestContext) {
  const disk = heldDisk();
  const { db, raw } = await freshTable(t, disk);
  assert.deepEqual(await keys(db), []);
  raw.exec("pragma synchronous = normal; insert into things values ('a')");
  await immediately();
  disk.holds = true;
  const read = keys(db);
  await disk.reached();
  return { db, read, end: disk.release };
}

test('what another connection has written, and may not have flushed, is flushed before a read of it is answered', async (t) => {
  const { db, read, end } = await readThatFlushes(t);
  assert.deepEqual(await answered([read]), [false]);
  end();
  assert.deepEqual(await read, ['a']);
  assert.deepEqual(await keys(db), ['a'], 'once');
});

test('a change that arrives while a read flushes is made after that', async (t) => {
  const { db, read, end } = await readThatFlushes(t);
  const change = put(db, 'b');
  assert.deepEqual(await answered([read, change]), [false, false]);
  end();
  await read;
  await change;
});

test('an answer is prepared while the flush of its change is under way, and not for what is refused', async (t) => {
  const disk = heldDisk();
  const { db } = await freshTable(t, disk);
  const Thing = row('things', { k: text });
  const insert = (k: string) => sql`insert into things (k) values (${k}) returning k`;
  const prepared: string[] = [];
  const run = (k: string) => db.run(Thing, insert(k), (rows) => prepared.push(...rows.map(({ k }) => k)));
  disk.holds = true;
  const first = run('a');
  await disk.reached();
  const during = { answered: await answered([first]), prepared: [...prepared] };
  disk.release();
  assert.deepEqual(during, { answered: [false], prepared: ['a'] });
  assert.deepEqual((await first).rows, [{ k: 'a' }]);
  await assert.rejects(run('a'), UniqueViolation);
  assert.deepEqual(prepared, ['a']);
});

test('when a flush fails, its changes are unknown and the reads that waited for it fail', async (t) => {
  const disk = heldDisk();
  const { db } = await freshTable(t, disk);
  assert.deepEqual(await keys(db), []);
  disk.holds = true;
  const change = put(db, 'a');
  await disk.reached();
  const read = keys(db);
  const waiting = put(db, 'b');
  const outcomes = Promise.allSettled([change, read, waiting]);
  disk.holds = false;
  disk.end(({ reject }) => reject(new Error('EIO: i/o error, fdatasync')));
  const errors = (await outcomes).map((outcome) => outcome.status === 'rejected' && outcome.reason);
  assert.ok(errors.every((error) => error instanceof StoreUnavailable));
  assert.deepEqual(
    errors.map((error) => error instanceof OutcomeUnknown),
    [true, false, false],
  );
});

/** Each flush takes ten milliseconds by the clock of the store, until `hold` is called: then each waits for its end in `held`. */
async function slowDisk(t: TestContext) {
  let passed = 0;
  let holds = false;
  const held: PromiseWithResolvers<void>[] = [];
  t.after(() => {
    holds = false;
    for (const { resolve } of held) resolve();
  });
  const flush = async (sync: () => Promise<void>) => {
    await sync();
    passed += 10;
    if (!holds) return;
    const end = Promise.withResolvers<void>();
    held.push(end);
    await end.promise;
  };
  const { db } = await freshTable(t, { flush, monotonic: () => passed });
  for (const k of ['1', '2', '3', '4']) await put(db, k);
  const reached = async (count: number) => {
    await until(`${count} flushes at once`, () => held.length >= count);
    assert.equal(held.length, count, 'flushes at once');
  };
  return { db, held, reached, hold: () => (holds = true), release: () => (holds = false) };
}

test('on a slow disk three flushes run beside each other, and are confirmed in their order', async (t) => {
  const { db, held, reached, hold, release } = await slowDisk(t);
  hold();
  const changes: Promise<unknown>[] = [];
  for (const k of ['a', 'b', 'c']) {
    changes.push(put(db, k));
    await reached(changes.length);
  }
  changes.push(put(db, 'd'));
  const read = keys(db);
  const refused = put(db, 'c');
  held[2]!.resolve();
  held[1]!.resolve();
  assert.deepEqual(await answered([...changes, read, refused]), changes.map(() => false).concat(false, false));
  assert.equal(held.length, 3, 'there is no fourth');
  release();
  held[0]!.resolve();
  await Promise.all(changes);
  assert.deepEqual(await read, ['1', '2', '3', '4', 'a', 'b', 'c']);
  await assert.rejects(refused, UniqueViolation);
});

test('a change that arrives when a second flush is due begins it, however late the timer is', async (t) => {
  let passed = 0;
  const disk = heldDisk();
  const flush = async (sync: () => Promise<void>) => {
    if (!disk.holds) passed += 10;
    await disk.flush(sync);
  };
  const { db } = await freshTable(t, { flush, monotonic: () => passed });
  for (const k of ['1', '2', '3', '4']) await put(db, k);
  t.mock.timers.enable({ apis: ['setTimeout'] }); // no timer fires
  const turns = async () => {
    for (let count = 0; count < 50; count += 1) await immediately();
  };
  disk.holds = true;
  const before = disk.flushes;
  const changes = [put(db, 'a')];
  await turns();
  changes.push(put(db, 'b'));
  await turns();
  assert.equal(disk.flushes, before + 1, 'it is not due');
  passed += 10;
  changes.push(put(db, 'c'));
  await turns();
  assert.equal(disk.flushes, before + 2);
  disk.release();
  await Promise.all(changes);
});

test('what was accepted is made before the store is closed, also while another process writes', async (t) => {
  const disk = heldDisk();
  const { db, raw } = await freshTable(t, disk);
  disk.holds = true;
  const first = put(db, 'a');
  await disk.reached();
  const second = put(db, 'b'); // after the flush of the first
  raw.exec('begin immediate');
  disk.release();
  await first;
  const closed = db.close();
  await sleep(5);
  raw.exec('commit');
  await Promise.all([second, closed]);
  assert.deepEqual(
    raw.prepare('select k from things order by k').all(),
    [{ k: 'a' }, { k: 'b' }].map((row) => Object.assign(Object.create(null), row)),
  );
});

test('a refusal because of a change is not answered before that change is confirmed', async (t) => {
  const { db, held, reached, hold } = await slowDisk(t);
  hold();
  const change = put(db, 'a');
  await reached(1);
  const refused = put(db, 'a');
  await sleep(10); // longer than a second flush would wait for the half of the first
  assert.deepEqual(await answered([change, refused]), [false, false]);
  held[0]!.resolve();
  await change;
  await assert.rejects(refused, UniqueViolation);
});

test('when the first of three flushes fails, the changes of all are unknown', async (t) => {
  const { db, held, reached, hold, release } = await slowDisk(t);
  hold();
  const changes: Promise<unknown>[] = [];
  for (const k of ['a', 'b', 'c']) {
    changes.push(put(db, k));
    await reached(changes.length);
  }
  const outcomes = Promise.allSettled(changes);
  release();
  held[2]!.resolve();
  held[1]!.resolve();
  held[0]!.reject(new Error('EIO: i/o error, fdatasync'));
  for (const outcome of await outcomes) {
    assert.ok(outcome.status === 'rejected' && outcome.reason instanceof OutcomeUnknown);
  }
});

test('when a flush takes more than five seconds, no more changes and reads wait for it', async (t) => {
  const disk = heldDisk();
  let passed = 0;
  const { db } = await freshTable(t, { flush: disk.flush, monotonic: () => passed });
  assert.deepEqual(await keys(db), []);
  disk.holds = true;
  const waiting = [put(db, 'a')];
  await disk.reached();
  passed = 5_000;
  waiting.push(put(db, 'b'));
  passed = 5_001;
  for (const refused of [put(db, 'c'), keys(db)]) {
    await assert.rejects(refused, (error) => error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown));
  }
  disk.release();
  await Promise.all(waiting);
  assert.deepEqual(await keys(db), ['a', 'b']);
});

test('after a power loss all is there that was acknowledged, from what had been flushed', async (t) => {
  let flushed = Buffer.alloc(0);
  const flush = async (sync: () => Promise<void>) => {
    const written = readFileSync(`${path}-wal`);
    await sync();
    flushed = written;
  };
  const { db, path, dataDir } = await freshTable(t, { flush });
  const acknowledged: string[] = [];
  const losses: { log: Buffer; kept: string[] }[] = [];
  const write = async (name: number) => {
    for (let at = 0; at < 8; at += 1) {
      await put(db, `${name}/${at}`);
      acknowledged.push(`${name}/${at}`);
      if (at % 4 === 3) losses.push({ log: flushed, kept: [...acknowledged] });
    }
  };
  await Promise.all([1, 2, 3, 4].map(write));
  const copy = join(dataDir, 'copy.db');
  for (const { log, kept } of losses) {
    execFileSync('cp', [path, copy]); // by another process: this one would lose its locks on the file
    writeFileSync(`${copy}-wal`, log);
    const restored = new DatabaseSync(copy);
    const there = new Set(
      restored
        .prepare('select k from things')
        .all()
        .map(({ k }) => k),
    );
    restored.close();
    assert.deepEqual(
      kept.filter((k) => !there.has(k)),
      [],
    );
  }
});

const tight = { checkpoint: 20, restart: 60, refuse: 1e6, idleMs: 1e6, retryMs: 5 };
const page = 4096;
const flush = async () => undefined; // where nothing depends on it

test('the log stays small while changes go on without a pause, and so do reads of another connection', async (t) => {
  const { db, raw, logBytes } = await freshTable(t, { flush, bounds: tight });
  let isWriting = true;
  const reads = (async () => {
    while (isWriting) {
      raw.exec('begin');
      raw.prepare('select count(*) from things').get();
      await immediately();
      raw.exec('commit');
    }
  })();
  let largest = 0;
  for (let at = 0; at < 800; at += 1) {
    await put(db, `${at}`);
    largest = Math.max(largest, logBytes());
  }
  isWriting = false;
  await reads;
  assert.ok(largest >= tight.checkpoint * page, 'it was in use');
  assert.ok(largest < 10 * tight.restart * page, `${largest / page} pages of more than 800`);
});

test('a long read stops no change until the log is at its limit; then they are refused until it ends', async (t) => {
  const { db, raw, logBytes } = await freshTable(t, { flush, bounds: { ...tight, refuse: 200 } });
  raw.exec('begin');
  raw.prepare('select count(*) from things').get();
  let at = 0;
  const fill = async () => {
    for (; at < 5_000; at += 1) await put(db, `${at}`);
  };
  await assert.rejects(fill, (error) => error instanceof StoreUnavailable && !(error instanceof OutcomeUnknown));
  assert.ok(logBytes() >= 200 * page && at < 5_000);
  assert.equal((await keys(db)).length, at, 'reads go on');
  raw.exec('commit');
  await until('changes are accepted again', () =>
    put(db, 'after').then(
      () => true,
      () => false,
    ),
  );
  for (let more = 0; more < 100; more += 1) await put(db, `more ${more}`);
  assert.equal((await keys(db)).length, at + 101);
});

test('the log is truncated when nothing has been written for a while', async (t) => {
  const { db, logBytes } = await freshTable(t, { flush, bounds: { ...tight, idleMs: 1 } });
  for (let at = 0; at < 30; at += 1) await put(db, `${at}`);
  await until('the log is truncated', () => logBytes() <= 2 * page);
  await put(db, 'after');
  assert.equal((await keys(db)).length, 31);
});

test('the log is truncated once a read has ended that was longer than the pause, and small from then on', async (t) => {
  const { db, raw, logBytes } = await freshTable(t, { flush, bounds: { ...tight, restart: 1e6, idleMs: 1 } });
  raw.exec('begin');
  raw.prepare('select count(*) from things').get();
  for (let at = 0; at < 300; at += 1) await put(db, `${at}`);
  await sleep(100); // the pause, many times
  assert.ok(logBytes() > 300 * page);
  raw.exec('commit');
  await until('the log is truncated', () => logBytes() <= 2 * page);
  for (let at = 0; at < 3 * tight.checkpoint; at += 1) await put(db, `after ${at}`);
  // What is written after a pause, and is less than is ever copied, stays.
  await until('the log is small', () => logBytes() <= (tight.checkpoint + 2) * page);
});

test('while checkpoints fail nothing is lost; it is logged once, and the next one that succeeds catches up', async (t) => {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
  let fails = false;
  const openThread: typeof openSqliteThread = (path) => {
    if (fails) throw new Error('the disk fails');
    return openSqliteThread(path);
  };
  const { db, raw, path } = await freshTable(t, { bounds: tight, log, openThread });
  raw.close();
  await put(db, 'before');
  fails = true;
  let at = 0;
  while (lines.length === 0) await put(db, `${at++}`);
  for (const end = at + 100; at < end; at += 1) await put(db, `${at}`);
  fails = false;
  assert.equal(lines.length, 1, lines.join('\n'));
  assert.match(lines[0] ?? '', /copying the log into the database failed/);
  const before = statSync(path).size;
  for (let more = 0; statSync(path).size === before; more += 1) await put(db, `later ${more}`);
  const there = new Set(await keys(db));
  assert.ok(['before', ...Array(at).keys()].every((k) => there.has(String(k))));
});

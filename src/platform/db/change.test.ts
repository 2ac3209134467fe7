import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Engine, freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { saying } from '../../../test/support/plain-sql.ts';
import { mayConflict, mustChange, returning } from './change.ts';
import { type OneDb, UniqueViolation } from './db.ts';
import { openDb } from './open.ts';
import { integer, nullable, RowMismatch, row, text } from './rows.ts';
import { sql } from './sql.ts';

const Thing = row('things', { k: text, v: nullable(text), n: integer });

async function freshTable(t: TestContext, engine: Engine) {
  const { db, dataDir, url } = await freshDatabase(t, engine, { empty: true });
  await db.exclusively((session) =>
    session.exec('create table things (k text primary key, v text, n bigint not null)'),
  );
  const second = async () => {
    const other = await openDb({ dataDir, databaseUrl: url, databaseMayLoseCommits: true });
    t.after(() => other.close());
    return other;
  };
  return { db, second };
}

const insert = (k: string, n = 0) => sql`insert into things ${Thing.values({ k, n })}`;
const add = (k: string, n: number) => sql`update things set n = n + ${n} where k = ${k}`;
const lock = (k: string) => sql`update things set n = n where k = ${k}`;
const isThere = (k: string) => sql`exists (select 1 from things where k = ${k})`;
const hasAtLeast = (k: string, n: number) => sql`exists (select 1 from things where k = ${k} and n >= ${n})`;
const find = (db: OneDb, k: string) => db.get(Thing, sql`select ${Thing.columns} from things where k = ${k}`);
const keys = async (db: OneDb) =>
  (await db.all(Thing.pick('k'), sql`select k from things order by k`)).map(({ k }) => k).join(' ');

onBothEngines('a change is made whole, in order, with results by name', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  await db.run(insert('a', 1));
  const done = await db.change({
    lock: lock('a'),
    require: { there: isThere('a'), skipped: undefined },
    run: {
      more: add('a', 1),
      seen: returning(Thing, sql`update things set n = n * 10 where k = ${'a'} returning ${Thing.columns}`),
      many: [insert('b'), insert('c'), add('none', 1)],
      left: undefined,
      last: mustChange(returning(Thing.pick('k', 'n'), sql`delete from things where k = ${'b'} returning k, n`)),
    },
  });
  if (!done.ok) assert.fail(done.failed satisfies 'there' | 'skipped' | 'last');
  const { more, seen, many, last } = done.results;
  assert.deepEqual([more.changes, many.changes, last.changes], [1, 2, 1]);
  assert.deepEqual(
    seen.rows.map((one) => ({ ...one })),
    [{ k: 'a', v: null, n: 20 }],
  );
  assert.deepEqual(
    last.rows.map((one) => ({ ...one })),
    [{ k: 'b', n: 0 }],
  );
  assert.equal(await keys(db), 'a c');
});

onBothEngines('a change without conditions cannot be refused, and an empty one is nothing', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  const { results } = await db.change({
    run: { a: insert('a'), all: returning(Thing, sql`select ${Thing.columns} from things`) },
  });
  assert.equal(results.all.rows[0]?.k, 'a');
  assert.equal((await db.change({ run: {} })).ok, true);
  assert.equal((await db.change({ run: { one: insert('b') } })).results.one.changes, 1);
});

onBothEngines('a requirement that is not met is named, and nothing is changed', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  const attempt = (require: Record<string, ReturnType<typeof isThere>>) =>
    db.change({ lock: insert('locked'), require, run: { a: insert('a'), b: insert('b') } });
  const [one, many, none] = [isThere('x'), sql`${'a'} = ${'b'}`, sql`cast(null as bigint) = 1`];
  assert.deepEqual(await attempt({ one }), { ok: false, failed: 'one' });
  assert.deepEqual(await attempt({ met: isThere('locked'), one, many }), { ok: false, failed: 'one' });
  assert.deepEqual(await attempt({ many, one }), { ok: false, failed: 'many' });
  assert.deepEqual(await attempt({ none }), { ok: false, failed: 'none' }, 'unknown is not true');
  assert.equal(await keys(db), '');
  assert.equal((await attempt({ met: isThere('locked') })).ok, true);
  assert.equal(await keys(db), 'a b locked');
});

onBothEngines('a statement that must change a row and does not is named, and nothing is changed', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  const attempt = (k: string) =>
    db.change({ run: { a: insert('a'), more: mustChange(add(k, 1)), list: [insert('b'), mustChange(add('b', 1))] } });
  assert.deepEqual(await attempt('none'), { ok: false, failed: 'more' });
  assert.equal(await keys(db), '');
  assert.equal((await attempt('a')).ok, true);
  assert.deepEqual([(await find(db, 'a'))?.n, (await find(db, 'b'))?.n], [1, 1]);
  assert.deepEqual(await db.change({ run: { a: insert('c'), list: [mustChange(add('none', 1))] } }), {
    ok: false,
    failed: 'list',
  });
  const all = mustChange(returning(Thing, sql`update things set n = 5 returning ${Thing.columns}`));
  const done = await db.change({ run: { all, c: insert('c') } });
  assert.ok(done.ok);
  assert.deepEqual([done.results.all.changes, done.results.all.rows.map(({ n }) => n)], [2, [5, 5]]);
  assert.deepEqual(await db.change({ run: { alone: mustChange(add('none', 1)) } }), { ok: false, failed: 'alone' });
  assert.equal((await db.change({ run: { alone: mustChange(add('a', 1)) } })).ok, true);
  const upsert = sql`insert into things ${Thing.values({ k: 'a', n: 9 })} on conflict (k) do nothing`;
  assert.deepEqual(await db.change({ run: { d: insert('d'), upsert: mustChange(upsert) } }), {
    ok: false,
    failed: 'upsert',
  });
  assert.equal(await keys(db), 'a b c');
});

onBothEngines('a duplicate that is expected is named, another one is an error', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  await db.run(insert('taken'));
  const attempt = (k: string) => db.change({ run: { a: insert('a'), name: mayConflict(insert(k)), b: insert('b') } });
  assert.deepEqual(await attempt('taken'), { ok: false, failed: 'name' });
  assert.deepEqual(await attempt('a'), { ok: false, failed: 'name' });
  assert.equal(await keys(db), 'taken');
  assert.deepEqual(await db.change({ run: { alone: mayConflict(insert('taken')) } }), { ok: false, failed: 'alone' });
  await assert.rejects(attempt('b'), UniqueViolation);
  await assert.rejects(db.change({ run: { a: insert('a'), taken: insert('taken') } }), UniqueViolation);
  assert.equal(await keys(db), 'taken');
  const both = mustChange(mayConflict(sql`update things set k = ${'taken'} where k = ${'none'}`));
  assert.deepEqual(await db.change({ run: { a: insert('a'), both } }), { ok: false, failed: 'both' });
});

onBothEngines('a mistake in a condition is an error, not a refusal', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  await assert.rejects(db.change({ require: { typo: sql`nonsense` }, run: { a: insert('a') } }), saying(/nonsense/));
  await assert.rejects(
    db.change({ run: { a: insert('a'), b: mustChange(sql`update nowhere set n = 1`) } }),
    saying(/nowhere/),
  );
  await assert.rejects(
    db.change({ run: { a: mayConflict(sql`insert into nowhere (k) values (1)`) } }),
    saying(/nowhere/),
  );
  assert.equal(await keys(db), '');
});

onBothEngines('refused changes do not harm those of the same turn, nor those after them', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  await db.run(insert('taken'));
  for (let round = 0; round < 5; round += 1) {
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => {
        const k = `${round}.${i}`;
        const kinds = [
          () => db.change({ run: { one: insert(`${k}a`), two: insert(`${k}b`) } }),
          () => db.change({ require: { no: isThere('none') }, run: { one: insert(`${k}no`), two: insert('x') } }),
          () => db.change({ run: { one: insert(`${k}no`), no: mustChange(add('none', 1)) } }),
          () => db.change({ run: { one: insert(`${k}no`), no: mayConflict(insert('taken')) } }),
          () => db.change({ require: { yes: isThere('taken') }, run: { one: insert(`${k}c`) } }),
        ];
        return (await kinds[i % kinds.length]!()).ok;
      }),
    );
    assert.deepEqual(outcomes.slice(0, 5), [true, false, false, false, true]);
    assert.equal(outcomes.filter(Boolean).length, 16);
  }
  const kept = await keys(db);
  assert.equal(kept.split(' ').length, 5 * 24 + 1);
  assert.ok(!kept.includes('no'));
});

onBothEngines('behind a lock a requirement decides a race', async (t, engine) => {
  const { db, second } = await freshTable(t, engine);
  const other = await second();
  await db.run(insert('account', 10));
  const withdraw = (from: OneDb, i: number) =>
    from.change({
      lock: lock('account'),
      require: { covered: hasAtLeast('account', 1) },
      run: { account: add('account', -1), receipt: insert(`receipt ${i}`) },
    });
  const done = await Promise.all(Array.from({ length: 64 }, (_, i) => withdraw(i % 2 ? db : other, i)));
  assert.equal(done.filter(({ ok }) => ok).length, 10);
  assert.ok(done.every((one) => one.ok || one.failed === 'covered'));
  assert.equal((await find(db, 'account'))?.n, 0);
  assert.equal((await keys(db)).split(' receipt').length, 11);
});

onBothEngines('a condition can be asked by itself, and a row must be of its shape', async (t, engine) => {
  const { db } = await freshTable(t, engine);
  await db.run(insert('a', 3));
  assert.deepEqual([await db.holds(isThere('a')), await db.holds(isThere('b'))], [true, false]);
  assert.equal(await db.holds(sql`cast(null as bigint) = 1`), false);
  const Narrow = row('things', { k: text, v: text });
  await assert.rejects(db.get(Narrow, sql`select * from things`), (error) => error instanceof RowMismatch);
  const { changes, rows } = await db.run(Thing, sql`update things set v = ${'x'} returning ${Thing.columns}`);
  assert.deepEqual([changes, rows[0]?.v, rows[0]?.n], [1, 'x', 3]);
  assert.deepEqual(await db.run(Thing, sql`delete from things where k = ${'none'} returning ${Thing.columns}`), {
    changes: 0,
    rows: [],
  });
});

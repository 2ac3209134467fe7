import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Engine, freshDatabase, onBothEngines } from '../../../test/support/databases.ts';
import { plain, saying } from '../../../test/support/plain-sql.ts';
import { type Db, type Statement, StoreUnavailable, UniqueViolation } from './db.ts';
import { openDb } from './open.ts';

type Row = { k: string; v: string | null; n: number };

const tables = `
  create table things (k text primary key, v text, n bigint not null);
  create unique index things_one_active on things (n) where v = 'active';
  create table parts (part text primary key, k text not null references things (k) on delete cascade);
`;

async function freshTables(t: TestContext, engine: Engine) {
  const fresh = await freshDatabase(t, engine, { empty: true });
  await fresh.db.exclusively((session) => session.exec(tables));
  const second = async () => {
    const other = await openDb({ dataDir: fresh.dataDir, databaseUrl: fresh.url, databaseMayLoseCommits: true });
    t.after(() => other.close());
    return other;
  };
  return { db: fresh.db, second };
}

const insert = (k: string, v: string | null = null, n = 0): Statement => ({
  sql: 'insert into things (k, v, n) values ($1, $2, $3)',
  params: [k, v, n],
});
const put = (db: Db, k: string, v: string | null = null, n = 0) => plain(db).batch([insert(k, v, n)]);
const find = (db: Db, k: string) => plain(db).get<Row>('select * from things where k = $1', [k]);
const keys = async (db: Db) => (await plain(db).all<Row>('select k from things order by k')).map(({ k }) => k);
const increment = (db: Db, k: string) => plain(db).run('update things set n = n + 1 where k = $1', [k]);
const take = (db: Db, k: string, by: string) =>
  plain(db).run('update things set v = $2 where k = $1 and v is null returning *', [k, by]);

onBothEngines('one conditional update of sixty-four wins', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  await put(db, 'code');
  const takes = await Promise.all(Array.from({ length: 64 }, (_, i) => take(db, 'code', `by ${i}`)));
  const winners = takes.filter(({ changes }) => changes === 1);
  assert.equal(winners.length, 1);
  assert.equal((await find(db, 'code'))?.v, winners[0]!.rows[0]!.v);
});

onBothEngines('two stores on one database agree on the winner and lose no change', async (t, engine) => {
  const { db, second } = await freshTables(t, engine);
  const other = await second();
  await put(db, 'code');
  const sides = Array.from({ length: 64 }, (_, i) => (i % 2 ? db : other));
  const takes = await Promise.all(sides.map((side, i) => take(side, 'code', `by ${i}`)));
  assert.equal(takes.filter(({ changes }) => changes === 1).length, 1);
  await Promise.all(sides.map((side) => increment(side, 'code')));
  assert.equal((await find(other, 'code'))?.n, 64);
});

onBothEngines('what was acknowledged is seen by a second connection', async (t, engine) => {
  const { db, second } = await freshTables(t, engine);
  const other = await second();
  const writeAndLook = async (k: string) => {
    await put(db, k);
    assert.ok(await find(other, k), `${k} was acknowledged, but is not there`);
  };
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(Array.from({ length: 8 }, (_, i) => writeAndLook(`${round}/${i}`)));
  }
});

onBothEngines('a batch is in order: later statements see the earlier', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  const results = await plain(db).batch([
    insert('a', null, 1),
    { sql: 'update things set n = n + 1 where k = $1 returning n', params: ['a'] },
    { sql: "insert into things (k, n) select 'b', n * 10 from things where k = $1", params: ['a'] },
    { sql: 'select k, n from things order by k' },
  ]);
  assert.deepEqual(
    results.map(({ changes, rows }) => ({ changes, rows: rows.map((row) => ({ ...row })) })),
    [
      { changes: 1, rows: [] },
      { changes: 1, rows: [{ n: 2 }] },
      { changes: 1, rows: [] },
      {
        changes: 2,
        rows: [
          { k: 'a', n: 2 },
          { k: 'b', n: 20 },
        ],
      },
    ],
  );
  assert.deepEqual(await plain(db).batch([]), []);
});

onBothEngines('a batch is all or nothing, and reports the first error', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  await put(db, 'taken');
  const nonsense = { sql: 'select nonsense from nowhere' };
  await assert.rejects(plain(db).batch([insert('a'), insert('taken'), insert('b'), nonsense]), UniqueViolation);
  await assert.rejects(plain(db).batch([insert('a'), nonsense, insert('taken')]), saying(/nowhere/));
  assert.deepEqual(await keys(db), ['taken']);
});

onBothEngines('a change that fails does not harm those of the same turn', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  const outcomes = await Promise.allSettled([
    put(db, 'good 1'),
    plain(db).run('insert into things (k, n) values ($1, 0)', ['good 1']),
    plain(db).batch([insert('half'), insert('good 1')]),
    plain(db).batch([insert('good 2'), insert('good 3')]),
    plain(db).run('not a statement'),
    plain(db).run("insert into parts values ('orphan', 'nobody')"),
    put(db, 'good 4'),
  ]);
  // On PostgreSQL these travel on different connections, so which of the equal inserts wins is open; one does.
  const kept = await keys(db);
  assert.deepEqual(
    kept.filter((k) => k !== 'half'),
    ['good 1', 'good 2', 'good 3', 'good 4'],
  );
  assert.equal(outcomes[3].status, 'fulfilled');
  assert.equal(outcomes[6].status, 'fulfilled');
  for (const bad of [outcomes[4], outcomes[5]]) {
    assert.ok(bad.status === 'rejected' && !(bad.reason instanceof StoreUnavailable), 'our mistake, not an outage');
  }
  assert.equal(outcomes.slice(0, 3).filter(({ status }) => status === 'fulfilled').length, 1);
});

onBothEngines('a duplicate is a UniqueViolation: primary key, unique index, partial index', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  await put(db, 'a', 'active', 1);
  await assert.rejects(put(db, 'a'), UniqueViolation);
  await assert.rejects(put(db, 'b', 'active', 1), UniqueViolation);
  await put(db, 'b', 'retired', 1);
  await assert.rejects(plain(db).run("update things set v = 'active' where k = 'b'"), UniqueViolation);
  await put(db, 'c', 'active', 2);
  assert.deepEqual(await keys(db), ['a', 'b', 'c']);
});

onBothEngines('on conflict: do nothing, and do update where', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  const once = () =>
    plain(db).run('insert into things (k, n) values ($1, 1) on conflict do nothing returning k', ['a']);
  assert.equal((await once()).changes, 1);
  assert.deepEqual(await once(), { changes: 0, rows: [] });
  const raise = (n: number) =>
    plain(db).run(
      `insert into things (k, n) values ($1, $2)
       on conflict (k) do update set n = excluded.n where things.n < excluded.n returning n`,
      ['a', n],
    );
  assert.equal((await raise(5)).rows[0]?.n, 5);
  assert.deepEqual(await raise(4), { changes: 0, rows: [] });
});

onBothEngines('foreign keys are on: an orphan is refused, a deletion cascades', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  await assert.rejects(plain(db).run("insert into parts values ('p', 'nobody')"), /foreign key/i);
  await plain(db).batch([insert('a'), { sql: "insert into parts values ('p', 'a')" }]);
  assert.deepEqual(await plain(db).run('delete from things where k = $1', ['a']), { changes: 1, rows: [] });
  assert.equal(await plain(db).get('select * from parts'), undefined);
});

onBothEngines('values come back as they went in', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  const largest = Number.MAX_SAFE_INTEGER;
  await put(db, 'a', null, largest);
  await put(db, 'b', '', -largest);
  await put(db, 'c', "'; drop table things; -- $1 ? 𝄞 e\u0301 \u202e \u2028 👩‍👩‍👧 \\ \r\n\t", 0);
  assert.deepEqual({ ...(await find(db, 'a')) }, { k: 'a', v: null, n: largest });
  assert.deepEqual({ ...(await find(db, 'b')) }, { k: 'b', v: '', n: -largest });
  assert.equal((await find(db, 'c'))?.v, "'; drop table things; -- $1 ? 𝄞 e\u0301 \u202e \u2028 👩‍👩‍👧 \\ \r\n\t");
  assert.equal(await find(db, 'd'), undefined);
});

onBothEngines('NUL and half a surrogate pair are stored as U+FFFD, and never are an error', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  assert.equal(await find(db, 'a\0b'), undefined);
  await put(db, 'a\0b', 'x\ud83dy');
  assert.deepEqual({ ...(await find(db, 'a\0b')) }, { k: 'a\ufffdb', v: 'x\ufffdy', n: 0 });
  assert.equal(await find(db, 'a'), undefined);
});

onBothEngines('expressions are numbers: count, sum, exists', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  await plain(db).batch([insert('a', null, 2), insert('b', null, 3)]);
  const row = await plain(db).get<Record<string, number>>(
    "select count(*) as things, sum(n) as total, exists (select 1 from things where k = 'a') as found from things",
  );
  assert.deepEqual({ ...row }, { things: 2, total: 5, found: 1 });
});

onBothEngines('an integer too large for a number is refused, not rounded', async (t, engine) => {
  const { db } = await freshTables(t, engine);
  await plain(db).run("insert into things (k, n) values ('a', 9007199254740993)");
  await assert.rejects(find(db, 'a'), RangeError);
});

onBothEngines('a migration of another node changes a table under prepared statements', async (t, engine) => {
  const { db, second } = await freshTables(t, engine);
  await put(db, 'a');
  for (let i = 0; i < 20; i += 1) await Promise.all([find(db, 'a'), take(db, 'a', 'x'), find(db, 'a')]);
  const other = await second();
  await plain(other).run("alter table things add column added text default 'new'");
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => find(db, 'a')));
  for (const row of outcomes) assert.deepEqual({ ...row }, { k: 'a', v: 'x', n: 0, added: 'new' });
  const [updated] = (await plain(db).batch([{ sql: 'update things set n = 1 returning *' }]))[0]!.rows;
  assert.equal(updated?.added, 'new');
});

onBothEngines('closing answers what was asked, then refuses', async (t, engine) => {
  const { db, second } = await freshTables(t, engine);
  const other = await second();
  const asked = Array.from({ length: 40 }, (_, i) => (i % 2 ? put(db, `k${i}`) : increment(db, 'k')));
  const closed = db.close();
  await Promise.all(asked);
  await closed;
  assert.equal((await keys(other)).length, 20);
  await assert.rejects(find(db, 'k1'), StoreUnavailable);
  await assert.rejects(put(db, 'late'), StoreUnavailable);
  await db.close();
});

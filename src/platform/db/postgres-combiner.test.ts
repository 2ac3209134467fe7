import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { freshDatabase } from '../../../test/support/databases.ts';
import { plain } from '../../../test/support/plain-sql.ts';
import { until } from '../../../test/support/until.ts';
import { type OneDb, StoreUnavailable } from './db.ts';
import type { BatchResult } from './engine.ts';
import { openPostgres } from './postgres.ts';
import { type Combinable, combinedForm, createCombiner } from './postgres-combiner.ts';
import type { BoundStatement } from './postgres-lane.ts';
import { integer, nullable, row, text } from './rows.ts';
import { combinable, onFoundRow, type Sql, sql } from './sql.ts';

const Thing = row('things', { k: text, v: nullable(text), n: integer });

const find = (k: string) => combinable(sql`select k, v, n from things where k = ${k}`);
const take = (k: string, by: string) =>
  combinable(
    sql`update things set v = ${by}, n = n + 1 where k = ${k} and ${onFoundRow(sql`v is null`)} returning k, v, n`,
    k,
  );

async function freshTable(t: TestContext, keys: readonly string[] = []) {
  const { db, url } = await freshDatabase(t, 'postgres', { empty: true });
  assert.ok(url);
  await plain(db).run('create table things (k text primary key, v text, n bigint not null)');
  if (keys.length > 0)
    await plain(db).batch(keys.map((k) => ({ sql: 'insert into things values ($1, null, 0)', params: [k] })));
  const other = openPostgres(url, { mayLoseCommits: true });
  t.after(() => other.close());
  return { db, other, url };
}

const keysTo = (count: number) => Array.from({ length: count }, (_, index) => `key ${String(index).padStart(3, '0')}`);

/** The rows that one statement gave, of many that were made at the same time. */
const results = (db: OneDb, statements: readonly Sql[]) =>
  Promise.all(statements.map(async (statement) => (await db.run(Thing, statement)).rows));

test('of many reads at once each gets its own rows', async (t) => {
  const keys = keysTo(150);
  const { db } = await freshTable(t, keys);
  const asked = [...keys, 'missing', 'key 007', "'; drop table things; --", 'null', '{"a","b"}', '\\', 'a\0b', ''];
  const found = await Promise.all(asked.map((k) => db.all(Thing, find(k))));
  assert.deepEqual(
    found.map(([thing]) => thing),
    asked.map((k) => (keys.includes(k) ? { k, v: null, n: 0 } : undefined)),
  );
});

test('of many changes at once each changes its own row, and one of two nodes wins a row', async (t) => {
  const keys = keysTo(100);
  const { db, other } = await freshTable(t, keys);
  await Promise.all([db, other].map((node) => plain(node).get('select 1'))); // both are connected
  const [here, there] = await Promise.all([
    results(
      db,
      keys.map((k) => take(k, `here ${k}`)),
    ),
    results(
      other,
      keys.toReversed().map((k) => take(k, `there ${k}`)),
    ),
  ]);
  there.reverse();
  for (const [index, k] of keys.entries()) {
    const won = [...here[index]!, ...there[index]!];
    assert.equal(won.length, 1, `${k} was taken ${won.length} times`);
    assert.equal(won[0]!.n, 1);
    assert.match(won[0]!.v!, new RegExp(`^(here|there) ${k}$`));
  }
});

test('of many changes of one row one finds it', async (t) => {
  const { db } = await freshTable(t, keysTo(20));
  const wanted = Array.from({ length: 64 }, (_, index) => take(`key 00${index % 2}`, `${index}`));
  const won = (await results(db, wanted)).flat();
  assert.deepEqual(won.map(({ k, n }) => [k, n]).sort(), [
    ['key 000', 1],
    ['key 001', 1],
  ]);
});

test('a change that the server refuses fails alone', async (t) => {
  const keys = keysTo(12);
  const { db } = await freshTable(t, keys);
  await plain(db).run("alter table things add constraint checked check (v <> 'refused')");
  const outcomes = await Promise.allSettled(keys.map((k, index) => db.run(take(k, index === 5 ? 'refused' : 'kept'))));
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    keys.map((_, index) => (index === 5 ? 'rejected' : 'fulfilled')),
  );
  const stored = await plain(db).all<{ v: string | null }>('select v from things order by k');
  assert.deepEqual(
    stored.map(({ v }) => v),
    keys.map((_, index) => (index === 5 ? null : 'kept')),
  );
});

test('a store that closes first answers what it has gathered', async (t) => {
  const keys = keysTo(30);
  const { other } = await freshTable(t, keys);
  const answers = Promise.all(keys.map((k) => other.get(Thing, find(k))));
  await other.close();
  assert.equal((await answers).filter(Boolean).length, keys.length);
  await assert.rejects(other.all(Thing, find('late')), StoreUnavailable);
});

/** A combiner whose statements are answered by hand. */
function byHand() {
  const sent: { statement: BoundStatement; answer: PromiseWithResolvers<BatchResult> }[] = [];
  const { run } = createCombiner((work) =>
    work((statement) => {
      const answer = Promise.withResolvers<BatchResult>();
      sent.push({ statement, answer });
      return answer.promise;
    }),
  );
  return { sent, run: (statement: Sql) => run(statement as Combinable) };
}
const echo = ({ statement }: { statement: BoundStatement }): BatchResult => {
  const keys = statement.params![0] as string[];
  return { changes: 0, rows: keys.map((k, index) => ({ nth: index + 1, k })) };
};

test('what is asked while two groups are on the wire gathers for one, and a few are not combined', async () => {
  const { sent, run } = byHand();
  const first = [...'ab'].map((k) => run(find(k)));
  await turn();
  assert.deepEqual(
    sent.map(({ statement }) => statement.params),
    [['a'], ['b']],
    'each alone',
  );
  const second = [...'cdef'].map((k) => run(find(k)));
  await turn();
  assert.deepEqual(sent[2]?.statement.params, [['c', 'd', 'e', 'f']]);
  const third = [...'ghijk'].map((k) => run(find(k)));
  await turn();
  assert.equal(sent.length, 3, 'two groups are on the wire');
  sent[2]!.answer.resolve(echo(sent[2]!));
  assert.deepEqual(
    (await Promise.all(second)).map(({ rows }) => rows),
    [...'cdef'].map((k) => [{ k }]),
  );
  await turn();
  assert.deepEqual(sent[3]?.statement.params, [[...'ghijk']]);
  sent[3]!.answer.resolve(echo(sent[3]!));
  for (const { answer } of sent.slice(0, 2)) answer.resolve({ changes: 0, rows: [] });
  await Promise.all([...first, ...third]);
});

test('groups that are not answered hold nobody back for long', async () => {
  const { sent, run } = byHand();
  for (const k of 'ab') {
    void run(find(k));
    await turn();
  }
  void run(find('c'));
  await until('the third is sent', () => sent.length >= 3);
  assert.deepEqual(sent[2]!.statement.params, ['c']);
});

test('after a combined statement was not answered, each is sent alone for a while', async () => {
  const { sent, run } = byHand();
  const asked = Promise.allSettled([...'abcd'].map((k) => run(find(k))));
  await turn();
  sent[0]!.answer.reject(new StoreUnavailable('It took too long.'));
  assert.deepEqual(
    (await asked).map(({ status }) => status),
    Array(4).fill('rejected'),
  );
  for (const k of 'abcd') void run(find(k));
  await turn();
  assert.deepEqual(
    sent.slice(1).map(({ statement }) => statement.params),
    [['a'], ['b'], ['c'], ['d']],
  );
});

test('more statements than can be answered in time are refused at once', async () => {
  const { run } = byHand();
  for (let count = 0; count < 5_000; count += 1) void run(find(`${count}`));
  await assert.rejects(run(find('one more')), StoreUnavailable);
});

test('parameters without a type, or of another one, are not combined', async () => {
  const { sent, run } = byHand();
  const all = (v: string | number | null) => run(combinable(sql`select k from things where v = ${v}`));
  for (const v of ['a', null, 'b', 1, 'c', 1.5, 'd']) void all(v);
  await turn();
  assert.deepEqual(
    sent.map(({ statement }) => statement.params),
    [[null], [1], [1.5], [['a', 'b', 'c', 'd']]],
  );
});

test('a statement of another shape is a mistake of ours', () => {
  for (const text of [
    'insert into things (k) values ($1) returning k',
    'update things set v = $1 where k = $2',
    'update things set v = (select 1 where k = $1) returning k',
    'delete from things where k = $1 returning k',
  ]) {
    assert.throws(() => combinedForm(text, 'text'), TypeError, text);
  }
  assert.equal(
    combinedForm('update t set a = $1 where k = $2 and b in (select b from u where c = $2) returning k', 'bigint text')
      .text,
    'update t set a = asked.p1  from unnest($1::bigint[], $2::text[]) with ordinality as asked (p1, p2, nth)' +
      ' where k = asked.p2 and b in (select b from u where c = asked.p2) returning k, asked.nth',
  );
});

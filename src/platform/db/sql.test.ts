import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allOf, asBigint, join, oneOf, raw, sql } from './sql.ts';

test('values become parameters in order of appearance, each its own', () => {
  const isActive = (at: number) => sql`expires_at > ${at} and revoked_at is null`;
  const of = (user_id: string, at: number) =>
    sql`update t set at = ${at} where user_id = ${user_id} and ${isActive(at)}`;
  const { sql: text, params } = of('usr_1', 5);
  assert.equal(text, 'update t set at = $1 where user_id = $2 and expires_at > $3 and revoked_at is null');
  assert.deepEqual(params, [5, 'usr_1', 5]);
});

test('pieces nest to any depth and may stand beside each other', () => {
  const inner = sql`(${1}, ${sql`${2}`})`;
  const { sql: text, params } = sql`${inner}${inner} ${raw('name')} ${asBigint(null)}`;
  assert.equal(text, '($1, $2)($3, $4) name cast($5 as bigint)');
  assert.deepEqual(params, [1, 2, 1, 2, null]);
});

test('a text is made once for each shape', () => {
  const find = (id: string, state?: string) =>
    sql`select 1 where id = ${id} ${state === undefined ? sql`` : sql`and state = ${state}`}`;
  assert.equal(find('a').shape, find('b').shape);
  assert.equal(find('a', 'x').shape, find('b', 'y').shape);
  assert.notEqual(find('a').shape, find('a', 'x').shape);
  assert.equal(find('a', 'x').sql, 'select 1 where id = $1 and state = $2');
});

test('lists', () => {
  const inList = (values: string[]) => sql`status in ${oneOf(values)} and n = ${1}`;
  assert.equal(inList(['a', 'b']).sql, 'status in ($1, $2) and n = $3');
  assert.equal(inList(['a', 'b']).shape, inList(['c', 'd']).shape);
  assert.equal(inList([]).sql, 'status in (null) and n = $1');
  assert.equal(allOf([]).sql, '1 = 1');
  assert.equal(allOf([sql`a = ${1} or b`, sql`c`]).sql, '(a = $1 or b) and (c)');
  assert.throws(() => join([]), RangeError);
});

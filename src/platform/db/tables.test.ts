import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { allTables } from './tables.ts';

// What the migrations make is read from SQLite, where both engines have the same tables.

const db = new DatabaseSync(':memory:');
for (const path of globSync(join(import.meta.dirname, 'migrations/*.sql')).sort()) db.exec(readFileSync(path, 'utf8'));

const all = (sql: string) => db.prepare(sql).all() as Record<string, string | number>[];
const columnsOf = (table: string) => all(`pragma table_info(${table})`);
const has = (table: string, column: string) => columnsOf(table).some(({ name }) => name === column);
const entries = new Map(allTables);

test('every table that the migrations make is in the list, with its primary key', () => {
  const made = all("select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name");
  assert.deepEqual(
    made.map(({ name }) => name),
    [...entries.keys()].sort(),
    'say of each table in src/platform/db/tables.ts whose rows it has and when they end',
  );
  for (const [name, { key }] of entries) {
    const columns = columnsOf(name).filter(({ pk }) => Number(pk) > 0);
    const primary = columns.sort((one, other) => Number(one.pk) - Number(other.pk)).map(({ name }) => name);
    assert.equal(key, primary.join(', '), name);
  }
});

test('rows of a user or a client say what becomes of them', () => {
  for (const owner of ['user', 'client'] as const) {
    for (const [name, table] of entries) {
      if (name === `${owner}s`) continue;
      assert.equal(table[owner] !== undefined, has(name, `${owner}_id`), `${name} has rows of a ${owner}`);
      const goesWithIt = all(`pragma foreign_key_list(${name})`).some(
        ({ from, on_delete }) => from === `${owner}_id` && on_delete === 'CASCADE',
      );
      assert.equal(goesWithIt, table[owner] === 'few' || table[owner] === 'many', `${name} goes with its ${owner}`);
    }
  }
});

test('what expires is deleted by an index, or by its room', () => {
  for (const [name, { expires }] of entries) {
    if (has(name, 'expires_at') || has(name, 'delivered_at')) assert.ok(expires, `${name} expires`);
    const indexes = all(`pragma index_list(${name})`).map(({ name: index }) => String(index));
    const begins = indexes.map((index) => all(`pragma index_info(${index})`).find(({ seqno }) => seqno === 0)?.name);
    const isOfDeliveries = has(name, 'delivered_at');
    const needed = isOfDeliveries ? ['delivered_at', 'dead_at'] : typeof expires === 'object' ? [expires.at] : [];
    for (const column of needed) assert.ok(begins.includes(column), `${name} has an index that begins with ${column}`);
    if (isOfDeliveries) assert.ok(indexes.includes(`${name}_by_state`), `${name} has an index by state`);
  }
});

test('every sealed column is sealed anew with another master key, or ends', () => {
  for (const [name, { sealed = {} }] of entries) {
    const columns = columnsOf(name).map((column) => String(column.name));
    assert.deepEqual(Object.keys(sealed).sort(), columns.filter((column) => /(^|_)sealed$/.test(column)).sort(), name);
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postgresMigrations } from '../../../test/support/portable-sql.ts';
import { parse } from '../../../test/support/sql-constructs.ts';
import { statementsIn } from './citus-tables.ts';
import { atServer } from './postgres-address.ts';

// What needs a cluster of Citus is in test/citus.

test('a migration is divided into its statements', () => {
  for (const script of postgresMigrations()) {
    const parsed = statementsIn(script).map((one) => parse(one));
    assert.ok(parsed.every((statements) => statements.length <= 1));
    assert.deepEqual(parsed.flat().map(withoutPlaces), parse(script).map(withoutPlaces));
  }
});

const withoutPlaces = (statement: unknown) =>
  JSON.stringify(statement, (name, value) => (/location|list_(start|end)/.test(name) ? undefined : value));

test('another node is asked with what the address of the coordinator says besides', () => {
  for (const [url, expected] of [
    ['postgres://signet:p%40ss@10.0.0.5/signet', 'postgres://signet:p%40ss@10.0.0.6:5433/signet'],
    [
      'postgres://signet@one:5432,two:5433/signet?sslmode=require',
      'postgres://signet@10.0.0.6:5433/signet?sslmode=require',
    ],
    ['postgres:///signet?host=/run/postgresql&port=5432', 'postgres://10.0.0.6:5433/signet'],
  ] as const) {
    assert.equal(atServer(url, '10.0.0.6:5433'), expected);
  }
});

/**
 * For `node --import`: notes every statement that the program composes in this process, with the first values that it had, as it is sent
 * for several requests at once, and as a step that may refuse a change; writes them to the folder in `NOTED_STATEMENTS` when the process
 * ends.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Param, Sql, type Statement } from '../../src/platform/db/sql.ts';
import { combinedOf } from '../support/full-scans.ts';

export type Noted = { sql: string; params?: readonly Param[] };

const folder = process.env.NOTED_STATEMENTS;
const noted = new Map<string, Statement>();
const getter = Object.getOwnPropertyDescriptor(Sql.prototype, 'sql')?.get;

Object.defineProperty(Sql.prototype, 'sql', {
  get(this: Sql) {
    const sql = String(getter?.call(this));
    // A piece of a statement begins otherwise, but for subqueries. What a requirement sends is composed around it.
    if (!noted.has(sql) && /^\s*(?:select|with|insert|update|delete)\b/.test(sql)) {
      noted.set(sql, { sql, params: this.params, key: this.key });
    }
    return sql;
  },
});

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
  const { text = '', values } = (given[0] ?? {}) as { text?: string; values?: readonly Param[] };
  if (text.startsWith('with changed as (')) {
    const sql = text.replaceAll(/\bc\d+\./g, ''); // as it was before a cell got its schema
    if (!noted.has(sql)) noted.set(sql, { sql, params: values ?? [] });
  }
  return Reflect.apply(query, this, given);
} as typeof query;

process.on('exit', () => {
  if (!folder || noted.size === 0) return;
  mkdirSync(folder, { recursive: true });
  const all = [...noted.values()].flatMap((one): Noted[] => [one, ...combinedOf(one)]);
  writeFileSync(join(folder, `${process.pid}.json`), JSON.stringify(all.map(({ sql, params }) => ({ sql, params }))));
});

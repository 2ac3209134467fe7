import type { Db } from './db.ts';
import { row, text } from './rows.ts';
import { raw, type Sql, sql } from './sql.ts';

/** A column of secrets that are sealed under the master key, for the use-case that seals all of them anew. */
export type SealedColumn = {
  name: string;
  /** Those behind a row, in the order of the primary key. */
  after(db: Db, key: string, rows: number): Promise<{ row_key: string; sealed: string }[]>;
  /** Changes nothing if the value is another one by now. */
  replace(row_key: string, from: string, to: string): Sql;
};

/** Made by the store that owns the table. @param key the primary key. */
export function sealedColumn(table: string, key: string, column: string): SealedColumn {
  const Sealed = row(table, { row_key: text, sealed: text });
  const [of, by, value] = [raw(table), raw(key), raw(column)];
  return {
    name: `${table}.${column}`,
    after: (db, after, rows) =>
      db.all(
        Sealed,
        sql`select ${by} as row_key, ${value} as sealed from ${of}
             where ${by} > ${after} and ${value} is not null and ${value} <> '' order by ${by} limit ${rows}`,
      ),
    replace: (row_key, from, to) =>
      sql`update ${of} set ${value} = ${to} where ${by} = ${row_key} and ${value} = ${from}`,
  };
}

import type { Db, Part } from './db.ts';
import { row, text } from './rows.ts';
import { fitsOneSlice, inOneSlice } from './slices.ts';
import { allOf, raw, type Sql, sql } from './sql.ts';
import { allTables, expiringTables, type TableName, tables, tablesWithMany } from './tables.ts';

// Statements that are alike for every table, by its entry in `tables.ts`.

/** The parts of the store that have rows of a table to be changed: of a shared one the others only have copies. */
export const partsWith = (db: Db, table: TableName): readonly Part[] =>
  ['shared', 'home'].includes(tables[table].place) ? [db.shared] : db.parts;

const deleteSlice = (part: Part, table: TableName, condition: Sql, rows: number) =>
  part.run(sql`delete from ${raw(table)} where ${inOneSlice(table, tables[table].key, condition, rows)}`);

/** Rows of a table that expire by one of its columns, those before a moment. */
export function deleteExpired(part: Part, table: TableName, before: number, rows: number) {
  const at = expiringTables.find(({ name }) => name === table)?.at;
  if (at === undefined) throw new TypeError(`${table} does not expire by a column`);
  return deleteSlice(part, table, sql`${raw(at)} < ${before} order by ${raw(at)}`, rows);
}

export const deleteRows = (part: Part, table: TableName, rows: number) => deleteSlice(part, table, sql`1 = 1`, rows);

const columnOf = { user: 'user_id', client: 'client_id' } as const;
type Owner = keyof typeof columnOf;

export const deleteRowsOf = (part: Part, table: TableName, owner: Owner, id: string, rows: number) =>
  deleteSlice(part, table, sql`${raw(columnOf[owner])} = ${id}`, rows);

const fitOneSlice = (names: readonly TableName[], owner: Owner, id: string): Sql =>
  allOf(names.map((table) => fitsOneSlice(table, columnOf[owner], id)));

/** A condition: what a user may have any number of is no more than one statement may delete with their row. */
export const rowsOfUserFitOneSlice = (user_id: string): Sql => fitOneSlice(tablesWithMany('user'), 'user', user_id);

/** The same of a client, whose rows are in several places: a condition for each of them. */
export const rowsOfClientFitOneSlice = (client_id: string): Sql[] =>
  [
    ...Map.groupBy(tablesWithMany('client'), (name) =>
      tables[name].place === 'key' ? name : tables[name].place,
    ).values(),
  ].map((names) => fitOneSlice(names, 'client', client_id));

/** A column of secrets that are sealed under the master key, for the use-case that seals all of them anew. */
export type SealedColumn = {
  name: string;
  table: TableName;
  purposeOf(row_key: string): string;
  /** Those behind a row, in the order of the primary key. */
  after(part: Part, key: string, rows: number): Promise<{ row_key: string; sealed: string }[]>;
  /** Changes nothing if the value is another one by now. */
  replace(row_key: string, from: string, to: string): Sql;
};

function sealedColumn(
  table: TableName,
  key: string,
  column: string,
  purposeOf: SealedColumn['purposeOf'],
): SealedColumn {
  const Sealed = row(table, { row_key: text, sealed: text });
  const [of, by, value] = [raw(table), raw(key), raw(column)];
  return {
    name: `${table}.${column}`,
    table,
    purposeOf,
    after: (part, after, rows) =>
      part.all(
        Sealed,
        sql`select ${by} as row_key, ${value} as sealed from ${of}
             where ${by} > ${after} and ${value} is not null and ${value} <> '' order by ${by} limit ${rows}`,
      ),
    replace: (row_key, from, to) =>
      sql`update ${of} set ${value} = ${to} where ${by} = ${row_key} and ${value} = ${from}`,
  };
}

/** All that outlive an hour. */
export const sealedColumns: readonly SealedColumn[] = allTables.flatMap(([name, { key, sealed = {} }]) =>
  Object.entries(sealed).flatMap(([column, purpose]) =>
    purpose === 'ends' ? [] : [sealedColumn(name, key, column, purpose)],
  ),
);

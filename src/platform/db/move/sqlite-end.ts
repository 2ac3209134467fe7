import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ForeignKeyViolation, UniqueViolation } from '../engine.ts';
import { executor } from '../sqlite.ts';
import { storeError } from '../sqlite-errors.ts';
import { busyTimeoutMs } from '../sqlite-transactions.ts';
import {
  columnNames,
  digestOf,
  type End,
  keyNames,
  type MovedTable,
  moveTables,
  type Row,
  type TableSum,
  textOf,
  type Value,
} from './ends.ts';
import { sqliteTriggers } from './tracking.ts';

/** KiB. */
const pageCache = 64_000;
/** After which others in this process get their turn. */
const rowsInOneTurn = 2_000;

const marks = (values: readonly unknown[]) => values.map(() => '?').join(', ');

export function openSqliteEnd(path: string): End {
  const connection = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  connection.exec(`pragma journal_mode = wal; pragma synchronous = full; pragma cache_size = -${pageCache};`);
  const execute = executor(connection);
  const prepared = new Map<string, StatementSync>();

  function prepare(sql: string): StatementSync {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = connection.prepare(sql);
      statement.setReturnArrays(true);
      prepared.set(sql, statement);
    }
    return statement;
  }

  function inWords<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      throw storeError(error);
    }
  }

  async function transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    inWords(() => connection.exec('begin immediate'));
    try {
      const result = await work();
      inWords(() => connection.exec('commit'));
      return result;
    } catch (error) {
      if (connection.isTransaction) connection.exec('rollback');
      throw error;
    }
  }

  const select = (table: MovedTable) => `select ${columnNames(table)} from ${table.name}`;
  const hasKey = (table: MovedTable) => `(${keyNames(table)}) = (${marks(table.key)})`;
  const write = (table: MovedTable, rows: readonly Row[], onConflict = '') =>
    inWords(() => {
      const insert = `insert into ${table.name} (${columnNames(table)}) values (${marks(table.columns)})`;
      const statement = prepare(`${insert} ${onConflict}`);
      for (const row of rows) statement.run(...row);
    });

  return {
    run: async (sql, ...params) => inWords(() => execute({ sql, params }).rows) as Record<string, Value>[],
    transaction,
    async attempt(work) {
      connection.exec('savepoint one');
      try {
        await work();
        connection.exec('release one');
        return true;
      } catch (error) {
        connection.exec('rollback to one; release one');
        if (error instanceof UniqueViolation || error instanceof ForeignKeyViolation) return false;
        throw error;
      }
    },
    rowsAfter: async (table, after, rows) =>
      inWords(() => {
        const names = keyNames(table);
        const behind = after ? ` where (${names}) > (${marks(names)})` : '';
        const statement = prepare(`${select(table)}${behind} order by ${names} limit (? + 0)`);
        return statement.all(...(after ?? []), rows) as unknown as Row[];
      }),
    rowsOf: async (table, keys) =>
      inWords(() => {
        const statement = prepare(`${select(table)} where ${hasKey(table)}`);
        return keys.flatMap((key) => {
          const row = statement.get(...key) as unknown as Row | undefined;
          return row === undefined ? [] : [row];
        });
      }),
    insert: async (table, rows) => write(table, rows),
    async upsert(table, rows) {
      const keys = keyNames(table);
      const others = columnNames(table).filter((name) => !keys.includes(name));
      const set = others.map((name) => `${name} = excluded.${name}`);
      write(table, rows, `on conflict (${keys}) do ${set.length > 0 ? `update set ${set}` : 'nothing'}`);
    },
    remove: async (table, keys) =>
      inWords(() => {
        const statement = prepare(`delete from ${table.name} where ${hasKey(table)}`);
        for (const key of keys) statement.run(...key);
      }),
    park: async (table, key) =>
      inWords(() => {
        if (table.unique.length === 0) return;
        const set = table.unique.map((name) => `${name} = hex(randomblob(16))`);
        prepare(`update ${table.name} set ${set} where ${hasKey(table)}`).run(...key);
      }),
    async count({ name }) {
      await nextTurn(); // so that the other store counts meanwhile
      return inWords(() => Number((prepare(`select count(*) from ${name}`).get() as unknown as Row)[0]));
    },
    async sum(table): Promise<TableSum> {
      const statement = connection.prepare(select(table));
      statement.setReturnArrays(true);
      const found = { rows: 0, sum: 0n };
      for (const row of statement.iterate() as Iterable<unknown>) {
        found.sum += digestOf(textOf(row as Row));
        found.rows += 1;
        if (found.rows % rowsInOneTurn === 0) await nextTurn();
      }
      return found;
    },
    track: (tables) =>
      transaction(async () => {
        for (const sql of tables.flatMap(sqliteTriggers)) inWords(() => connection.exec(sql));
      }),
    holdChanges: async () => undefined, // the transaction alone keeps others from changing anything
    indexes: async () =>
      inWords(() =>
        connection
          .prepare(`select name, sql from sqlite_master where type = 'index' and sql is not null`)
          .all()
          .map(({ name, sql }) => ({ name: String(name), sql: String(sql) }))
          .filter(({ sql }) => !/^create unique/i.test(sql)),
      ),
    analyze: async () => inWords(() => connection.exec('pragma optimize = 0x10002')),
    isEmpty: async () =>
      inWords(() => {
        const tables = connection.prepare(`select name from sqlite_master where type = 'table'`).all();
        return tables.every(({ name }) => String(name) in moveTables);
      }),
    close: async () => connection.close(),
  };
}

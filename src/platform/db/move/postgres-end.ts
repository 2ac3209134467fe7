import { setTimeout as sleep } from 'node:timers/promises';
import { ForeignKeyViolation, UniqueViolation } from '../engine.ts';
import { storeError } from '../postgres-results.ts';
import { createServers } from '../postgres-servers.ts';
import {
  columnNames,
  digestDigits,
  type End,
  type Key,
  keyNames,
  type MovedTable,
  moveTables,
  type Row,
  type Value,
} from './ends.ts';
import { postgresTriggers } from './tracking.ts';

/** Names the move among the advisory locks of the database: of two that run at once the second is refused. */
const moveLock = 7_446_382;
/** For which changes may wait behind the making of a trigger; it is tried again. */
const lockWait = '2s';
const triggerAttempts = 30;
/** A move that was killed holds it a little longer. */
const [lockAttempts, lockPauseMs] = [9, 250];

/**
 * @param schema of a part whose tables are not where connections begin. Only the others are locked for this process.
 * @throws {StoreUnavailable}
 */
export async function openPostgresEnd(url: string, schema?: string): Promise<End & { isAlone: boolean }> {
  const client = await createServers(url)
    .connectOnce({ connectionTimeoutMillis: 10_000 })
    .catch((error: unknown) => {
      throw storeError(error, 'session');
    });

  /** A connection has one question at a time. */
  let turn: Promise<unknown> = Promise.resolve();

  async function ask<Found>(text: string, values: unknown[] = [], rowMode?: 'array'): Promise<Found[]> {
    const query = rowMode ? { text, values, rowMode } : { text, values };
    const answer = turn.then(() => client.query(query));
    turn = answer.catch(() => undefined);
    try {
      return (await answer).rows as Found[];
    } catch (error) {
      throw storeError(error, 'nothing', client.user);
    }
  }

  async function transaction<Result>(work: () => Promise<Result>): Promise<Result> {
    await ask('begin');
    try {
      const result = await work();
      await ask('commit');
      return result;
    } catch (error) {
      await ask('rollback').catch(() => undefined); // the connection may be gone, and the transaction with it
      throw error;
    }
  }

  /** Others change the table meanwhile, and those who ask for its lock after us wait as long as we do. */
  async function patiently(statements: readonly string[]): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transaction(async () => {
          await ask(`set local lock_timeout = '${lockWait}'`);
          for (const statement of statements) await ask(statement);
        });
      } catch (error) {
        if (attempt === triggerAttempts) throw error;
      }
    }
  }

  const type = ({ isInteger }: MovedTable['columns'][number]) => (isInteger ? 'bigint[]' : 'text[]');
  const lists = (columns: MovedTable['columns']) => columns.map((column, place) => `$${place + 1}::${type(column)}`);
  const columnsOf = (rows: readonly Row[], places: number) =>
    Array.from({ length: places }, (_, place) => rows.map((row) => row[place]!));
  const keyColumns = ({ columns, key }: MovedTable) => key.map((place) => columns[place]!);
  const isOneOf = (table: MovedTable) => `(${keyNames(table)}) in (select * from unnest(${lists(keyColumns(table))}))`;
  const select = (table: MovedTable) => `select ${columnNames(table)} from ${table.name}`;
  const write = (table: MovedTable, rows: readonly Row[], onConflict = '') =>
    ask<never>(
      `insert into ${table.name} (${columnNames(table)}) select * from unnest(${lists(table.columns)}) ${onConflict}`,
      columnsOf(rows, table.columns.length),
    );

  const settings = ['statement_timeout', 'idle_in_transaction_session_timeout', 'lock_timeout'];
  for (const name of settings) await ask(`set ${name} = 0`);
  // What a move that was killed has begun ends with its connection, and not only when it is done; not every system can tell.
  await ask("set client_connection_check_interval = '500ms'").catch(() => undefined);
  if (schema !== undefined) await ask(`set search_path to ${schema}`);
  let isAlone = schema !== undefined;
  for (let attempt = 1; !isAlone && attempt <= lockAttempts; attempt += 1) {
    if (attempt > 1) await sleep(lockPauseMs);
    const [lock] = await ask<{ got: number }>('select pg_try_advisory_lock($1) as got', [moveLock]);
    isAlone = lock?.got === 1;
  }

  return {
    isAlone,
    run: (sql, ...params) => ask<Record<string, Value>>(sql, params),
    transaction,
    async attempt(work) {
      await ask('savepoint one');
      try {
        await work();
        await ask('release one');
        return true;
      } catch (error) {
        await ask('rollback to one');
        if (error instanceof UniqueViolation || error instanceof ForeignKeyViolation) return false;
        throw error;
      }
    },
    rowsAfter(table, after, rows) {
      const names = keyNames(table);
      const values = after
        ? keyColumns(table).map(({ isInteger }, place) => `$${place + 2}::${isInteger ? 'bigint' : 'text'}`)
        : [];
      const behind = after ? ` where (${names}) > (${values})` : '';
      return ask<Row>(`${select(table)}${behind} order by ${names} limit $1`, [rows, ...(after ?? [])], 'array');
    },
    rowsOf: (table, keys) =>
      ask<Row>(`${select(table)} where ${isOneOf(table)}`, columnsOf(keys, table.key.length), 'array'),
    insert: async (table, rows) => void (await write(table, rows)),
    async upsert(table, rows) {
      const keys = keyNames(table);
      const others = columnNames(table).filter((name) => !keys.includes(name));
      const set = others.map((name) => `${name} = excluded.${name}`);
      await write(table, rows, `on conflict (${keys}) do ${set.length > 0 ? `update set ${set}` : 'nothing'}`);
    },
    remove: async (table, keys) =>
      void (await ask(`delete from ${table.name} where ${isOneOf(table)}`, columnsOf(keys, table.key.length))),
    async park(table, key: Key) {
      if (table.unique.length === 0) return;
      const set = table.unique.map((name) => `${name} = gen_random_uuid()::text`);
      await ask(`update ${table.name} set ${set} where ${isOneOf(table)}`, columnsOf([key], table.key.length));
    },
    async count({ name }) {
      const [found] = await ask<{ rows: number }>(`select count(*) as rows from ${name}`);
      return found?.rows ?? 0;
    },
    async sum(table) {
      const text = columnNames(table)
        .map((name) => `coalesce(${name}::text, chr(1)) || chr(31)`)
        .join(' || ');
      const digest = `substr(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), 1, ${digestDigits})`;
      const [found] = await ask<{ rows: number; sum: string }>(
        `select count(*) as rows, coalesce(sum(('x' || ${digest})::bit(${digestDigits * 4})::bigint), 0)::text as sum
           from ${table.name}`,
      );
      return { rows: found?.rows ?? 0, sum: BigInt(found?.sum ?? 0) };
    },
    async track(tables) {
      for (const table of tables) await patiently(postgresTriggers(table));
    },
    holdChanges: async () => void (await ask('lock table store_move_changes in access exclusive mode')),
    indexes: () =>
      ask<{ name: string; sql: string }>(
        `select c.relname as name, pg_get_indexdef(c.oid) as sql
           from pg_class c join pg_index i on i.indexrelid = c.oid join pg_namespace n on n.oid = c.relnamespace
          where not i.indisunique and n.nspname = current_schema()`,
      ),
    analyze: async () => void (await ask('analyze')),
    async isEmpty() {
      const tables = await ask<{ name: string }>(
        `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname = current_schema()`,
      );
      return tables.every(({ name }) => name in moveTables);
    },
    close: () => client.end(),
  };
}

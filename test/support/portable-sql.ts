import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Change, mustChange } from '../../src/platform/db/change.ts';
import { openPostgres } from '../../src/platform/db/postgres.ts';
import type { Lane } from '../../src/platform/db/postgres-lane.ts';
import { createAbandoned } from '../../src/platform/db/postgres-lanes.ts';
import { createServers } from '../../src/platform/db/postgres-servers.ts';
import { sql } from '../../src/platform/db/sql.ts';
import { type Construct, constructsIn, parse, tableOf } from './sql-constructs.ts';
import { type Table, tablesOf } from './sql-keys.ts';

/**
 * What PostgreSQL, Citus, YugabyteDB and CockroachDB all accept, wherever it stands. Whatever else a statement has is an
 * exception, which docs/scaling.md lists with what becomes of it there.
 */
const portable = new Set([
  // Definitions
  ...['create table', 'column text', 'column int8', 'primary key', 'unique', 'not null', 'default', 'drop index'],
  ...['create index', 'create unique index', 'partial index', 'index on an expression', 'alter table … add column'],
  ...['foreign key', 'on delete cascade', 'on delete set null'],
  // Statements
  ...['select', 'values', 'insert', 'insert … select', 'update', 'delete', 'returning', 'union all', 'begin', 'commit'],
  ...['order by', 'limit', 'offset', 'group by', 'inner join', 'left join', 'with', 'with a change'],
  ...['exists (select)', 'in (select)', 'scalar subquery', 'on conflict do nothing', 'on conflict do update'],
  ...['on conflict do update … where', 'on conflict of a partial index'],
  // Expressions. A division by zero is an error everywhere; no other quotient is used (CockroachDB's is a decimal).
  ...['and', 'or', 'not', 'case', 'is null', 'coalesce()', 'is distinct from =', 'in =', 'row value'],
  ...['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '||', 'like ~~'],
  ...['count()', 'min()', 'max()', 'sum()', 'string_agg()', 'replace()', 'rtrim()', 'max() over', 'row_number() over'],
  ...['cast to int8', 'cast to text'],
  ...['cast to int4', 'extract()', 'substr()', 'unnest()', 'function in from'],
]);

const root = join(import.meta.dirname, '../..');

/** The scripts of all migrations, in order, as PostgreSQL gets them. */
export function postgresMigrations(): string[] {
  const folder = join(root, 'src/platform/db/migrations');
  return readdirSync(folder)
    .toSorted()
    .map((file) => readFileSync(join(folder, file), 'utf8').replaceAll(/\/\* postgres: (.*?) \*\//g, '$1'));
}

/** The rows of the table below a heading of docs/scaling.md: what stands as code in each cell, or else its text. */
export function tableBelow(heading: string): string[][][] {
  const [, section = ''] = readFileSync(join(root, 'docs/scaling.md'), 'utf8').split(`\n${heading}\n`);
  const [, , ...rows] = section
    .split(/\n#/)[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => {
        const code = [...cell.matchAll(/`([^`]+)`/g)].map(([, text]) => text!);
        return code.length > 0 ? code : [cell.trim()];
      }),
  );
}

/** Few rows, which every node of Citus would have a copy of; the clients, to which so much belongs, among them. */
const replicated = new Set([
  ...['master_key_check', 'signing_keys', 'retired_signing_keys', 'service_credentials', 'service_secrets', 'webhooks'],
  ...['clients', 'client_secrets', 'remembered_suspensions', 'issuing_runs', 'server_heartbeat', 'audit_heads'],
  ...['grant_endings'],
]);

/** By which column Citus would distribute a table: its user, or else its own key. */
export function distributionOf({ name, columns, uniques }: Table): string | undefined {
  if (replicated.has(name)) return undefined;
  return columns.get('user_id')?.isNullable === false ? 'user_id' : uniques[0]![0];
}

/**
 * What stands in the way of running on each of these databases.
 * @param migrations as PostgreSQL gets them.
 * @param statements of the stores.
 * @param connection what the connections to PostgreSQL send besides.
 */
export function exceptionsIn(
  migrations: readonly string[],
  statements: readonly string[],
  connection: readonly string[],
): { exceptions: Map<string, string[]>; unused: string[] } {
  const found = [
    ...[...migrations, ...statements].flatMap((script) => constructsIn(script)),
    ...connection.flatMap((script) => constructsIn(script, 'connection')),
    ...keysOf(tablesOf(migrations)),
    ...migrations.flatMap(filledAtOnce),
  ];
  const exceptions = new Map<string, Set<string>>();
  for (const { construct, where } of found) {
    if (!portable.has(construct)) exceptions.set(construct, (exceptions.get(construct) ?? new Set()).add(where));
  }
  const used = new Set(found.map(({ construct }) => construct));
  return {
    exceptions: new Map([...exceptions].map(([construct, places]) => [construct, [...places].toSorted()])),
    unused: [...portable].filter((construct) => !used.has(construct)),
  };
}

/** Citus checks a key on one node, so it must contain the distribution column; and a foreign key along that column. */
const keysOf = (tables: ReadonlyMap<string, Table>): Construct[] =>
  [...tables.values()].flatMap((table) => {
    const distribution = distributionOf(table);
    const uniques = table.uniques.filter((columns) => distribution !== undefined && !columns.includes(distribution));
    const foreignKeys = table.foreignKeys.filter(({ column, references }) => {
      const other = distributionOf(tables.get(references)!);
      return other !== undefined && !(distribution === 'user_id' && column === 'user_id' && other === 'user_id');
    });
    return [
      ...uniques.map((columns) => ({
        construct: 'a key without the distribution column',
        where: `${table.name} (${columns.join(', ')})`,
      })),
      ...foreignKeys.map(({ column }) => ({
        construct: 'a foreign key to rows of other nodes',
        where: `${table.name}.${column}`,
      })),
    ];
  });

/** CockroachDB does not let a transaction use a column that it has added. */
function filledAtOnce(migration: string): Construct[] {
  const statements = parse(migration);
  const extended = new Set(statements.filter(({ AlterTableStmt }) => AlterTableStmt).map(tableOf));
  const filled = statements.filter((statement) => statement.UpdateStmt && extended.has(tableOf(statement)));
  return filled.map((statement) => ({ construct: 'a column added and filled at once', where: tableOf(statement) }));
}

/** Every statement that connections to PostgreSQL send of their own accord, as the server gets it. */
export async function connectionStatements(url: string): Promise<string[]> {
  const sent = new Set<string>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given;
    sent.add(typeof first === 'string' ? first : (first as { text: string }).text);
    return Reflect.apply(query, this, given);
  } as typeof query;
  try {
    const db = openPostgres(url, { mayLoseCommits: true });
    await db.isRunning('none');
    await db.exclusively(async () => undefined);
    const refused: Change<Record<never, never>, { nothing: ReturnType<typeof mustChange> }> = {
      lock: sql`select 1 as one`,
      run: { nothing: mustChange(sql`update server_heartbeat set at = at where 1 = 0`) },
    };
    await db.change(refused);
    await db.close();
    const abandoned = createAbandoned(createServers(url));
    await new Promise<void>((gone) => abandoned.add({ backend: { pid: 0, started_at: 0 } } as Lane, gone));
    await abandoned.close();
  } finally {
    pg.Client.prototype.query = query;
  }
  return [...sent];
}

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { databaseFile } from '../../src/platform/db/open.ts';
import { allTables, type TableName } from '../../src/platform/db/tables.ts';
import { openVault } from '../../src/platform/vault.ts';
import type { FreshStore } from './databases.ts';
import { asAdmin } from './postgres-admin.ts';
import { masterKey } from './store-template.ts';

type Value = string | number | null;
type Row = Record<string, Value>;

const names = allTables.map(([name]) => name);

/** Texts that a copy could spoil. */
const odd = ['', "'", '"', '\\', '{a,b}', 'NULL', 'Zoë 👋 \u00e9 e\u0301', '\t\n', 'z'.repeat(3_000), ' x '];

/** What keeps the store one that opens: events without a place, restores that are over, processes that are lost. */
const fixed: Partial<Record<TableName, Row>> = {
  audit_log: { seq: null, seal: null },
  restores: { restored_at: 1 },
  issuing_runs: { lost_at: 1 },
};

const vault = openVault(masterKey);

/** Puts so many rows into every table of a SQLite store. They refer to each other, and mean nothing. @param from the number of the first. */
export function fillEveryTable(path: string, from: number, rows: number): void {
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  db.exec('begin immediate');
  for (const [name, { key }] of allTables) {
    const parents = db.prepare(`select "from", "table" as parent from pragma_foreign_key_list('${name}')`).all();
    const columns = db.prepare(`select name, type, "notnull" as required from pragma_table_info('${name}')`).all();
    for (let number = from; number < from + rows; number += 1) {
      const row = columns.map((column): Value => {
        const [column_name, isText] = [String(column.name), /text/i.test(String(column.type))];
        const given = fixed[name]?.[column_name];
        if (given !== undefined) return given;
        const parent = parents.find((one) => one.from === column_name);
        if (parent) return `${parent.parent}-${number}`;
        if (!isText) return column.required || number % 3 > 0 ? number : null;
        // The first column of the key is what others refer to.
        if (column_name === key.split(', ')[0]) return `${name}-${number}`;
        if (!column.required && number % 4 === 0) return null;
        return `${column_name} ${number} ${odd[number % odd.length]}`;
      });
      db.prepare(`insert into ${name} values (${row.map(() => '?').join(', ')})`).run(...row);
    }
  }
  const seal = db.prepare('update retired_master_keys set sealed = ? where key_id = ?');
  for (let number = from; number < from + rows; number += 1) {
    const key_id = `retired_master_keys-${number}`;
    seal.run(vault.seal(`retired-master-key:${key_id}`, JSON.stringify({ macs: {}, auditSeq: 0 })), key_id);
  }
  db.exec('commit');
  db.close();
}

/** Every row of every table, of all parts of the store, sorted by its JSON. */
export async function everyRow({ url, dataDir }: FreshStore): Promise<Record<string, string[]>> {
  const lines = (rows: Row[]) => rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
  if (url !== undefined) {
    return asAdmin(url, async (client) => {
      client.setTypeParser(pg.types.builtins.INT8, Number as (text: string) => number);
      const { rows: schemas } = await client.query<{ name: string }>(
        `select schemaname as name from pg_tables where tablename = 'users'`,
      );
      const found: Record<string, string[]> = {};
      for (const name of names) {
        const selections = schemas.map((schema) => `select * from ${schema.name}.${name}`);
        found[name] = lines((await client.query<Row>(selections.join(' union all '))).rows);
      }
      return found;
    });
  }
  const db = new DatabaseSync(join(dataDir, databaseFile), { readOnly: true });
  const read = (name: string) => lines(db.prepare(`select * from ${name}`).all() as Row[]);
  const found = Object.fromEntries(names.map((name) => [name, read(name)]));
  db.close();
  return found;
}

/** The names of all indexes but those of keys. */
export async function everyIndex({ url, dataDir }: FreshStore): Promise<string[]> {
  if (url !== undefined) {
    const query = `select indexname as name from pg_indexes where schemaname = 'public' and indexname not like 'store_move%' order by 1`;
    return asAdmin(url, async (client) => (await client.query<{ name: string }>(query)).rows.map(({ name }) => name));
  }
  const db = new DatabaseSync(join(dataDir, databaseFile), { readOnly: true });
  const found = db.prepare(`select name from sqlite_master where type = 'index' and sql is not null order by 1`).all();
  db.close();
  return found.map(({ name }) => String(name));
}

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { migrate } from '../migrate.ts';
import { databaseFile, openDb } from '../open.ts';
import { allTables } from '../tables.ts';
import type { MovedTable } from './ends.ts';

/** {@link planOf} where neither store is SQLite: of an empty one. */
export async function planOfMigrations(): Promise<MovedTable[]> {
  const dataDir = await mkdtemp(join(tmpdir(), 'signet-move-'));
  try {
    const db = await openDb({ dataDir, databaseUrl: undefined });
    await migrate(db, 0).finally(db.close);
    return planOf(join(dataDir, databaseFile));
  } finally {
    await rm(dataDir, { recursive: true });
  }
}

/**
 * Every table of Signet, each after those that its rows refer to. Read from SQLite, which one of the two stores is; the
 * migrations make the same tables on both engines.
 */
export function planOf(path: string): MovedTable[] {
  const connection = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    const all = (sql: string) => connection.prepare(sql).all() as Record<string, string | number | null>[];
    const found = allTables.map(([name, { key }]) => {
      const foreign = all(`select * from pragma_foreign_key_list('${name}')`);
      const columns = all(`select name, type from pragma_table_info('${name}')`).map((column) => ({
        name: String(column.name),
        isInteger: column.type !== 'TEXT' && column.type !== 'text',
      }));
      const keys = key.split(', ');
      const compared = all(
        `select distinct c.name from pragma_index_list('${name}') as i, pragma_index_info(i.name) as c
          where i."unique" = 1 and i.origin <> 'pk' and c.name is not null`,
      ).map((column) => String(column.name));
      const table: MovedTable = {
        name,
        columns,
        key: keys.map((one) => columns.findIndex((column) => column.name === one)),
        unique: compared.filter(
          (one) =>
            !keys.includes(one) &&
            foreign.every(({ from }) => from !== one) &&
            columns.some((column) => column.name === one && !column.isInteger),
        ),
      };
      return { table, parents: foreign.map((one) => String(one.table)).filter((parent) => parent !== name) };
    });
    const ordered: MovedTable[] = [];
    for (let left = found; left.length > 0; ) {
      const names = new Set(left.map(({ table }) => table.name));
      const next = left.filter(({ parents }) => parents.every((parent) => !names.has(parent)));
      if (next.length === 0) throw new TypeError('tables refer to each other in a circle');
      ordered.push(...next.map(({ table }) => table));
      left = left.filter((one) => !next.includes(one));
    }
    return ordered;
  } finally {
    connection.close();
  }
}

import type { OneDb } from '../../src/platform/db/db.ts';
import { plain } from './plain-sql.ts';

/**
 * Tables with their columns, constraints and indexes, in words of the engine.
 * @param schema of PostgreSQL, which is left out of what is said, so that those of two cells can be compared.
 */
export async function schemaOf(db: OneDb, schema = 'public'): Promise<string[]> {
  const rows = await plain(db).all<{ said: string }>(
    db.engine === 'sqlite'
      ? 'select sql as said from sqlite_master where sql is not null'
      : `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '')
           || ' ' || coalesce(collation_name, '') as said from information_schema.columns where table_schema = '${schema}'
         union all select indexdef from pg_indexes where schemaname = '${schema}'
         union all select conrelid::regclass || ' ' || pg_get_constraintdef(oid) from pg_constraint
                    where connamespace = '${schema}'::regnamespace`,
  );
  return rows.map(({ said }) => said.replaceAll(/\s+/g, ' ').replaceAll(`${schema}.`, '')).toSorted();
}

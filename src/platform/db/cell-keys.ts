import type { MigrationSession } from './engine.ts';
import { type Place, type TableName, tables } from './tables.ts';

type ForeignKey = { name: string; table: string; of: string };

const isShared = (table: string): boolean => {
  const place: Place | undefined = tables[table as TableName]?.place;
  return place === 'shared' || place === 'home';
};

/**
 * Drops the foreign keys of the tables that the session finds by their names, where what they lead to is in another part: the row that
 * is looked for would never be there. What deletes such a row deletes what belongs to it by itself.
 */
export async function dropKeysBetweenParts(session: MigrationSession): Promise<void> {
  const keys = await session.all<ForeignKey>(
    `select c.conname as name, t.relname as table, o.relname as of
       from pg_constraint c join pg_class t on t.oid = c.conrelid join pg_class o on o.oid = c.confrelid
      where c.contype = 'f' and c.connamespace = current_schema()::regnamespace`,
  );
  for (const { name, table, of } of keys) {
    if (isShared(table) !== isShared(of)) await session.exec(`alter table ${table} drop constraint ${name}`);
  }
}

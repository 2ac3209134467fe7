import type { Db } from '../platform/db/db.ts';
import { askOfEach } from '../platform/db/parts.ts';
import { integer, row, text } from '../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { digest } from '../platform/ids.ts';

const Imported = row('imported_records', { import_key: text, imported_at: integer });

/** By what an import knows a record again. @param source where the file comes from. */
export const recordKey = (source: string, kind: string, id: string): string => digest(`${source}\n${kind}\n${id}`);

/** Conflicts with a record that was imported before. */
export const noteImported = (import_key: string, imported_at: number): Sql =>
  sql`insert into imported_records ${Imported.values({ import_key, imported_at })}`;

export async function importedAmong(db: Db, keys: readonly string[]): Promise<Set<string>> {
  const Key = Imported.pick('import_key');
  const rows = await askOfEach(db, keys, (part, some) =>
    part.all(Key, sql`select import_key from imported_records where import_key in ${oneOf(some)}`),
  );
  return new Set(rows.map(({ import_key }) => import_key));
}

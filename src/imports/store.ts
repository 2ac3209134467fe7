import type { Db } from '../platform/db/db.ts';
import { askOfEach } from '../platform/db/parts.ts';
import { id, integer, row, text } from '../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';
import { digest, type UserId } from '../platform/ids.ts';
import { clearCounter } from '../platform/limits/failure-limits.ts';

const Imported = row('imported_users', { import_key: text, user_id: id<UserId>(), imported_at: integer });

/** By what an import knows a user again. */
export const importKey = (source: string, external_id: string): string => digest(`${source}\n${external_id}`);

/** Conflicts with a user who was imported before. */
export const insertImported = (import_key: string, user_id: UserId, imported_at: number): Sql =>
  sql`insert into imported_users ${Imported.values({ import_key, user_id, imported_at })}`;

export const findImported = (db: Db, keys: readonly string[]) =>
  askOfEach(db, keys, (part, some) =>
    part.all(Imported, sql`select ${Imported.columns} from imported_users where import_key in ${oneOf(some)}`),
  );

/** Changes no row of any part, so a change that must have an effect here has none: everything before it was tried, and is undone. */
export const undoEverything: Sql = clearCounter('');

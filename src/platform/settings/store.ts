import type { Db } from '../db/db.ts';
import { exportedTable } from '../db/exported-table.ts';
import { integer, nullable, type RowOf, row, text } from '../db/rows.ts';
import { type Sql, sql } from '../db/sql.ts';

const StoredSetting = row('settings', { name: text, value: nullable(text), revision: integer, changed_at: integer });
/** `value`: as it would be in the environment; null: the default. */
export type StoredSetting = RowOf<typeof StoredSetting>;

/** A few rows. */
export const readStoredSettings = (db: Db) =>
  db.shared.all(StoredSetting, sql`select ${StoredSetting.columns} from settings order by name`);

/** Changes nothing if it was changed since the revision before this one. */
export const keepSetting = (setting: StoredSetting): Sql =>
  sql`insert into settings ${StoredSetting.values(setting)}
      on conflict (name) do update set value = excluded.value, revision = excluded.revision, changed_at = excluded.changed_at
      where settings.revision = ${setting.revision - 1}`;

/** One that is at its default again is as one that was never changed. */
export const exportedSettings = exportedTable('settings', {
  row: row('settings', { name: text, value: text, changed_at: integer }),
  where: sql`value is not null`,
  write: ({ name, value, changed_at }) =>
    sql`insert into settings ${StoredSetting.values({ name, value, revision: 2, changed_at })}
        on conflict (name) do update
           set value = excluded.value, revision = settings.revision + 1, changed_at = excluded.changed_at
         where settings.value is null`,
});

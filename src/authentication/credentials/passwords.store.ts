import type { Db } from '../../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { type Sql, sql } from '../../platform/db/sql.ts';
import { newId, type UserId } from '../../platform/ids.ts';

const PasswordRow = row('passwords', {
  user_id: id<UserId>(),
  /** In one of the formats of password-formats.ts. */
  password_hash: text,
  changed_at: integer,
  /** New with each password that is set; the same if the password is only rehashed. */
  version: text,
  /** What was required of its length when it was set. Null: unknown. */
  min_characters: nullable(integer),
});
type PasswordRow = RowOf<typeof PasswordRow>;

export const passwordOf = (db: Db, user_id: UserId): Promise<PasswordRow | undefined> =>
  db.of(user_id).get(PasswordRow, sql`select ${PasswordRow.columns} from passwords where user_id = ${user_id}`);

/** It was neither changed nor removed since it was read. @param version as it was read. */
export const passwordUnchanged = (user_id: UserId, version: string): Sql =>
  sql`exists (select 1 from passwords where user_id = ${user_id} and version = ${version})`;

export type NewPassword = { password_hash: string; min_characters: number | null };

export const setPassword = (user_id: UserId, password: NewPassword, at: number): Sql =>
  sql`insert into passwords
      ${PasswordRow.values({ user_id, ...password, changed_at: at, version: newId('pwv') })}
      on conflict (user_id) do update set password_hash = excluded.password_hash, changed_at = excluded.changed_at,
        version = excluded.version, min_characters = excluded.min_characters`;

/**
 * The same password, hashed with today's parameters, unless it was changed since: a slow sign-in must not restore the old
 * one. `changed_at` and `version` remain, since the password is the same.
 */
export const replaceHash = (user_id: UserId, change: { from: string; to: string }): Sql =>
  sql`update passwords set password_hash = ${change.to} where user_id = ${user_id} and password_hash = ${change.from}`;

export const removePassword = (user_id: UserId): Sql => sql`delete from passwords where user_id = ${user_id}`;

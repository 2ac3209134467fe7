import type { Condition } from '../../audit/store.ts';
import type { Db, Statement } from '../../platform/db/db.ts';
import { newId } from '../../platform/ids.ts';

type PasswordRow = {
  user_id: string;
  /** A PHC string; see password-hash.ts. */
  password_hash: string;
  /** Unix seconds. */
  changed_at: number;
  /** Another one for each password that is set; the same when it is only hashed anew. */
  version: string;
};

/** @returns nothing for a user who signs in by other means alone. */
export const passwordOf = (db: Db, user_id: string): Promise<PasswordRow | undefined> =>
  db.get<PasswordRow>('select user_id, password_hash, changed_at, version from passwords where user_id = $1', [
    user_id,
  ]);

/** Nobody has changed or removed it since it was read. @param version as it was read. */
export const passwordUnchanged = (user_id: string, version: string): Condition => ({
  sql: 'exists (select 1 from passwords where user_id = $1 and version = $2)',
  params: [user_id, version],
});

/**
 * Sets the first password or replaces the present one. A statement, to commit together with what has to go with it.
 * @param at Unix seconds.
 */
export const setPassword = (user_id: string, password_hash: string, at: number): Statement => ({
  sql: `insert into passwords (user_id, password_hash, changed_at, version) values ($1, $2, $3, $4)
        on conflict (user_id) do update set password_hash = excluded.password_hash, changed_at = excluded.changed_at,
          version = excluded.version`,
  params: [user_id, password_hash, at, newId('pwv')],
});

/**
 * The same password under today's parameters. Only while the old hash is still there: a sign-in that is slow to end
 * must not bring back a password that was changed meanwhile. `changed_at` and
 * `version` stay, since the password did.
 */
export const replaceHash = (user_id: string, change: { from: string; to: string }): Statement => ({
  sql: 'update passwords set password_hash = $3 where user_id = $1 and password_hash = $2',
  params: [user_id, change.from, change.to],
});

/** Takes the password away; the user signs in by other means from now on. */
export const removePassword = (user_id: string): Statement => ({
  sql: 'delete from passwords where user_id = $1',
  params: [user_id],
});

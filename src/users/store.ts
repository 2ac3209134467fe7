import type { Db, Statement } from '../db/db.ts';
import { emailKey, type Role, type User } from './user.ts';

const columns = 'user_id, email, email_verified_at, name, picture, role, locale, disabled_at, created_at, updated_at';

export type NewUser = Pick<User, 'user_id' | 'email' | 'name' | 'role'> & { email_verified_at: number | null };

/** Fails on a taken address: `email_key` is unique. */
export const insertUser = (user: NewUser, now: number): Statement => ({
  sql: `insert into users (user_id, email, email_key, email_verified_at, name, role, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $7)`,
  params: [user.user_id, user.email.trim(), emailKey(user.email), user.email_verified_at, user.name, user.role, now],
});

export const findUser = (db: Db, user_id: string) =>
  db.get<User>(`select ${columns} from users where user_id = $1`, [user_id]);

export const findUserByEmail = (db: Db, email: string) =>
  db.get<User>(`select ${columns} from users where email_key = $1`, [emailKey(email)]);

/** Newest last. */
export const listUsers = (db: Db) => db.all<User>(`select ${columns} from users order by created_at, user_id`);

export async function hasAdministrator(db: Db): Promise<boolean> {
  const role: Role = 'admin';
  const row = await db.get(`select 1 as one from users where role = $1 and disabled_at is null limit 1`, [role]);
  return row !== undefined;
}

/** No row: the user is unknown, or is so already. */
export const setDisabled = (user_id: string, disabled: boolean, now: number): Statement =>
  disabled
    ? {
        sql: 'update users set disabled_at = $2, updated_at = $2 where user_id = $1 and disabled_at is null',
        params: [user_id, now],
      }
    : {
        sql: 'update users set disabled_at = null, updated_at = $2 where user_id = $1 and disabled_at is not null',
        params: [user_id, now],
      };

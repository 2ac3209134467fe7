import type { Condition } from '../audit/store.ts';
import type { Db, Statement } from '../platform/db/db.ts';
import { atMostOneSlice } from '../platform/db/slices.ts';
import { escapeLike } from '../platform/db/sql.ts';
import { emailKey } from '../platform/email-address.ts';
import type { Role, User } from './user.ts';

const columns = 'user_id, email, email_verified_at, name, picture, role, locale, disabled_at, created_at, updated_at';

type NewUser = Pick<User, 'user_id' | 'email' | 'name' | 'role' | 'email_verified_at'> & {
  picture?: string | null;
  locale?: string | null;
};

/** Fails on a taken address: `email_key` is unique. */
export const insertUser = (user: NewUser, now: number): Statement => ({
  sql: `insert into users (user_id, email, email_key, email_verified_at, name, role, picture, locale, created_at, updated_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
  params: [
    user.user_id,
    user.email.trim(),
    emailKey(user.email),
    user.email_verified_at,
    user.name,
    user.role,
    user.picture ?? null,
    user.locale ?? null,
    now,
  ],
});

/** Changes nothing; on PostgreSQL a batch that begins with it waits for others of the same person. */
export const lockUser = (user_id: string): Statement => ({
  sql: 'update users set updated_at = updated_at where user_id = $1',
  params: [user_id],
});

export const findUser = (db: Db, user_id: string) =>
  db.get<User>(`select ${columns} from users where user_id = $1 and deleted_at is null`, [user_id]);

export const findUserByEmail = (db: Db, email: string) =>
  db.get<User>(`select ${columns} from users where email_key = $1`, [emailKey(email)]);

/** Newest last. */
export const listUsers = (db: Db) =>
  db.all<User>(`select ${columns} from users where deleted_at is null order by created_at, user_id`);

export async function hasAdministrator(db: Db): Promise<boolean> {
  const role: Role = 'admin';
  const row = await db.get(`select 1 as one from users where role = $1 and disabled_at is null limit 1`, [role]);
  return row !== undefined;
}

/** Nobody may sign in as an administrator. */
export const noAdministrator: Condition = {
  sql: `not exists (select 1 from users where role = 'admin' and disabled_at is null)`,
  params: [],
};

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

/** An account has this address. */
export const isEmailTaken = (email: string): Condition => ({
  sql: 'exists (select 1 from users where email_key = $1)',
  params: [emailKey(email)],
});

/** Their address is still this one, and they may sign in. */
export const isReachableAt = (user_id: string, email: string): Condition => ({
  sql: 'exists (select 1 from users where user_id = $1 and email_key = $2 and disabled_at is null)',
  params: [user_id, emailKey(email)],
});

/** What a link to that very address has proved. */
export const markEmailVerified = (user_id: string, email: string, now: number): Statement => ({
  sql: `update users set email_verified_at = $3, updated_at = $3
         where user_id = $1 and email_key = $2 and email_verified_at is null`,
  params: [user_id, emailKey(email), now],
});

/** To an address that was proved. Fails on one that is taken: `email_key` is unique. */
export const replaceEmail = (user_id: string, change: { from: string; to: string }, now: number): Statement => ({
  sql: `update users set email = $3, email_key = $4, email_verified_at = $5, updated_at = $5
         where user_id = $1 and email_key = $2`,
  params: [user_id, emailKey(change.from), change.to.trim(), emailKey(change.to), now],
});

/** What ends many grants of a user at once covers those of earlier epochs. */
export const raiseGrantsEpochOfUser = (user_id: string): Statement => ({
  sql: 'update users set grants_epoch = grants_epoch + 1 where user_id = $1',
  params: [user_id],
});

/** Of which a person may have any number of rows. */
const unboundedTables = ['grants', 'sessions', 'consents', 'entitlements', 'entitlement_versions'];
const fitsOneSlice = unboundedTables.map((table) => atMostOneSlice(table, 'user_id')).join(' and ');

/**
 * With everything that hangs on it: sessions, grants, factors. If that is more than one statement may delete, the row
 * stays for a while, without personal data, its address free and the user disabled, and a job deletes what hangs on it.
 */
export const deleteUser = (user_id: string, now: number): Statement[] => [
  { sql: `delete from users where user_id = $1 and ${fitsOneSlice}`, params: [user_id] },
  {
    sql: `update users set email = '', email_key = 'deleted:' || user_id, email_verified_at = null, name = null,
                 picture = null, locale = null, role = 'user', role_granted_by = null, disabled_at = $2, deleted_at = $2,
                 updated_at = $2
           where user_id = $1`,
    params: [user_id, now],
  },
];

/** People whose rows are still to be deleted. */
export const deletedUsers = (db: Db) =>
  db.all<{ user_id: string }>('select user_id from users where deleted_at is not null order by deleted_at limit 1000');

/** The last row of one, unless another node has left more than one statement may delete. */
export const deleteDeletedUser = (db: Db, user_id: string) =>
  db.run(`delete from users where user_id = $1 and deleted_at is not null and ${fitsOneSlice}`, [user_id]);

/** Lets batches that take an administrator away wait for each other, so that each sees what the other has left. */
export const lockAdministrators = (): Statement => ({
  sql: `update users set role = role where role = 'admin'`,
});

export const setName = (user_id: string, name: string, now: number): Statement => ({
  sql: 'update users set name = $2, updated_at = $3 where user_id = $1',
  params: [user_id, name, now],
});

/** @param picture an https URL. null: none. */
export const setPicture = (user_id: string, picture: string | null, now: number): Statement => ({
  sql: 'update users set picture = $2, updated_at = $3 where user_id = $1',
  params: [user_id, picture, now],
});

/** @param locale null: whatever the browser asks for. */
export const setLocale = (user_id: string, locale: string | null, now: number): Statement => ({
  sql: 'update users set locale = $2, updated_at = $3 where user_id = $1',
  params: [user_id, locale, now],
});

/** They are no administrator, or not the only one who may sign in. */
export const isNotLastAdministrator = (user_id: string): Condition => ({
  sql: `not exists (select 1 from users where user_id = $1 and role = 'admin')
        or exists (select 1 from users where user_id <> $1 and role = 'admin' and disabled_at is null)`,
  params: [user_id],
});

/** Asks beforehand what a batch will ask again: for a page that offers only what would work. */
export const holds = async (db: Db, { sql, params }: Condition): Promise<boolean> =>
  (await db.get(`select 1 as one where ${sql}`, params)) !== undefined;

/** Takes effect with the next request of each of their sessions, since those read it from here. @param by the actor. */
export const setRole = (user_id: string, role: Role, by: string, now: number): Statement => ({
  sql: `update users set role = $2, updated_at = $3, role_granted_by = $4, role_granted_at = $3 where user_id = $1`,
  params: [user_id, role, now, by],
});

/** Who gave them the role that they have, administrator or not, and when; nulls for one that they always had. */
export const findRoleGrant = (db: Db, user_id: string) =>
  db.get<{ role: Role; role_granted_by: string | null; role_granted_at: number | null }>(
    'select role, role_granted_by, role_granted_at from users where user_id = $1 and deleted_at is null',
    [user_id],
  );

/** Who may sign in as one now. */
export const listAdministrators = (db: Db) =>
  db.all<User>(
    `select ${columns} from users where role = 'admin' and disabled_at is null order by created_at, user_id`,
  );

/** They still have that role. */
export const hasRole = (user_id: string, role: Role): Condition => ({
  sql: 'exists (select 1 from users where user_id = $1 and role = $2)',
  params: [user_id, role],
});

/** They are still disabled, or still not. */
export const isDisabled = (user_id: string, disabled: boolean): Condition => ({
  sql: `exists (select 1 from users where user_id = $1 and disabled_at is ${disabled ? 'not null' : 'null'})`,
  params: [user_id],
});

type UserSearch = {
  /** The beginning of an e-mail address, a part of the name, or an id; empty for everybody. */
  query: string;
  /** Where the page before ended. */
  after: { created_at: number; user_id: string } | undefined;
  limit: number;
};

/** Newest first. Letters beyond ASCII are found in the case in which they were written: the engines fold no others. */
export const searchUsers = (db: Db, { query, after, limit }: UserSearch) =>
  db.all<User>(
    `select ${columns} from users
      where deleted_at is null
        and ($1 = '' or user_id = $1 or email_key like $2 escape '!' or lower(name) like $3 escape '!'
             or name like $6 escape '!')
        and (created_at, user_id) < (cast($4 as bigint), $7)
      order by created_at desc, user_id desc limit $5`,
    [
      query,
      `${escapeLike(emailKey(query))}%`,
      `%${escapeLike(query.toLowerCase())}%`,
      after?.created_at ?? Number.MAX_SAFE_INTEGER,
      limit,
      `%${escapeLike(query)}%`,
      after?.user_id ?? '',
    ],
  );

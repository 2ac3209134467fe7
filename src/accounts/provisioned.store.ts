import type { Claim, Claimed, ClaimKind } from '../platform/claims.ts';
import { mayConflict } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { askAll, askOfEach, mergeAll, sumOfAll } from '../platform/db/parts.ts';
import { flag, id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { oneOf, raw, sql } from '../platform/db/sql.ts';
import type { Deps } from '../platform/deps.ts';
import { digest, type UserId } from '../platform/ids.ts';
import { findUser, oldestFirst, User } from './store.ts';

/** The table `scim_users`. */
const Provisioned = row('scim_users', {
  user_id: id<UserId>(),
  user_name: text,
  user_name_key: text,
  external_id: nullable(text),
  email_primary: flag,
  created_by: nullable(text),
  created_at: integer,
});
export type Provisioned = RowOf<typeof Provisioned>;

const ScimUserRow = row('users left join scim_users', {
  ...User.fields,
  user_name: nullable(text),
  external_id: nullable(text),
  email_primary: nullable(flag),
  created_by: nullable(text),
});
/** A user; `user_name` is null for one that no directory has changed yet. */
export type ScimUser = RowOf<typeof ScimUserRow>;

const users = sql`select ${User.columnsOf('u')}, s.user_name, s.external_id, s.email_primary, s.created_by
                    from users u left join scim_users s on s.user_id = u.user_id`;

/** @returns undefined also for one who is deleted. */
export const findScimUser = (db: Db, user_id: string) =>
  db.of(user_id).get(ScimUserRow, sql`${users} where u.user_id = ${user_id} and u.deleted_at is null`);

export const findScimUsers = async (db: Db, user_ids: readonly string[]): Promise<ScimUser[]> => {
  const found = await askOfEach(db, user_ids, (part, ids) =>
    part.all(
      ScimUserRow,
      sql`${users} where u.user_id in ${oneOf(ids)} and u.deleted_at is null order by u.created_at, u.user_id`,
    ),
  );
  return found.sort(oldestFirst);
};

/** The oldest first. */
export async function listScimUsers(db: Db, { offset, limit }: { offset: number; limit: number }): Promise<ScimUser[]> {
  const skipped = db.parts.length === 1 ? offset : 0; // else who is before it is known when the parts are together
  const rows = offset - skipped + limit;
  const list = sql`${users} where u.deleted_at is null order by u.created_at, u.user_id limit ${rows} offset ${skipped}`;
  return (await mergeAll(db, (part) => part.all(ScimUserRow, list), oldestFirst, rows)).slice(offset - skipped);
}

/** What a directory says of a user; undefined if none has said anything. */
export const findProvisioned = (db: Db, user_id: string) =>
  db.of(user_id).get(Provisioned, sql`select ${Provisioned.columns} from scim_users where user_id = ${user_id}`);

const Count = row('users', { found: integer });

/** Up to `most`. */
export const countScimUsers = async (db: Db, most: number): Promise<number> => {
  const few = sql`select 1 as one from users where deleted_at is null limit ${raw(String(most))}`;
  const count = sql`select count(*) as found from (${few}) as few`;
  return Math.min(await sumOfAll(db, async (part) => (await part.get(Count, count))?.found ?? 0), most);
};

const Id = row('scim_users', { user_id: id<UserId>() });

export const idByUserName = ({ db, claims }: Pick<Deps, 'db' | 'claims'>, key: string) =>
  claims.find(claimOfUserName(db, key), (part) =>
    part.get(Id, sql`select user_id from scim_users where user_name_key = ${key}`),
  );

/** It is one user's in all parts of the store. @param key of a user name. */
export const claimOfUserName = (db: Db, key: string): Claim => {
  const claim = `user_name:${digest(key)}`;
  return { part: db.of(claim), key: claim };
};

/** Of a user who has another name from now on. @param from the keys of both; undefined: none. */
export const claimsOfUserNames = (db: Db, from: string | undefined, to: string | undefined): Claimed =>
  from === to
    ? {}
    : {
        taken: to === undefined ? [] : [claimOfUserName(db, to)],
        givenUp: from === undefined ? [] : [claimOfUserName(db, from)],
      };

/** See {@link openClaims}: of the digest of a key. */
export const userNameClaims = (db: Db): ClaimKind => ({
  isKept: true,
  isHeld: async (user_id, of) => {
    const [user, provisioned] = await Promise.all([findUser(db, user_id), findProvisioned(db, user_id)]);
    return user !== undefined && provisioned !== undefined && digest(provisioned.user_name_key) === of;
  },
});

/** It is the directory that keeps them apart. */
export const idsByExternalId = async (db: Db, external_id: string, limit: number) => {
  const ids = sql`select user_id from scim_users where external_id = ${external_id} limit ${limit}`;
  return (await askAll(db, (part) => part.all(Id, ids))).flat().slice(0, limit);
};

/** Conflicts with a name that is taken; of an account that is being deleted, the name is free. */
export const insertProvisioned = (one: Provisioned) => [
  sql`delete from scim_users where user_name_key = ${one.user_name_key}
         and exists (select 1 from users u where u.user_id = scim_users.user_id and u.deleted_at is not null)`,
  mayConflict(sql`insert into scim_users ${Provisioned.values(one)}`),
];

/** Conflicts with a name that is taken. */
export const updateProvisioned = (user_id: UserId, to: Partial<Provisioned>) =>
  mayConflict(sql`update scim_users set ${Provisioned.set(to)} where user_id = ${user_id}`);

export const exportedProvisioned = exportedTable('scim_users', {
  row: Provisioned,
  where: sql`exists (select 1 from users u where u.user_id = scim_users.user_id and u.deleted_at is null)`,
});

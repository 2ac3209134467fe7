import { mayConflict, mustChange, type Write } from '../platform/db/change.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { askOfEach, compareText, isInSome, mergeAll } from '../platform/db/parts.ts';
import { choice, id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { asBigint, asText, oneOf, raw, type Sql, sql } from '../platform/db/sql.ts';
import { rowsOfUserFitOneSlice } from '../platform/db/table-rows.ts';
import { emailKey, emailKeys, readableEmail } from '../platform/email-address.ts';
import type { UserId } from '../platform/ids.ts';
import { releaseHandle } from './handles.store.ts';
import { deletePicture } from './pictures.store.ts';
import { type Role, roles } from './roles.ts';
import { deleteTerms, insertTerms, replaceTerms, type SearchedField, searchedFields } from './terms.store.ts';

/** What users say about themselves (OIDC Core §5.1), beside `name`, `picture` and `locale`. */
const standardClaims = {
  given_name: nullable(text),
  middle_name: nullable(text),
  family_name: nullable(text),
  nickname: nullable(text),
  /** In lower case; unique through the table of handles. */
  preferred_username: nullable(text),
  profile: nullable(text),
  website: nullable(text),
  gender: nullable(text),
  birthdate: nullable(text),
  zoneinfo: nullable(text),
};
export type StandardClaim = keyof typeof standardClaims;
export const standardClaimNames = Object.keys(standardClaims) as readonly StandardClaim[];

/** An object with one member for each. */
export const perStandardClaim = <Value>(make: (claim: StandardClaim) => Value) =>
  Object.fromEntries(standardClaimNames.map((claim) => [claim, make(claim)])) as Record<StandardClaim, Value>;

/** Times are Unix seconds. */
export const User = row('users', {
  user_id: id<UserId>(),
  email: text,
  email_verified_at: nullable(integer),
  name: nullable(text),
  picture: nullable(text),
  role: choice(...roles),
  locale: nullable(text),
  ...standardClaims,
  disabled_at: nullable(integer),
  /** Values of the operator's own attributes, as the room `attributes` writes and reads them. */
  attributes: nullable(text),
  /** Null: never, as far as is known. */
  last_sign_in_at: nullable(integer),
  /** The user whose address is the same mailbox, spelled in another way. */
  same_mailbox_as: nullable(id<UserId>()),
  created_at: integer,
  updated_at: integer,
});
export type User = RowOf<typeof User>;

type Creation = Pick<User, 'created_at' | 'user_id'>;
/** For `sort`, of what is ordered by `created_at, user_id`. */
export const oldestFirst = (one: Creation, other: Creation): number =>
  one.created_at - other.created_at || compareText(one.user_id, other.user_id);

type NewUser = Pick<User, 'user_id' | 'email' | 'name' | 'role' | 'email_verified_at'> &
  Partial<
    Pick<User, 'picture' | 'locale' | 'attributes' | StandardClaim | 'created_at' | 'updated_at' | 'last_sign_in_at'>
  >;

const StoredUser = row('users', { ...User.fields, email_key: text, terms_of: integer, active_at: integer });

/** On a row of users. Until every key has been written anew, some have that of their spelling. */
export const isAddressed = (email: string): Sql => {
  const [key = '', ...older] = emailKeys(email);
  return older.length === 0 ? sql`email_key = ${key}` : sql`email_key in ${oneOf([key, ...older])}`;
};

/** Conflicts with a taken address: `email_key` is unique. A handle is taken in the same change. */
export const insertUser = (user: NewUser, now: number): readonly (Write<never, true> | Sql)[] => {
  const { user_id, email_verified_at, name, role, picture = null, locale = null } = user;
  const { attributes = null, created_at = now, updated_at = now, last_sign_in_at = null } = user;
  const email = readableEmail(user.email);
  const claims = perStandardClaim((claim) => user[claim] ?? null);
  const own = { email, email_verified_at, name, role, picture, locale, attributes, ...claims };
  const times = {
    created_at,
    updated_at,
    last_sign_in_at,
    terms_of: updated_at,
    active_at: last_sign_in_at ?? created_at,
  };
  const stored = { user_id, ...own, email_key: emailKey(user.email), ...times };
  return [mayConflict(sql`insert into users ${StoredUser.values(stored)}`), ...insertTerms(user_id, own)];
};

/** For `update … set`: the row has changed, and the terms by which it is found, if they were complete, still are. */
const touched = (now: number): Sql =>
  sql`updated_at = ${now}, terms_of = case when terms_of = updated_at then ${asBigint(now)} end`;

/** Changes nothing; on PostgreSQL a change that begins with it waits for others of the same user. */
export const lockUser = (user_id: UserId): Sql =>
  sql`update users set updated_at = updated_at where user_id = ${user_id}`;

/**
 * {@link lockUser} for the change that starts a session: the row that it locks says when.
 * @param hasSecondFactor a condition; see {@link noteSecondFactor}.
 */
export const recordSignIn = (user_id: UserId, hasSecondFactor: Sql, now: number): Sql =>
  sql`update users set last_sign_in_at = ${now}, active_at = ${now}, has_second_factor = ${asFlag(hasSecondFactor)}
       where user_id = ${user_id}`;

/** For the filter of the list of users, after a change of factors. @param hasSecondFactor a condition on what there is then. */
export const noteSecondFactor = (user_id: UserId, hasSecondFactor: Sql): Sql =>
  sql`update users set has_second_factor = ${asFlag(hasSecondFactor)} where user_id = ${user_id}`;

const asFlag = (condition: Sql): Sql => sql`case when ${condition} then 1 else 0 end`;

export const findUser = (db: Db, user_id: UserId) =>
  db.of(user_id).get(User, sql`select ${User.columns} from users where user_id = ${user_id} and deleted_at is null`);

/** In the words of its partial index. */
export const isActiveAdministrator = sql`role = 'admin' and disabled_at is null`;

/** A condition: the user is an administrator who is not disabled. */
export const isActiveAdministratorNow = (user_id: UserId): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and ${isActiveAdministrator})`;

export const noAdministrator: Sql = sql`not exists (select 1 from users where ${isActiveAdministrator})`;

const hasOne = async (part: Part): Promise<boolean> => !(await part.holds(noAdministrator));

export const hasAdministrator = (db: Db): Promise<boolean> => isInSome(db.parts, hasOne);

/** Whether there is one in another part than the one of a user. */
export const hasAdministratorElsewhere = (db: Db, user_id: UserId): Promise<boolean> =>
  isInSome(
    db.parts.filter((part) => part !== db.of(user_id)),
    hasOne,
  );

/** Changes no row if the user is unknown, or is so already. @param updated_at of an import. */
export const setDisabled = (user_id: UserId, disabled: boolean, now: number, updated_at = now): Sql =>
  disabled
    ? sql`update users set disabled_at = ${now}, ${touched(updated_at)}
           where user_id = ${user_id} and disabled_at is null`
    : sql`update users set disabled_at = null, ${touched(now)}
           where user_id = ${user_id} and disabled_at is not null`;

const Id = User.pick('user_id');

export const existingUsers = (db: Db, user_ids: readonly string[]) =>
  askOfEach(db, user_ids, (part, ids) => part.all(Id, sql`select user_id from users where user_id in ${oneOf(ids)}`));

/** Those of some users who are not deleted. */
export async function presentUsers(db: Db, user_ids: readonly string[]): Promise<Set<string>> {
  const rows = await askOfEach(db, user_ids, (part, ids) =>
    part.all(Id, sql`select user_id from users where user_id in ${oneOf(ids)} and deleted_at is null`),
  );
  return new Set(rows.map(({ user_id }) => user_id));
}

export const isEmailTaken = (email: string): Sql => sql`exists (select 1 from users where ${isAddressed(email)})`;

export const isEmailFree = (email: string): Sql => sql`not ${isEmailTaken(email)}`;

/** The user's address is still this one. */
export const hasEmail = (user_id: UserId, email: string): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and ${isAddressed(email)})`;

/** The user's address is still this one, and the user is not disabled. */
export const isReachableAt = (user_id: UserId, email: string): Sql =>
  sql`exists (select 1 from users
               where user_id = ${user_id} and ${isAddressed(email)} and disabled_at is null)`;

export const markEmailVerified = (user_id: UserId, email: string, now: number): Sql =>
  sql`update users set email_verified_at = ${now}, ${touched(now)}
       where user_id = ${user_id} and ${isAddressed(email)} and email_verified_at is null`;

/** The picture that the user shows has another id from now on. */
export const showRenamedPicture = (user_id: UserId, picture_id: string, to: string, now: number): Sql =>
  sql`update users set picture = replace(picture, ${picture_id}, ${to}), ${touched(now)}
       where user_id = ${user_id} and picture like '%/' || ${asText(picture_id)}`;

/** Conflicts with a taken address: `email_key` is unique. */
export const replaceEmail = (
  user_id: UserId,
  { from, to, verifiedAt }: { from: string; to: string; verifiedAt: number | null },
  now: number,
) => [
  mayConflict(
    sql`update users set email = ${readableEmail(to)}, email_key = ${emailKey(to)}, same_mailbox_as = null,
               email_verified_at = ${asBigint(verifiedAt)}, ${touched(now)}
         where user_id = ${user_id} and ${isAddressed(from)}`,
  ),
  ...replaceTerms(user_id, 'email', readableEmail(to)),
];

export const rekey = (
  user_id: UserId,
  { from, to, email }: { from: string; to: string; email: string },
  now: number,
): Sql =>
  sql`update users set email = ${email}, email_key = ${to}, same_mailbox_as = null, ${touched(now)}
       where user_id = ${user_id} and email_key = ${from}`;

export const referToMailbox = (user_id: UserId, from: string, to: string): Sql =>
  sql`update users set same_mailbox_as = (select o.user_id from users o where o.email_key = ${to})
       where user_id = ${user_id} and email_key = ${from}`;

/** A bulk revocation of a user's grants covers those of earlier epochs. */
export const raiseGrantsEpochOfUser = (user_id: UserId): Sql =>
  sql`update users set grants_epoch = grants_epoch + 1 where user_id = ${user_id}`;

const noStandardClaims = raw(standardClaimNames.map((name) => `${name} = null`).join(', '));

/**
 * With everything that refers to it: sessions, grants, factors. If that is more than one statement may delete, the row
 * stays for a while, without personal data, its address free and the user disabled, and a job deletes the rest.
 * @param isAtOnce false in a store of several parts: the row stays until what is in other parts has followed.
 */
export const deleteUser = (user_id: UserId, now: number, isAtOnce = true): Sql[] => [
  releaseHandle(user_id, now),
  deleteTerms(user_id),
  deletePicture(user_id),
  ...(isAtOnce ? [sql`delete from users where user_id = ${user_id} and ${rowsOfUserFitOneSlice(user_id)}`] : []),
  sql`update users set email = '', email_key = 'deleted:' || user_id, email_verified_at = null, name = null,
             picture = null, locale = null, attributes = null, ${noStandardClaims}, role = 'user', role_granted_by = null, disabled_at = ${now},
             deleted_at = ${now}, updated_at = ${now}, terms_of = ${now}
       where user_id = ${user_id}`,
];

export const deletedUsers = (part: Part) =>
  part.all(Id, sql`select user_id from users where deleted_at is not null order by deleted_at limit 1000`);

/** The last row of a deleted user, unless another node has left more than one statement may delete. */
export const deleteDeletedUser = (part: Part, user_id: UserId) =>
  part.run(
    sql`delete from users where user_id = ${user_id} and deleted_at is not null and ${rowsOfUserFitOneSlice(user_id)}`,
  );

/** Changes that take an administrator away wait for each other, so that each sees what the other has left. */
export const lockAdministrators = (): Sql => sql`update users set role = role where role = 'admin'`;

/** What users may change of themselves. `locale` null: whatever the browser asks for. */
export type Profile = Pick<User, 'name' | 'picture' | 'locale' | StandardClaim>;

/** A new handle is taken in the same change. */
export const setProfile = (user_id: UserId, profile: Partial<Profile>, now: number): Sql[] => [
  sql`update users set ${User.set(profile)}, ${touched(now)} where user_id = ${user_id}`,
  ...searchedFields
    .filter((field): field is SearchedField & keyof Profile => field in profile)
    .flatMap((field) => replaceTerms(user_id, field, profile[field])),
];

type ReplacedAttributes = { from: string | null; to: string | null };

/** Changes nothing if they are no longer as they were read. */
export const replaceAttributes = (user_id: UserId, { from, to }: ReplacedAttributes, now: number): Sql =>
  sql`update users set attributes = ${asText(to)}, ${touched(now)}
       where user_id = ${user_id} and attributes is not distinct from ${asText(from)}`;

/** Of values that nothing releases any more, which is no change of the user. */
export const cleanAttributes = (user_id: UserId, { from, to }: ReplacedAttributes): Sql =>
  sql`update users set attributes = ${asText(to)}
       where user_id = ${user_id} and attributes is not distinct from ${asText(from)}`;

const AttributesOfUser = User.pick('user_id', 'attributes');

/** By id, of all users after one; `attributes` of those alone in whose text a word is. */
export const usersWithAttribute = (db: Db, word: string, after: string, limit: number) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        AttributesOfUser,
        sql`select user_id, case when attributes like ${asText(`%"${word}"%`)} then attributes end as attributes
              from users where user_id > ${after} order by user_id limit ${limit}`,
      ),
    (one, other) => compareText(one.user_id, other.user_id),
    limit,
  );

/** The user is no administrator, or not the only one who can sign in. */
export const isNotLastAdministrator = (user_id: UserId): Sql =>
  sql`(not exists (select 1 from users where user_id = ${user_id} and role = 'admin')
       or exists (select 1 from users where user_id <> ${user_id} and ${isActiveAdministrator}))`;

/** For an import, which changes nothing else of the user. */
export const showPicture = (user_id: UserId, picture: string): Sql =>
  sql`update users set picture = ${picture} where user_id = ${user_id}`;

/** @param by the actor. */
export const setRole = (user_id: UserId, role: Role, by: string, now: number): Sql =>
  sql`update users set role = ${role}, ${touched(now)}, role_granted_by = ${by}, role_granted_at = ${now}
       where user_id = ${user_id}`;

const { role } = User.fields;
const RoleGrant = row('users', { role, role_granted_by: nullable(text), role_granted_at: nullable(integer) });

/** The role, who gave it and when; both null for the role that the user began with. */
export const findRoleGrant = (db: Db, user_id: UserId) =>
  db
    .of(user_id)
    .get(RoleGrant, sql`select ${RoleGrant.columns} from users where user_id = ${user_id} and deleted_at is null`);

/** The account has not been deleted. */
export const isThere = (user_id: UserId): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and deleted_at is null)`;

export const hasRole = (user_id: UserId, role: Role): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and role = ${role})`;

export const isDisabled = (user_id: UserId, disabled: boolean): Sql =>
  sql`exists (select 1 from users
               where user_id = ${user_id} and ${disabled ? sql`disabled_at is not null` : sql`disabled_at is null`})`;

/** In the words of the partial index. */
const termsAreMissing = sql`terms_of is distinct from updated_at`;

/** Whether some users cannot be found by all of their terms yet. */
export const someTermsAreMissing = (db: Db): Promise<boolean> =>
  isInSome(db.parts, (part) => part.holds(sql`exists (select 1 from users where ${termsAreMissing})`));

export const usersWithMissingTerms = (part: Part, rows: number) =>
  part.all(User, sql`select ${User.columns} from users where ${termsAreMissing} order by user_id limit ${rows}`);

/** Inserts all terms of a user. Changes nothing if the row has changed since it was read. */
export const completeTerms = (part: Part, user: User) =>
  part.change({
    run: {
      user: mustChange(
        sql`update users set terms_of = updated_at
             where user_id = ${user.user_id} and updated_at = ${user.updated_at} and ${termsAreMissing}`,
      ),
      terms: [deleteTerms(user.user_id), ...insertTerms(user.user_id, user)],
    },
  });

const StoredRole = row('users', { user_id: id<UserId>(), ...RoleGrant.fields });

/** Of those who have another role than every user. */
export const exportedRoles = exportedTable('users', {
  row: StoredRole,
  where: sql`role <> 'user' and deleted_at is null`,
  write: ({ user_id, ...grant }) =>
    sql`update users set ${StoredRole.set(grant)} where user_id = ${user_id} and role = 'user' and deleted_at is null`,
});

import { User } from '../accounts/statements.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { askOfEach, compareText, mergeAll, sumOfAll } from '../platform/db/parts.ts';
import { id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { inOneSlice } from '../platform/db/slices.ts';
import { asBigint, oneOf, raw, type Sql, sql } from '../platform/db/sql.ts';
import type { GroupId, UserId } from '../platform/ids.ts';

/** The table `group_members`. */
const Member = row('group_members', {
  group_id: id<GroupId>(),
  user_id: id<UserId>(),
  /** The identity provider whose claim has the group; null: put into it by a person or a program. */
  provider: nullable(text),
  added_at: integer,
});
export type NewMember = RowOf<typeof Member>;

/** Adds nothing if the group is deleted, the user unknown or in it already, or in as many as one may be. */
export const insertMember = ({ group_id, user_id, provider, added_at }: NewMember, most: number): Sql =>
  sql`insert into group_members (group_id, user_id, provider, added_at)
      select g.group_id, u.user_id, ${provider}, cast(${added_at} as bigint)
        from groups g join users u on u.user_id = ${user_id}
       where g.group_id = ${group_id} and g.deleted_at is null and u.deleted_at is null
         and (select count(*) from group_members m where m.user_id = u.user_id) < ${most}
      on conflict (group_id, user_id) do nothing`;

export const deleteMember = (group_id: GroupId, user_id: UserId): Sql =>
  sql`delete from group_members where group_id = ${group_id} and user_id = ${user_id}`;

export const isMember = (group_id: GroupId, user_id: UserId): Sql =>
  sql`exists (select 1 from group_members m join groups g on g.group_id = m.group_id
               where m.group_id = ${group_id} and m.user_id = ${user_id} and g.deleted_at is null)`;

/**
 * A condition: the list of ids of groups is null, or the user is in one of them. Every id is as long as any other, so none is part of
 * another one.
 * @param list a column. @param user_id a column, or a value.
 */
export const isAmong = (list: Sql, user_id: Sql): Sql =>
  sql`(${list} is null or exists (select 1 from group_members m join groups g on g.group_id = m.group_id
         where m.user_id = ${user_id} and g.deleted_at is null and replace(${list}, m.group_id, '') <> ${list}))`;

const GroupOfUser = row('group_members join groups', {
  group_id: id<GroupId>(),
  name: text,
  provider: nullable(text),
  added_at: integer,
});
export type GroupOfUser = RowOf<typeof GroupOfUser>;

/** By name. They are few: see `maxGroupsOfUser`. */
export const groupsOfUser = (db: Db, user_id: string) =>
  db.of(user_id).all(
    GroupOfUser,
    sql`select g.group_id, g.name, m.provider, m.added_at
          from group_members m join groups g on g.group_id = m.group_id
         where m.user_id = ${user_id} and g.deleted_at is null order by g.name_key`,
  );

const ListedMember = row('group_members join users', {
  ...User.pick('user_id', 'email', 'name', 'disabled_at').fields,
  provider: nullable(text),
  added_at: integer,
});
export type ListedMember = RowOf<typeof ListedMember>;

/** The last added first. @param after the place of the last one of the page before. */
export const listMembers = (
  db: Db,
  group_id: GroupId,
  { after, limit }: { after: { at: number; id: string } | undefined; limit: number },
) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        ListedMember,
        sql`select u.user_id, u.email, u.name, u.disabled_at, m.provider, m.added_at
              from group_members m join users u on u.user_id = m.user_id
             where m.group_id = ${group_id} and u.deleted_at is null
               and (m.added_at, m.user_id) < (${asBigint(after?.at ?? Number.MAX_SAFE_INTEGER)}, ${after?.id ?? ''})
             order by m.added_at desc, m.user_id desc limit ${limit}`,
      ),
    (one, other) => other.added_at - one.added_at || compareText(other.user_id, one.user_id),
    limit,
  );

const Count = row('group_members', { found: integer });

/** Up to `most`. */
export async function countMembers(db: Db, group_id: GroupId, most: number): Promise<number> {
  const few = sql`select 1 as one from group_members where group_id = ${group_id} limit ${raw(String(most))}`;
  const count = sql`select count(*) as found from (${few}) as few`;
  return Math.min(await sumOfAll(db, async (part) => (await part.get(Count, count))?.found ?? 0), most);
}

const MemberOfGroup = Member.pick('group_id', 'user_id');
const MemberInOrder = Member.pick('group_id', 'user_id', 'added_at');
type MemberInOrder = RowOf<typeof MemberInOrder>;

/** Of some groups, in the order in which they were added. */
export const membersOfGroups = (db: Db, group_ids: readonly GroupId[], limit: number) =>
  mergeAll(
    db,
    (part) =>
      part.all(
        MemberInOrder,
        sql`select m.group_id, m.user_id, m.added_at from group_members m
             where m.group_id in ${oneOf(group_ids)}
               and (select u.deleted_at from users u where u.user_id = m.user_id) is null
             order by m.group_id, m.added_at, m.user_id limit ${limit}`,
      ),
    inOrderOfMembers,
    limit,
  );

const inOrderOfMembers = (one: MemberInOrder, other: MemberInOrder): number =>
  compareText(one.group_id, other.group_id) || one.added_at - other.added_at || compareText(one.user_id, other.user_id);

/** Those of some users who are in a group. */
export const membersAmong = (db: Db, group_id: GroupId, user_ids: readonly UserId[]) =>
  askOfEach(db, user_ids, (part, ids) =>
    part.all(
      MemberOfGroup,
      sql`select group_id, user_id from group_members where group_id = ${group_id} and user_id in ${oneOf(ids)}`,
    ),
  );

/** Those of some users who are in so many groups, or more. */
export const usersInGroups = (db: Db, user_ids: readonly UserId[], most: number) =>
  askOfEach(db, user_ids, (part, ids) =>
    part.all(
      Member.pick('user_id'),
      sql`select user_id from group_members where user_id in ${oneOf(ids)} group by user_id having count(*) >= ${most}`,
    ),
  );

/** For a group that is deleted. */
export const deleteSomeMembers = (part: Part, group_id: GroupId, rows: number) =>
  part.run(
    sql`delete from group_members where ${inOneSlice('group_members', 'group_id, user_id', sql`group_id = ${group_id}`, rows)}`,
  );

export const exportedMembers = exportedTable('group_members', {
  row: Member,
  where: sql`exists (select 1 from groups g join users u on u.user_id = group_members.user_id
                     where g.group_id = group_members.group_id and g.deleted_at is null and u.deleted_at is null)`,
});

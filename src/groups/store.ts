import type { Db } from '../platform/db/db.ts';
import { exportedTable } from '../platform/db/exported-table.ts';
import { id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';
import type { EventId, GroupId } from '../platform/ids.ts';
import { groupNameKey } from './name-key.ts';

/** The table `groups`. Times are Unix seconds. */
const Group = row('groups', {
  group_id: id<GroupId>(),
  name: text,
  description: nullable(text),
  /** What another system that maintains the group calls it. */
  external_id: nullable(text),
  /** Of the last change to the members above: each replaces it, which makes it a compare-and-swap. */
  event_id: id<EventId>(),
  created_at: integer,
  updated_at: integer,
});
export type Group = RowOf<typeof Group>;

const NewGroup = row('groups', { ...Group.fields, name_key: text });
type NewGroup = RowOf<typeof NewGroup>;

const isThere = sql`deleted_at is null`;

/** Conflicts with a name that is taken; inserts nothing if there are as many as there may be. */
export const insertGroup = (group: NewGroup, most: number): Sql =>
  sql`insert into groups (group_id, name, name_key, description, external_id, event_id, created_at, updated_at)
      select ${group.group_id}, ${group.name}, ${group.name_key}, ${group.description}, ${group.external_id}, ${group.event_id},
             cast(${group.created_at} as bigint), cast(${group.updated_at} as bigint)
       where (select count(*) from groups where ${isThere}) < ${most}`;

/** Conflicts with a name that is taken; changes nothing if the group was changed since it was read, or is deleted. */
export const updateGroup = ({ group_id, event_id }: Pick<Group, 'group_id' | 'event_id'>, to: Partial<NewGroup>): Sql =>
  sql`update groups set ${NewGroup.set(to)} where group_id = ${group_id} and event_id = ${event_id} and ${isThere}`;

/** Makes it another version; changes nothing if it is deleted. */
export const touchGroup = (group_id: GroupId, to: Pick<Group, 'event_id' | 'updated_at'>): Sql =>
  sql`update groups set ${Group.set(to)} where group_id = ${group_id} and ${isThere}`;

/** From then on it counts for nothing, although the rows of its members stay for a while. */
export const markDeleted = (group_id: GroupId, now: number): Sql =>
  sql`update groups set deleted_at = ${now} where group_id = ${group_id} and ${isThere}`;

/** @returns undefined also for one that is deleted. */
export const findGroup = (db: Db, group_id: string) =>
  db.shared.get(Group, sql`select ${Group.columns} from groups where group_id = ${group_id} and ${isThere}`);

export const findGroupByKey = (db: Db, name_key: string) =>
  db.shared.get(Group, sql`select ${Group.columns} from groups where name_key = ${name_key} and ${isThere}`);

/** Those that are there. */
export const findGroups = (db: Db, group_ids: readonly string[]) =>
  db.shared.all(Group, sql`select ${Group.columns} from groups where group_id in ${oneOf(group_ids)} and ${isThere}`);

/** Those that are there. */
export const findGroupsByKeys = (db: Db, name_keys: readonly string[]) =>
  db.shared.all(Group, sql`select ${Group.columns} from groups where name_key in ${oneOf(name_keys)} and ${isThere}`);

type Listing = {
  /** With which the key of the name begins; empty: all. */
  beginning: string;
  /** The key of the last name of the page before. */
  after: string;
  limit: number;
};

const Listed = row('groups', { ...Group.fields, name_key: text });

/** By name. */
export const listGroups = (db: Db, { beginning, after, limit }: Listing) =>
  db.shared.all(
    Listed,
    sql`select ${Listed.columns} from groups
         where ${isThere} and name_key > ${after} and substr(name_key, 1, ${[...beginning].length}) = ${beginning}
         order by name_key limit ${limit}`,
  );

/** By name, from a place on. They are few: see `maxGroups`. */
export const groupsFrom = (db: Db, { offset, limit }: { offset: number; limit: number }) =>
  db.shared.all(
    Group,
    sql`select ${Group.columns} from groups where ${isThere} order by name_key limit ${limit} offset ${offset}`,
  );

const Count = row('groups', { found: integer });

export const countGroups = async (db: Db): Promise<number> =>
  (await db.shared.get(Count, sql`select count(*) as found from groups where ${isThere}`))?.found ?? 0;

/** The other system keeps its ids apart, we do not. */
export const groupsByExternalId = (db: Db, external_id: string, limit: number) =>
  db.shared.all(
    Group,
    sql`select ${Group.columns} from groups where external_id = ${external_id} and ${isThere}
         order by name_key limit ${limit}`,
  );

const Deleted = row('groups', { group_id: id<GroupId>() });

/** Groups whose members are still to be deleted, the oldest first. */
export const deletedGroups = (db: Db, limit: number) =>
  db.shared.all(
    Deleted,
    sql`select group_id from groups where deleted_at is not null
         and not exists (select 1 from group_changes c where c.group_id = groups.group_id)
         order by deleted_at limit ${limit}`,
  );

/** Of one that is deleted and has no members: it gets no more. */
export const deleteGroupRow = (db: Db, group_id: GroupId) =>
  db.shared.run(sql`delete from groups where group_id = ${group_id} and deleted_at is not null`);

export const exportedGroups = exportedTable('groups', {
  row: Group.pick('group_id', 'name', 'description', 'external_id', 'created_at', 'updated_at'),
  where: isThere,
  follows: {
    columns: { name_key: text, event_id: text },
    values: ({ name }, { event_id }) => ({ name_key: groupNameKey(name), event_id }),
  },
});

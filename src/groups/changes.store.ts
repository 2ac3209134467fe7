import type { Db, Part } from '../platform/db/db.ts';
import { choice, id, integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { type Sql, sql } from '../platform/db/sql.ts';
import type { EventId, GroupId, UserId } from '../platform/ids.ts';

// Changes of a group that change a claim of each member: of its name, and its end.

const GroupChange = row('group_changes', {
  event_id: id<EventId>(),
  /** The schema of a part of the store; empty in a store of one. */
  part: text,
  group_id: id<GroupId>(),
  action: choice('group.edited', 'group.deleted'),
  actor: text,
  /** Unix seconds. */
  changed_at: integer,
  /** The last member that is done. */
  after_user_id: id<UserId | ''>(),
});
export type GroupChange = RowOf<typeof GroupChange>;

/** For the change itself, which is then for the members in each part. */
export const noteGroupChange = ({ parts }: Db, change: Omit<GroupChange, 'part' | 'after_user_id'>): Sql[] =>
  parts.map(
    ({ schema = '' }) =>
      sql`insert into group_changes ${GroupChange.values({ ...change, part: schema, after_user_id: '' })}`,
  );

/** Oldest first. @param limit in each part: those of one that is away hide no others. */
export const groupChanges = (db: Db, limit: number) =>
  db.shared.all(
    GroupChange,
    sql`select ${GroupChange.columns}
          from (select group_changes.*, row_number() over (partition by part order by changed_at, event_id) as place
                  from group_changes) as placed
         where place <= ${limit} order by changed_at, event_id, part`,
  );

type Key = Pick<GroupChange, 'event_id' | 'part'>;
const isIt = ({ event_id, part }: Key): Sql => sql`event_id = ${event_id} and part = ${part}`;

/** Never back: another node may be ahead. */
export const moveGroupChange = (db: Db, key: Key, after_user_id: UserId) =>
  db.shared.run(
    sql`update group_changes set after_user_id = ${after_user_id} where ${isIt(key)} and after_user_id < ${after_user_id}`,
  );

export const endGroupChange = (db: Db, key: Key) => db.shared.run(sql`delete from group_changes where ${isIt(key)}`);

const Member = row('group_members', { user_id: id<UserId>() });

/** In the order of their ids. */
export const membersAfter = (part: Part, { group_id, after_user_id }: GroupChange, limit: number) =>
  part.all(
    Member,
    sql`select user_id from group_members where group_id = ${group_id} and user_id > ${after_user_id} order by user_id limit ${limit}`,
  );

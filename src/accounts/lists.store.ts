import type { Db } from '../platform/db/db.ts';
import { compareText, mergeAll, sumOfAll } from '../platform/db/parts.ts';
import { integer, type RowOf, row } from '../platform/db/rows.ts';
import { asBigint, raw, type Sql, sql } from '../platform/db/sql.ts';
import type { UserId } from '../platform/ids.ts';
import { User } from './store.ts';

// Lists of users, and how many each has.

export const userFilters = [
  'disabled',
  'administrators',
  'unverified',
  'no_second_factor',
  'stale',
  'same_mailbox',
] as const;
export type UserFilter = (typeof userFilters)[number];
/** `last_sign_in`: users who have never signed in are where they were created. */
export const userOrders = ['newest', 'last_sign_in'] as const;
export type UserOrder = (typeof userOrders)[number];

/** In the words of the partial indexes. */
const filterConditions: Readonly<Record<Exclude<UserFilter, 'stale'>, Sql>> = {
  disabled: sql`disabled_at is not null`,
  administrators: sql`role <> 'user'`,
  unverified: sql`email_verified_at is null`,
  no_second_factor: sql`has_second_factor = 0`,
  same_mailbox: sql`same_mailbox_as is not null`,
};

/** On a row of users; true without a filter. */
export function filterCondition(filter: UserFilter | undefined, staleBefore: number): Sql {
  if (filter === undefined) return sql`1 = 1`;
  return filter === 'stale' ? sql`active_at >= 1 and active_at < ${staleBefore}` : filterConditions[filter];
}

/** @param condition on the row of the user. */
export const fulfils = (db: Db, user_id: UserId, condition: Sql): Promise<boolean> =>
  db.of(user_id).holds(sql`exists (select 1 from users where user_id = ${user_id} and ${condition})`);

const ListedUser = row('users', { ...User.fields, active_at: integer });
export type ListedUser = RowOf<typeof ListedUser>;

type UserList = {
  /** Of a filter, the order is its own: newest first, and stale users by their last sign-in, longest ago first. */
  filter?: UserFilter;
  order?: UserOrder;
  /** Where the page before ended: the value that the list is ordered by, and the id. */
  after?: { at: number; user_id: UserId };
  limit: number;
  /** Who has not signed in since then is stale. */
  staleBefore: number;
};

export const listUsers = (db: Db, { filter, order = 'newest', after, limit, staleBefore }: UserList) => {
  const key = placeInList({ filter, order });
  const columns = sql`select ${ListedUser.columns} from users where deleted_at is null`;
  if (filter === 'stale') {
    const list = sql`${columns} and active_at < ${staleBefore}
             and (active_at, user_id) > (${asBigint(after?.at ?? 1)}, ${after?.user_id ?? ''})
           order by active_at, user_id limit ${limit}`;
    return mergeAll(db, (part) => part.all(ListedUser, list), byPlace(key), limit);
  }
  const condition = filter === undefined ? sql`` : sql`and ${filterConditions[filter]}`;
  const list = sql`${columns} ${condition}
           and (${raw(key)}, user_id) < (${asBigint(after?.at ?? Number.MAX_SAFE_INTEGER)}, ${after?.user_id ?? ''})
         order by ${raw(key)} desc, user_id desc limit ${limit}`;
  return mergeAll(
    db,
    (part) => part.all(ListedUser, list),
    (one, other) => byPlace(key)(other, one),
    limit,
  );
};

const byPlace = (key: 'created_at' | 'active_at') => (one: ListedUser, other: ListedUser) =>
  one[key] - other[key] || compareText(one.user_id, other.user_id);

/** What a list is ordered by. */
export const placeInList = ({ filter, order }: Pick<UserList, 'filter' | 'order'>): 'created_at' | 'active_at' =>
  filter === 'stale' || (filter === undefined && order === 'last_sign_in') ? 'active_at' : 'created_at';

const Count = row('users', { found: integer });

export type UserCounts = Readonly<Record<UserFilter | 'all', number>>;

/** How many users there are, and how many each filter has. Counts up to `most`, each by its index. */
export async function countUsers(db: Db, staleBefore: number, most: number): Promise<UserCounts> {
  const count = async (filter?: UserFilter) => {
    const few = sql`select 1 as one from users
           where deleted_at is null and ${filterCondition(filter, staleBefore)} limit ${raw(String(most))}`;
    const counted = sql`select count(*) as found from (${few}) as few`;
    const found = await sumOfAll(db, async (part) => (await part.get(Count, counted))?.found ?? 0);
    return [filter ?? 'all', Math.min(found, most)] as const;
  };
  return Object.fromEntries(await Promise.all([count(), ...userFilters.map(count)])) as UserCounts;
}

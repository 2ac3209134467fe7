import { mustChange } from '../platform/db/change.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import { integer, type RowOf, row, text } from '../platform/db/rows.ts';
import { inOneSlice } from '../platform/db/slices.ts';
import { oneOf, type Sql, sql } from '../platform/db/sql.ts';

/** `day`: days since 1970 in UTC. `client_id` is empty for all of them. */
const DailyCount = row('daily_counts', { client_id: text, kind: text, day: integer, count: integer });
export type DailyCount = RowOf<typeof DailyCount>;

export const addCount = (count: DailyCount): Sql =>
  sql`insert into daily_counts ${DailyCount.values(count)}
      on conflict (client_id, kind, day) do update set count = daily_counts.count + excluded.count`;

/** Each day has one sum of a kind. */
async function sumsOf(db: Db, statement: Sql): Promise<DailyCount[]> {
  const [first = [], ...others] = await askAll(db, (part) => part.all(DailyCount, statement));
  const sums = new Map(first.map((one) => [`${one.kind} ${one.day}`, one]));
  for (const one of others.flat()) {
    const key = `${one.kind} ${one.day}`;
    sums.set(key, { ...one, count: one.count + (sums.get(key)?.count ?? 0) });
  }
  return [...sums.values()];
}

export const countsSince = (db: Db, client_id: string, kinds: readonly string[], day: number) =>
  sumsOf(
    db,
    sql`select ${DailyCount.columns} from daily_counts
         where client_id = ${client_id} and kind in ${oneOf(kinds)} and day >= ${day}`,
  );

/** Those of two days: a year of what each day began with would be read for three numbers. */
export const countsOnDays = (db: Db, kinds: readonly string[], one: number, other: number) =>
  sumsOf(
    db,
    sql`select ${DailyCount.columns} from daily_counts
         where client_id = '' and kind in ${oneOf(kinds)} and (day = ${one} or day = ${other})`,
  );

const CountedDay = DailyCount.pick('day');

/** From this day on, what has no count has not happened. Undefined before anything was counted. */
export async function firstCountedDay(db: Db): Promise<number | undefined> {
  const first = sql`select ${CountedDay.columns} from daily_counts where day > 0 order by day limit 1`;
  const days = (await askAll(db, (part) => part.all(CountedDay, first))).flat();
  return days.length === 0 ? undefined : Math.min(...days.map(({ day }) => day));
}

/** Counts that are what they were when the day began, whichever node was first to see it. */
export const keepCounts = (counts: readonly DailyCount[]): Sql[] =>
  counts.map((count) => sql`insert into daily_counts ${DailyCount.values(count)} on conflict do nothing`);

/** The kind of the number of users who were last active on a day. */
const lastActive = 'last_active';
const lastActiveOn = (day: number, count: number) => ({ client_id: '', kind: lastActive, day, count });

/** Takes users from the days on which they were last active until now. */
const leaveDay = (user_id: string, beforeDay: number, onlyIf = sql`1 = 1`): Sql =>
  sql`update daily_counts set count = count - 1
       where client_id = '' and kind = ${lastActive} and ${onlyIf}
         and day = (select day from active_users where user_id = ${user_id} and day < ${beforeDay})`;

const isThere = (user_id: string): Sql =>
  sql`exists (select 1 from users where user_id = ${user_id} and deleted_at is null)`;

/** A user was active on a day, unless the account is deleted. For a change that begins with {@link moveOn}. */
export const markActive = (user_id: string, day: number): Sql[] => [
  leaveDay(user_id, day, isThere(user_id)),
  sql`insert into daily_counts ${DailyCount.select(lastActiveOn(day, 1))}
       where ${isThere(user_id)} and not exists (select 1 from active_users where user_id = ${user_id} and day >= ${day})
      on conflict (client_id, kind, day) do update set count = daily_counts.count + 1`,
  sql`insert into active_users (user_id, day)
      select user_id, ${day} from users where user_id = ${user_id} and deleted_at is null
      on conflict (user_id) do update set day = excluded.day where active_users.day < excluded.day`,
];

export const forgetActive = (user_id: string): Sql[] => [
  leaveDay(user_id, Number.MAX_SAFE_INTEGER),
  sql`delete from active_users where user_id = ${user_id}`,
];

const Places = row('counted_places', { audit_seq: integer, hour: integer });
/** Up to where each source is counted. */
export type Places = RowOf<typeof Places>;

export const readPlaces = (part: Part) =>
  part.get(Places, sql`select ${Places.columns} from counted_places where place = 'all'`);

/** First in the change of a slice: it is refused if another node has counted anything meanwhile, and makes others wait. */
export const moveOn = (from: Places, to: Places) =>
  mustChange(
    sql`update counted_places set audit_seq = ${to.audit_seq}, hour = ${to.hour}
         where place = 'all' and audit_seq = ${from.audit_seq} and hour = ${from.hour}`,
  );

/** Changes nothing; a change that marks users as active begins with it or with {@link moveOn}, so that they follow each other. */
export const lockPlaces = (): Sql => sql`update counted_places set hour = hour where place = 'all'`;

const ActiveUser = row('active_users', { user_id: text });

/** Those of some users who are known to have been active on this day or later. */
export const activeAmong = async (part: Part, user_ids: readonly string[], day: number): Promise<string[]> => {
  const rows = await part.all(
    ActiveUser,
    sql`select user_id from active_users where user_id in ${oneOf(user_ids)} and day >= ${day}`,
  );
  return rows.map(({ user_id }) => user_id);
};

export const purgeCounts = (part: Part, beforeDay: number, rows: number) =>
  part.run(
    sql`delete from daily_counts where
        ${inOneSlice('daily_counts', 'client_id, kind, day', sql`day < ${beforeDay} and day > 0 order by day`, rows)}`,
  );

export const purgeActive = (part: Part, beforeDay: number, rows: number) =>
  part.run(
    sql`delete from active_users where
        ${inOneSlice('active_users', 'user_id', sql`day < ${beforeDay} order by day`, rows)}`,
  );

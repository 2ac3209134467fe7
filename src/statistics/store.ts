import { mustChange } from '../platform/db/change.ts';
import type { Db, Part } from '../platform/db/db.ts';
import { askAll } from '../platform/db/parts.ts';
import { integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
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

const Walk = row('count_walks', {
  name: text,
  began_at: integer,
  after_id: nullable(text),
  users: integer,
  second_factor: integer,
  passkeys: integer,
});
/** How far a count of many rows has come. */
export type Walk = RowOf<typeof Walk>;

export const findWalk = (part: Part, name: string) =>
  part.get(Walk, sql`select ${Walk.columns} from count_walks where name = ${name}`);

/** From the start, unless another node has begun it since. @param ended as it was found; undefined: never begun. */
export const beginWalk = (walk: Walk, ended: Walk | undefined): Sql =>
  sql`insert into count_walks ${Walk.values(walk)}
      on conflict (name) do update set began_at = excluded.began_at, after_id = excluded.after_id, users = excluded.users,
        second_factor = excluded.second_factor, passkeys = excluded.passkeys
      where count_walks.after_id is null and count_walks.began_at = ${ended?.began_at ?? -1}`;

/** In the change of a slice, which is refused if another node has gone on meanwhile. */
export const goOn = (from: Walk, to: Walk) =>
  mustChange(
    sql`update count_walks set after_id = ${to.after_id}, users = ${to.users}, second_factor = ${to.second_factor}, passkeys = ${to.passkeys}
         where name = ${from.name} and began_at = ${from.began_at} and after_id = ${from.after_id}`,
  );

/** The newest counts of these kinds at the beginning of a day, or of one of the six before it; they are kept together. */
export const newestCounts = (part: Part, kinds: readonly string[], day: number) =>
  part.all(
    DailyCount,
    sql`select ${DailyCount.columns} from daily_counts
         where client_id = '' and kind in ${oneOf(kinds)} and day <= ${day} and day > ${day - 7}
         order by day desc limit ${kinds.length}`,
  );

const Client = DailyCount.pick('client_id');

/** Those of which anything is counted, in the order of their ids. */
export const clientsWithSignIns = (part: Part, after: string, rows: number) =>
  part.all(
    Client,
    sql`select client_id from daily_counts where client_id > ${after} and kind = 'sign_in'
         group by client_id order by client_id limit ${rows}`,
  );

const One = row('clients', { one: integer });

/** Whether there are no more clients than these. */
export const hasFewClients = async (part: Part, few: number): Promise<boolean> =>
  (await part.all(One, sql`select 1 as one from clients order by client_id limit ${few + 1}`)).length <= few;

/** A sum of a client's sign-ins: a count without a day. */
const recent = 'recent_';
const recentIn = (days: number) => `${recent}${days}`;

/**
 * Sums for the clients after one id and up to another, for each of these numbers of days, the given one being the last of them. Writes what has
 * changed; a sum of none has no row.
 */
export function sumSignIns(
  { after, last }: { after: string; last: string },
  today: number,
  periods: readonly number[],
): Sql[] {
  const some = sql`client_id > ${after} and client_id <= ${last}`;
  return periods.flatMap((days) => {
    const kind = recentIn(days);
    const sums = sql`select client_id, cast(sum(count) as bigint) as total from daily_counts
                      where ${some} and kind = 'sign_in' and day > ${today - days} group by client_id`;
    return [
      sql`insert into daily_counts (client_id, kind, day, count)
          select s.client_id, ${kind}, 0, s.total from (${sums}) as s
           where not exists (select 1 from daily_counts k
                              where k.client_id = s.client_id and k.kind = ${kind} and k.day = 0 and k.count = s.total)
          on conflict (client_id, kind, day) do update set count = excluded.count`,
      sql`delete from daily_counts where ${some} and kind = ${kind} and day = 0
             and not exists (select 1 from daily_counts c where c.client_id = daily_counts.client_id
                              and c.kind = 'sign_in' and c.day > ${today - days})`,
    ];
  });
}

/** Those with the largest sums. */
export const busiestOf = (part: Part, days: number, limit: number) =>
  part.all(
    DailyCount,
    sql`select ${DailyCount.columns} from daily_counts
         where day = 0 and client_id <> '' and kind = ${recentIn(days)} order by count desc limit ${limit}`,
  );

/** The sums of some clients. */
export const sumsOfClients = (part: Part, client_ids: readonly string[], days: number) =>
  part.all(
    DailyCount,
    sql`select ${DailyCount.columns} from daily_counts
         where client_id in ${oneOf(client_ids)} and kind = ${recentIn(days)} and day = 0`,
  );

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

import type { Db, Part } from '../platform/db/db.ts';
import { compareText, mergeAll } from '../platform/db/parts.ts';
import { integer, jsonObject, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { asBigint, raw, type Sql, sql } from '../platform/db/sql.ts';

/** Equal events of one hour, and of one part of the store. Times are Unix seconds. */
const UnauthenticatedRow = row('unauthenticated_events', {
  event_key: text,
  hour: integer,
  action: text,
  reason: nullable(text),
  target: nullable(text),
  detail: nullable(jsonObject<Readonly<Record<string, unknown>>>()),
  address: nullable(text),
  first_at: integer,
  last_at: integer,
  count: integer,
});
export type UnauthenticatedRow = RowOf<typeof UnauthenticatedRow>;

type NewUnauthenticatedRow = Omit<UnauthenticatedRow, 'first_at' | 'last_at' | 'count'>;

/** Counts an event. Once the hour has `max` rows, one that would need another is counted in `rest`. */
export function countUnauthenticated(
  event: NewUnauthenticatedRow,
  rest: NewUnauthenticatedRow,
  at: number,
  max: number,
): Sql[] {
  const exists = sql`exists (select 1 from unauthenticated_events where event_key = ${event.event_key})`;
  const limit = raw(String(max));
  const rowsOfHour = sql`(select count(*) from
    (select 1 as one from unauthenticated_events where hour = ${event.hour} limit ${limit}) as kept)`;
  return [
    insertOrCount(event, at, sql`(${exists} or ${rowsOfHour} < ${limit})`),
    insertOrCount(rest, at, sql`not ${exists}`),
  ];
}

const insertOrCount = (event: NewUnauthenticatedRow, at: number, condition: Sql): Sql =>
  sql`insert into unauthenticated_events
      ${UnauthenticatedRow.select({ ...event, first_at: at, last_at: at, count: 1 })} where ${condition}
      on conflict (event_key) do update set last_at = excluded.last_at, count = unauthenticated_events.count + 1`;

export type UnauthenticatedPage = {
  target?: string;
  address?: string;
  /** Where the page before ended. */
  before?: Pick<UnauthenticatedRow, 'first_at' | 'event_key'>;
  limit: number;
};

/** Newest first. */
export function searchUnauthenticated(
  db: Db,
  { before, limit, target, address }: UnauthenticatedPage,
): Promise<UnauthenticatedRow[]> {
  const { first_at, event_key } = before ?? { first_at: Number.MAX_SAFE_INTEGER, event_key: '' };
  const statement = sql`select ${UnauthenticatedRow.columns} from unauthenticated_events
         where (first_at, event_key) < (${asBigint(first_at)}, ${event_key})
           ${target === undefined ? sql`` : sql`and target = ${target}`}
           ${address === undefined ? sql`` : sql`and address = ${address}`}
         order by first_at desc, event_key desc limit ${limit}`;
  return mergeAll(
    db,
    (part) => part.all(UnauthenticatedRow, statement),
    (one, other) => other.first_at - one.first_at || compareText(other.event_key, one.event_key),
    limit,
  );
}

const CountedRow = UnauthenticatedRow.pick('hour', 'action', 'count');

/** The next hour that has events. @param from, @param until Unix seconds; the hour begins between them. */
export const rowsOfNextHour = (part: Part, from: number, until: number) =>
  part.all(
    CountedRow,
    sql`select ${CountedRow.columns} from unauthenticated_events
         where hour = (select min(hour) from unauthenticated_events where hour >= ${from} and hour <= ${until})`,
  );

export const rowsSinceHour = (part: Part, from: number) =>
  part.all(CountedRow, sql`select ${CountedRow.columns} from unauthenticated_events where hour >= ${from}`);

import type { Db, Statement } from '../platform/db/db.ts';

/** Events of one hour that are alike. Times are Unix seconds; `detail` is JSON. */
export type UnauthenticatedRow = {
  event_key: string;
  hour: number;
  action: string;
  reason: string | null;
  target: string | null;
  detail: string | null;
  address: string | null;
  first_at: number;
  last_at: number;
  count: number;
};

type NewRow = Omit<UnauthenticatedRow, 'first_at' | 'last_at' | 'count'>;

/**
 * One more of its kind. A row that would be the hour's `most + 1`st is not made, and the statement after it counts into
 * `rest` what has no row of its own.
 */
export const countEvent = (row: NewRow, rest: NewRow, at: number, most: number): Statement[] => [
  insert(
    row,
    at,
    `exists (select 1 from unauthenticated_events where event_key = $1)
       or (select count(*) from (select 1 as one from unauthenticated_events where hour = $2 limit ${most}) as kept) < ${most}`,
  ),
  insert(rest, at, 'not exists (select 1 from unauthenticated_events where event_key = $9)', [row.event_key]),
];

const insert = (row: NewRow, at: number, condition: string, more: readonly string[] = []): Statement => ({
  sql: `insert into unauthenticated_events
          (event_key, hour, action, reason, target, detail, address, first_at, last_at, count)
        select $1, cast($2 as bigint), $3, $4, $5, $6, $7, cast($8 as bigint), cast($8 as bigint), 1
         where ${condition}
        on conflict (event_key) do update set last_at = excluded.last_at, count = unauthenticated_events.count + 1`,
  params: [row.event_key, row.hour, row.action, row.reason, row.target, row.detail, row.address, at, ...more],
});

export type UnauthenticatedPage = {
  target?: string;
  address?: string;
  /** Where the page before ended. */
  before?: Pick<UnauthenticatedRow, 'first_at' | 'event_key'>;
  limit: number;
};

/** Newest first. */
export function listEvents(db: Db, { before, limit, ...filter }: UnauthenticatedPage): Promise<UnauthenticatedRow[]> {
  const { first_at, event_key } = before ?? { first_at: Number.MAX_SAFE_INTEGER, event_key: '' };
  const { target, address } = filter;
  const given = Object.entries({ target, address }).filter((one): one is [string, string] => one[1] !== undefined);
  return db.all<UnauthenticatedRow>(
    `select * from unauthenticated_events
      where (first_at, event_key) < (cast($1 as bigint), cast($2 as text)) ${given.map(([column], index) => `and ${column} = $${index + 4}`).join(' ')}
      order by first_at desc, event_key desc limit $3`,
    [first_at, event_key, limit, ...given.map(([, value]) => value)],
  );
}

/** @param before Unix seconds. */
export const purgeUnauthenticated = (db: Db, before: number, rows: number) =>
  db.run(
    `delete from unauthenticated_events where event_key in
       (select event_key from unauthenticated_events where hour < $1 order by hour limit $2)`,
    [before, rows],
  );

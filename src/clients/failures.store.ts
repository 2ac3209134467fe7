import type { Db } from '../platform/db/db.ts';
import { id, integer, nullable, type RowOf, row, text } from '../platform/db/rows.ts';
import { asBigint, type Sql, sql } from '../platform/db/sql.ts';
import type { ClientId } from '../platform/ids.ts';

/** The table `client_failures`: one row for all failures that are alike, in the part where the id of its client leads. Times are Unix seconds. */
const FailureRow = row('client_failures', {
  failure_id: text,
  client_id: id<ClientId>(),
  stage: text,
  code: text,
  /** JSON, parsed by its reader: an older version may have kept more kinds than this one knows. */
  detail: nullable(text),
  /** The first time. */
  at: integer,
  last_at: integer,
  count: integer,
});
export type FailureRow = RowOf<typeof FailureRow>;

/** The first of its `failure_id` makes the row, each further one counts up. Nothing for a client that was deleted. */
export const countFailure = ({
  failure_id,
  client_id,
  stage,
  code,
  detail,
  at,
}: Omit<FailureRow, 'last_at' | 'count'>): Sql =>
  sql`insert into client_failures (failure_id, client_id, stage, code, detail, at, last_at, count)
      select ${failure_id}, client_id, ${stage}, ${code}, ${detail}, ${asBigint(at)}, ${asBigint(at)}, 1
        from clients where client_id = ${client_id}
      on conflict (failure_id) do update set count = client_failures.count + 1, last_at = excluded.last_at`;

/**
 * Of one kind, keeps so many that happened last, and of the others so many that happened most: no number of different ones
 * pushes out one that repeats. On PostgreSQL rows that two nodes write at the same instant do not see
 * each other, so a few more may last until the next one.
 */
export const trimFailures = (
  kind: Pick<FailureRow, 'client_id' | 'stage' | 'code'>,
  { latest, mostFrequent }: { latest: number; mostFrequent: number },
): Sql => {
  const isOfKind = sql`client_id = ${kind.client_id} and stage = ${kind.stage} and code = ${kind.code}`;
  const isLatest = sql`failure_id in (select failure_id from client_failures where ${isOfKind}
                                       order by last_at desc, failure_id limit ${latest})`;
  return sql`delete from client_failures
              where ${isOfKind} and not (${isLatest}) and failure_id not in
                    (select failure_id from client_failures where ${isOfKind} and not (${isLatest})
                      order by count desc, last_at desc, failure_id limit ${mostFrequent})`;
};

/** All that are kept, the most recent first. */
export const failuresOf = (db: Db, client_id: string) =>
  db
    .of(client_id)
    .all(
      FailureRow,
      sql`select ${FailureRow.columns} from client_failures where client_id = ${client_id} order by last_at desc, failure_id`,
    );

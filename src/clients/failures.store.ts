import type { Db, Statement } from '../platform/db/db.ts';

/** The table `client_failures`: one row for all failures that are alike. `detail` is JSON. Times are Unix seconds. */
export type FailureRow = {
  failure_id: string;
  client_id: string;
  stage: string;
  code: string;
  detail: string | null;
  /** The first time. */
  at: number;
  last_at: number;
  count: number;
};

/** The first one of its `failure_id` makes the row, each further one counts up. Nothing for a client that is gone. */
export const countFailure = (row: Omit<FailureRow, 'last_at' | 'count'>): Statement => ({
  sql: `insert into client_failures (failure_id, client_id, stage, code, detail, at, last_at, count)
        select $1, client_id, $3, $4, $5, cast($6 as bigint), cast($6 as bigint), 1 from clients where client_id = $2
        on conflict (failure_id) do update set count = client_failures.count + 1, last_at = excluded.last_at`,
  params: [row.failure_id, row.client_id, row.stage, row.code, row.detail, row.at],
});

/**
 * Of one kind, keeps so many that happened last. On PostgreSQL rows that two nodes write at the same instant do not see
 * each other, so a few more may last until the next one.
 */
export const trimFailures = (kind: Pick<FailureRow, 'client_id' | 'stage' | 'code'>, kept: number): Statement => ({
  sql: `delete from client_failures
         where client_id = $1 and stage = $2 and code = $3 and failure_id not in
               (select failure_id from client_failures where client_id = $1 and stage = $2 and code = $3
                 order by last_at desc, failure_id limit $4)`,
  params: [kind.client_id, kind.stage, kind.code, kept],
});

/** All that are kept, whichever happened last first. */
export const failuresOf = (db: Db, client_id: string) =>
  db.all<FailureRow>(
    `select failure_id, client_id, stage, code, detail, at, last_at, count from client_failures
      where client_id = $1 order by last_at desc, failure_id`,
    [client_id],
  );

export const purgeFailures = (db: Db, before: number, rows: number) =>
  db.run(
    'delete from client_failures where failure_id in (select failure_id from client_failures where last_at < $1 order by last_at limit $2)',
    [before, rows],
  );

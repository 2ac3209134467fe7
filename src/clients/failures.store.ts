import type { Db, Statement } from '../db/db.ts';

/** The table `client_failures`. `detail` is JSON. Times are Unix seconds. */
export type FailureRow = {
  failure_id: string;
  client_id: string;
  at: number;
  stage: string;
  code: string;
  detail: string | null;
};

/** Nothing for a client that is gone meanwhile. */
export const insertFailure = (row: FailureRow): Statement => ({
  sql: `insert into client_failures (failure_id, client_id, at, stage, code, detail)
        select $1, client_id, cast($3 as bigint), $4, $5, $6 from clients where client_id = $2`,
  params: [row.failure_id, row.client_id, row.at, row.stage, row.code, row.detail],
});

/**
 * Keeps the newest so many of a client. On PostgreSQL rows that two nodes write at the same instant do not see each other,
 * so a few more may last until the next one.
 */
export const trimFailures = (client_id: string, kept: number): Statement => ({
  sql: `delete from client_failures
         where client_id = $1 and failure_id not in
               (select failure_id from client_failures where client_id = $1 order by at desc, failure_id limit $2)`,
  params: [client_id, kept],
});

/** Newest first. */
export const failuresOf = (db: Db, client_id: string, limit: number) =>
  db.all<FailureRow>(
    `select failure_id, client_id, at, stage, code, detail from client_failures
      where client_id = $1 order by at desc, failure_id limit $2`,
    [client_id, limit],
  );

export const purgeFailures = (before: number): Statement => ({
  sql: 'delete from client_failures where at < $1',
  params: [before],
});

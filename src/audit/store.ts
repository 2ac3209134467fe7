import type { Db, Statement } from '../db/db.ts';

/** What the log keeps of one event. Times are Unix seconds; states are JSON. */
export type AuditRow = {
  event_id: string;
  at: number;
  action: string;
  actor: string;
  target: string | null;
  reason: string | null;
  before_state: string | null;
  after_state: string | null;
  address: string | null;
};

/** A condition in SQL, its placeholders numbered from `$1` as if it stood alone. */
export type Condition = { sql: string; params: readonly (string | number | null)[] };

/** @param onlyIf read after the statements before it in the batch, so it sees whether the change was made. */
export function insertAuditRow(row: AuditRow, onlyIf: Condition | undefined): Statement {
  const values = [
    row.event_id,
    row.at,
    row.action,
    row.actor,
    row.target,
    row.reason,
    row.before_state,
    row.after_state,
    row.address,
  ];
  // PostgreSQL takes a bare parameter of a select list for text, which fits all of them but the time.
  const insert = `insert into audit_log
      (event_id, at, action, actor, target, reason, before_state, after_state, address)
    select $1, cast($2 as bigint), $3, $4, $5, $6, $7, $8, $9`;
  return insertIf({ sql: insert, params: values }, onlyIf);
}

/** @param insert ends with the select list of an `insert … select`, where a condition may follow. */
export function insertIf({ sql, params = [] }: Statement, condition: Condition | undefined): Statement {
  if (condition === undefined) return { sql, params };
  const renumbered = condition.sql.replace(/\$(\d+)/g, (_, place: string) => `$${Number(place) + params.length}`);
  return { sql: `${sql} where ${renumbered}`, params: [...params, ...condition.params] };
}

/** That a conditional event was kept, so its change is made. For the statements after it in the same batch. */
export const eventWasKept = (event_id: string): Condition => ({
  sql: 'exists (select 1 from audit_log where event_id = $1)',
  params: [event_id],
});

/** The events about one thing, newest first. */
export const auditRowsOf = (db: Db, target: string, limit: number): Promise<AuditRow[]> =>
  db.all<AuditRow>(
    `select event_id, at, action, actor, target, reason, before_state, after_state, address
       from audit_log where target = $1 order by at desc, event_id limit $2`,
    [target, limit],
  );

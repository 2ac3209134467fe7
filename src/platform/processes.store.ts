import type { Db } from './db/db.ts';
import { choice, integer, nullable, type RowOf, row, text } from './db/rows.ts';
import { type Sql, sql } from './db/sql.ts';

/** The newest of any server on this store. `at` is Unix seconds by the clock of that server. */
const Heartbeat = row('server_heartbeat', {
  node: text,
  at: integer,
  base_url: text,
  /** What it does with mail; `none` when SIGNET_SMTP_URL is missing off loopback. */
  mail: choice('smtp', 'log', 'none'),
});
export type Heartbeat = RowOf<typeof Heartbeat>;
export type MailMode = Heartbeat['mail'];

export const findHeartbeat = (db: Db) =>
  db.shared.get(Heartbeat, sql`select ${Heartbeat.columns} from server_heartbeat where name = 'newest'`);

const StoredHeartbeat = row('server_heartbeat', { name: text, ...Heartbeat.fields });

export const storeHeartbeat = (heartbeat: Heartbeat): Sql =>
  sql`insert into server_heartbeat ${StoredHeartbeat.values({ name: 'newest', ...heartbeat })}
      on conflict (name) do update set
        node = excluded.node, at = excluded.at, base_url = excluded.base_url, mail = excluded.mail`;

const Run = row('issuing_runs', {
  run_id: text,
  seen_at: integer,
  lost_at: nullable(integer),
  /** The name of the master key by which it seals; null of a process of an earlier version. */
  master_key_id: nullable(text),
});
/** A process that serves, as other processes see it. Times are Unix seconds. */
export type Run = RowOf<typeof Run>;

/** The process is running, even if others had recorded it as lost. */
export const recordRun = (run_id: string, now: number, master_key_id: string): Sql =>
  sql`insert into issuing_runs (run_id, seen_at, master_key_id) values (${run_id}, ${now}, ${master_key_id})
      on conflict (run_id) do update set seen_at = excluded.seen_at, lost_at = null`;

/** The process has answered all its requests. */
export const deleteRun = (db: Db, run_id: string) =>
  db.shared.run(sql`delete from issuing_runs where run_id = ${run_id}`);

export const findRun = (db: Db, run_id: string) =>
  db.shared.get(Run, sql`select ${Run.columns} from issuing_runs where run_id = ${run_id}`);

export const listRunsNotLost = (db: Db, limit: number) =>
  db.shared.all(
    Run,
    sql`select ${Run.columns} from issuing_runs where lost_at is null order by seen_at limit ${limit}`,
  );

/** The first process to notice sets the time. */
export const recordLoss = (db: Db, run_id: string, now: number) =>
  db.shared.run(sql`update issuing_runs set lost_at = ${now} where run_id = ${run_id} and lost_at is null`);

export const purgeLostRuns = (lostBefore: number): Sql => sql`delete from issuing_runs where lost_at < ${lostBefore}`;

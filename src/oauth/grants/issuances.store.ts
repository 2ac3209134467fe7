import type { Db } from '../../platform/db/db.ts';
import { integer, nullable, type RowOf, row, text } from '../../platform/db/rows.ts';
import { inOneSlice } from '../../platform/db/slices.ts';
import { sql } from '../../platform/db/sql.ts';

const Run = row('issuing_runs', {
  run_id: text,
  seen_at: integer,
  lost_at: nullable(integer),
  /** The name of the master key by which it seals; null of a process of an earlier version. */
  master_key_id: nullable(text),
});
/** A process that issues tokens, as other nodes see it. Times are Unix seconds. */
export type Run = RowOf<typeof Run>;

/** The process is running, even if others had recorded it as lost. */
export const recordRun = (db: Db, run_id: string, now: number, master_key_id: string) =>
  db.run(
    sql`insert into issuing_runs (run_id, seen_at, master_key_id) values (${run_id}, ${now}, ${master_key_id})
        on conflict (run_id) do update set seen_at = excluded.seen_at, lost_at = null`,
  );

/** The process has answered all its requests. */
export const deleteRun = (db: Db, run_id: string) => db.run(sql`delete from issuing_runs where run_id = ${run_id}`);

export const findRun = (db: Db, run_id: string) =>
  db.get(Run, sql`select ${Run.columns} from issuing_runs where run_id = ${run_id}`);

export const listRunsNotLost = (db: Db, limit: number) =>
  db.all(Run, sql`select ${Run.columns} from issuing_runs where lost_at is null order by seen_at limit ${limit}`);

/** The first node to notice sets the time. */
export const recordLoss = (db: Db, run_id: string, now: number) =>
  db.run(sql`update issuing_runs set lost_at = ${now} where run_id = ${run_id} and lost_at is null`);

export const purgeLostRuns = (db: Db, lostBefore: number) =>
  db.run(sql`delete from issuing_runs where lost_at < ${lostBefore}`);

/** For a copy: they are processes of the store that it is a copy of. */
export const deleteRuns = (db: Db, rows: number) =>
  db.run(
    sql`delete from issuing_runs where ${inOneSlice('issuing_runs', 'run_id', sql`seen_at is not null order by run_id`, rows)}`,
  );

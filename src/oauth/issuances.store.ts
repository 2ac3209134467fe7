import type { Db } from '../platform/db/db.ts';

/** A process that issues tokens, as the others see it. Times are Unix seconds. */
export type Run = { run_id: string; seen_at: number; lost_at: number | null };

/** The process is there: also one that others had taken for lost. */
export const recordRun = (db: Db, run_id: string, now: number) =>
  db.run(
    `insert into issuing_runs (run_id, seen_at) values ($1, $2)
         on conflict (run_id) do update set seen_at = excluded.seen_at, lost_at = null`,
    [run_id, now],
  );

/** It has answered everything that it was asked. */
export const deleteRun = (db: Db, run_id: string) => db.run('delete from issuing_runs where run_id = $1', [run_id]);

export const findRun = (db: Db, run_id: string) =>
  db.get<Run>('select run_id, seen_at, lost_at from issuing_runs where run_id = $1', [run_id]);

export const listRunsNotLost = (db: Db, limit: number) =>
  db.all<Run>('select run_id, seen_at, lost_at from issuing_runs where lost_at is null order by seen_at limit $1', [
    limit,
  ]);

/** The first to notice says when. */
export const recordLoss = (db: Db, run_id: string, now: number) =>
  db.run('update issuing_runs set lost_at = $2 where run_id = $1 and lost_at is null', [run_id, now]);

export const purgeLostRuns = (db: Db, lostBefore: number) =>
  db.run('delete from issuing_runs where lost_at < $1', [lostBefore]);

import type { Logger } from 'pino';
import { type Clock, now, type Timekeeper } from './clock.ts';
import type { Writes } from './db/change.ts';
import type { Db } from './db/db.ts';
import { refuseMoved } from './db/move/marks.ts';
import {
  deleteRun,
  findHeartbeat,
  findRun,
  type Heartbeat,
  listRunsNotLost,
  type MailMode,
  purgeLostRuns,
  type Run,
  recordLoss,
  recordRun,
  storeHeartbeat,
} from './processes.store.ts';
import { refuseRetiredKey, type Vault } from './vault.ts';

export { findHeartbeat, type MailMode, type Run } from './processes.store.ts';

/** Without a heartbeat, after which a server is considered down; servers record one every minute. */
const silentAfterSeconds = 300;
/** A heartbeat is written within a few seconds after its time was read. */
export const toleratedSkewSeconds = 10;
/** Nodes that differ by more are not trusted to delete what has expired. */
export const dangerousSkewSeconds = 300;
/** Without any server, during which the clock may have been set. */
const longSilenceSeconds = 3600;
const skewLogIntervalMs = 3_600_000;

/** No request takes longer, so what a process did so long before it was last seen has been answered. */
const longestRequestSeconds = 30;
/** For which a lost process is remembered: longer than anyone asks about one. */
const lossKeptSeconds = 600;
const runsAtOnce = 100;

/** The processes that serve from this store. */
export async function findRunning(db: Db): Promise<Run[]> {
  const running: Run[] = [];
  for (const run of await listRunsNotLost(db, runsAtOnce)) if (await db.isRunning(run.run_id)) running.push(run);
  return running;
}

/** Of the processes that have not left and do not run any more. */
export async function recordLosses(db: Db, at: number): Promise<void> {
  for (const { run_id } of await listRunsNotLost(db, runsAtOnce)) {
    if (run_id !== db.run_id && !(await db.isRunning(run_id))) await recordLoss(db, run_id, at);
  }
}

type ProcessDeps = {
  db: Db;
  clock: Clock;
  log: Logger;
  node: string;
  timekeeper: Timekeeper;
  vault: Vault;
  config: { readonly baseUrl: string };
  mail: { readonly mode: MailMode };
};

export type Processes = ReturnType<typeof openProcesses>;

/**
 * The register of processes, with one heartbeat a minute, which a job makes. A node says for the command line and for other nodes
 * that a server runs here and how, and compares the clocks of nodes. A process that serves says so by itself: if it is lost, what it
 * did last may be unanswered, and `signet rekey` sees under which key it seals.
 */
export function openProcesses(deps: ProcessDeps) {
  const { db, config, mail, node, timekeeper, log, vault } = deps;
  const clock = () => new Date(deps.clock()).toISOString();
  let comparedAt: number | undefined;
  let skewLoggedAt = Number.NEGATIVE_INFINITY;
  let isServing = false;
  let beating: Promise<unknown> = Promise.resolve();

  /**
   * A time in the future was written by a clock ahead of ours. A heartbeat that another node wrote after our previous one
   * cannot be older than that one, unless that node's clock is behind ours.
   */
  function compare(last: Heartbeat | undefined): void {
    const at = timekeeper.monotonic();
    const before = comparedAt;
    comparedAt = at;
    if (!last || last.node === node) return;
    const ahead = last.at - now(deps);
    const isBehind = before !== undefined && ahead < -(at - before) / 1000 - toleratedSkewSeconds;
    if (ahead <= toleratedSkewSeconds && !isBehind) return;
    if (Math.abs(ahead) > dangerousSkewSeconds) timekeeper.markUnsettled();
    if (at - skewLoggedAt < skewLogIntervalMs) return;
    skewLoggedAt = at;
    log.warn(
      { other_node_ahead_seconds: ahead, clock: clock() },
      'the clock of this node differs from that of another node or of an earlier run, so each refuses codes and sessions of the other. Synchronize both with NTP',
    );
  }

  /** Before a start no process has observed the clock, so one far ahead of the last heartbeat may be right or wrong. */
  function markUnsettledAfterSilence(last: Heartbeat | undefined): void {
    const silent = last ? now(deps) - last.at : 0;
    if (silent <= longSilenceSeconds) return;
    timekeeper.markUnsettled();
    log.info(
      { silent_seconds: silent, clock: clock() },
      'no server has used this database for a while, or the clock of this machine is fast; expired data will be deleted in 15 minutes',
    );
  }

  async function recordNode(isStart: boolean): Promise<void> {
    const last = await findHeartbeat(db);
    if (isStart) markUnsettledAfterSilence(last);
    compare(last);
    await beat({ newest: storeHeartbeat({ node, at: now(deps), base_url: config.baseUrl, mail: mail.mode }) });
  }

  function beat(more: Writes = {}): Promise<void> {
    const one = record(more);
    beating = one.catch(() => undefined);
    return one;
  }

  async function record(more: Writes): Promise<void> {
    const at = now(deps);
    const own = { run: recordRun(db.run_id, at, vault.id), lost: purgeLostRuns(at - lossKeptSeconds) };
    await db.shared.change({ run: isServing ? { ...more, ...own } : more });
    if (!isServing) return;
    await recordLosses(db, at);
  }

  return {
    /** The first heartbeat of a node. */
    start: () => recordNode(true),
    /** The heartbeat of a node's first process. */
    record: () => recordNode(false),
    /**
     * Before this process accepts requests.
     * @throws {ConfigError} if its master key was retired, or its store was moved, before it was known.
     */
    async serve(): Promise<void> {
      isServing = true;
      await beat();
      await refuseMoved(db);
      await refuseRetiredKey(deps);
    },
    /** The heartbeat of a process that is not its node's first. */
    beat: () => beat(),
    /** Until it is called, the end of this process counts as a loss. */
    async leave(): Promise<void> {
      if (!isServing) return;
      isServing = false;
      await beating;
      await deleteRun(db, db.run_id).catch(() => undefined);
    },
    /** @returns undefined also for one that has left. */
    find: (run_id: string) => findRun(db, run_id),
    /** Whether a process was lost, lately, before it was known to have answered what it did at a time. */
    async hasCrashedSince(run: Run, did_at: number, withinSeconds: number): Promise<boolean> {
      if (did_at < run.seen_at - longestRequestSeconds) return false;
      const at = now(deps);
      if (run.lost_at !== null) return Math.abs(at - run.lost_at) <= withinSeconds;
      if (await db.isRunning(run.run_id)) return false;
      await recordLoss(db, run.run_id, at);
      return true;
    },
  };
}

/** @returns why a mail that is queued now may not be sent soon, or undefined when a server that sends mail is running. */
export async function mailWarning(deps: { db: Db; clock: Clock }): Promise<string | undefined> {
  const server = await findHeartbeat(deps.db);
  if (!server || Math.abs(now(deps) - server.at) > silentAfterSeconds) {
    return 'An email to the user was queued, but no running server was found: it will be sent once a server runs with SIGNET_SMTP_URL.';
  }
  if (server.mail === 'none') {
    return 'An email to the user was queued, but the server cannot send it because SIGNET_SMTP_URL is not set there. Set it within three days, or notify the user yourself.';
  }
  if (server.mail === 'log') {
    return 'An email to the user was queued, but the server only prints emails to its log, and nobody receives them: SIGNET_SMTP_URL is not set there. Set it, or notify the user yourself.';
  }
  return undefined;
}

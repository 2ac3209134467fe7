import type { Logger } from 'pino';
import { type Clock, now, type Timekeeper } from './clock.ts';
import type { Db } from './db/db.ts';
import { findHeartbeat, type Heartbeat, type MailMode, storeHeartbeat } from './store.ts';

export { findHeartbeat } from './store.ts';

/** Without a heartbeat, after which a server is considered down; servers record one every minute. */
const silentAfterSeconds = 300;
/** A heartbeat is written within a few seconds after its time was read. */
export const toleratedSkewSeconds = 10;
/** Nodes that differ by more are not trusted to delete what has expired. */
export const dangerousSkewSeconds = 300;
/** Without any server, during which the clock may have been set. */
const longSilenceSeconds = 3600;
const skewLogIntervalMs = 3_600_000;

type HeartbeatDeps = {
  db: Db;
  clock: Clock;
  log: Logger;
  node: string;
  timekeeper: Timekeeper;
  config: { readonly baseUrl: string };
  mail: { readonly mode: MailMode };
};

export type ServerHeartbeat = ReturnType<typeof openHeartbeat>;

/** Records for the command line and for other nodes that a server runs here and how, and compares the clocks of nodes. */
export function openHeartbeat(deps: HeartbeatDeps) {
  const { db, config, mail, node, timekeeper, log } = deps;
  const clock = () => new Date(deps.clock()).toISOString();
  let comparedAt: number | undefined;
  let skewLoggedAt = Number.NEGATIVE_INFINITY;

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

  async function record(isStart: boolean): Promise<void> {
    const last = await findHeartbeat(db);
    if (isStart) markUnsettledAfterSilence(last);
    compare(last);
    await storeHeartbeat(db, { node, at: now(deps), base_url: config.baseUrl, mail: mail.mode });
  }

  return {
    /** The first one of a server. */
    start: () => record(true),
    record: () => record(false),
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

import type { Logger } from 'pino';
import { type Clock, now } from '../clock.ts';
import type { Db } from '../db/db.ts';
import type { Timekeeper } from '../timekeeper.ts';
import type { Heartbeat } from './store.ts';

export type ClockDeps = { db: Db; clock: Clock; log: Logger; node: string; timekeeper: Timekeeper };

/** Seconds. A sign of life is written within a few seconds after its time was read. */
const tolerated = 10;
/** Seconds. Nodes that differ by more are not trusted to delete what has expired. */
const dangerous = 300;
/** Seconds without any server after which the clock may have been set meanwhile. */
const longSilence = 3600;
const toldAgainAfterMs = 3_600_000;

type Seen = { beatAt: number; toldAt?: number };
const seen = new WeakMap<Db, Seen>();

/**
 * Compares our clock with the time in the last sign of life. One of the future was written by a clock that is ahead of
 * ours. One that another node wrote since our own last one cannot be older than that, unless its clock is behind ours.
 */
export function compareClocks(deps: ClockDeps, last: Heartbeat | undefined): void {
  const { db, timekeeper } = deps;
  const at = timekeeper.monotonic();
  const before = seen.get(db);
  seen.set(db, { ...before, beatAt: at });
  if (!last || last.node === deps.node) return;
  const ahead = last.at - now(deps);
  const isWithin = before !== undefined && ahead < -(at - before.beatAt) / 1000 - tolerated;
  if (ahead <= tolerated && !isWithin) return;
  if (Math.abs(ahead) > dangerous) timekeeper.doubt();
  if (before?.toldAt !== undefined && at - before.toldAt < toldAgainAfterMs) return;
  seen.set(db, { beatAt: at, toldAt: at });
  deps.log.warn(
    { other_node_ahead_seconds: ahead, clock: new Date(deps.clock()).toISOString() },
    'the clock of this node and that of another one, or of an earlier run, disagree: codes and sessions of the one are refused by the other. Have both set by NTP',
  );
}

/**
 * At a start, when nobody has watched the clock: behind the last sign of life it was set back, or was wrong then. Far
 * ahead of it, it may be right or not, and so nothing is deleted for a while.
 */
export function compareAtStart(deps: ClockDeps, last: Heartbeat | undefined): void {
  const silent = last ? now(deps) - last.at : 0;
  if (silent > longSilence) {
    deps.timekeeper.doubt();
    deps.log.info(
      { silent_seconds: silent, clock: new Date(deps.clock()).toISOString() },
      'no server has run on this store for a while, or the clock of this machine is ahead; what has expired by it is deleted in 15 minutes',
    );
  }
  compareClocks(deps, last);
}

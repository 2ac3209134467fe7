import type { Logger } from 'pino';
import { type Clock, now } from '../clock.ts';
import type { Timekeeper } from '../timekeeper.ts';
import type { Heartbeat } from './store.ts';

export type ClockDeps = { clock: Clock; log: Logger; node: string; timekeeper: Timekeeper };

/** Seconds. A sign of life is written within a few seconds after its time was read. */
const tolerated = 10;
/** Seconds. Nodes that differ by more are not trusted to delete what has expired. */
const dangerous = 300;
/** Seconds without any server after which the clock may have been set meanwhile. */
const longSilence = 3600;
const loggedEveryMs = 3_600_000;

export type ClockComparison = {
  /**
   * Compares our clock with the time in the last sign of life. One of the future was written by a clock that is ahead of
   * ours. One that another node wrote since our own last one cannot be older than that, unless its clock is behind ours.
   */
  compare(last: Heartbeat | undefined): void;
  /**
   * At a start there is no earlier reading of the clock: behind the last sign of life it was set back, or was wrong then.
   * Far ahead of it, it may be right or not, and so nothing is deleted for a while.
   */
  compareAtStart(last: Heartbeat | undefined): void;
};

export function clockComparison(deps: ClockDeps): ClockComparison {
  const { timekeeper } = deps;
  let beatAt: number | undefined;
  let loggedAt: number | undefined;

  function compare(last: Heartbeat | undefined): void {
    const at = timekeeper.monotonic();
    const before = beatAt;
    beatAt = at;
    if (!last || last.node === deps.node) return;
    const ahead = last.at - now(deps);
    const isWithin = before !== undefined && ahead < -(at - before) / 1000 - tolerated;
    if (ahead <= tolerated && !isWithin) return;
    if (Math.abs(ahead) > dangerous) timekeeper.doubt();
    if (loggedAt !== undefined && at - loggedAt < loggedEveryMs) return;
    loggedAt = at;
    deps.log.warn(
      { other_node_ahead_seconds: ahead, clock: new Date(deps.clock()).toISOString() },
      'the clock of this node and that of another one, or of an earlier run, disagree: codes and sessions of the one are refused by the other. Have both set by NTP',
    );
  }

  return {
    compare,
    compareAtStart(last) {
      const silent = last ? now(deps) - last.at : 0;
      if (silent > longSilence) {
        timekeeper.doubt();
        deps.log.info(
          { silent_seconds: silent, clock: new Date(deps.clock()).toISOString() },
          'no server has run on this store for a while, or the clock of this machine is ahead; what has expired by it is deleted in 15 minutes',
        );
      }
      compare(last);
    },
  };
}

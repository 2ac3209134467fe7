import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

// Of work over many rows: jobs, exports, and the verification of the audit log. SQLite answers no request during a slice.

/** Of the event loop's time, as much as all of this work together takes while requests come, and while none do. */
export const shareOfTime = { busy: 1 / 4, idle: 3 / 4 };
/** The rows of a slice are so many that it takes about this much of that time. */
const sliceMs = { least: 5, aim: 6.5, most: 8 };
/** Between two slices of one work, also while no requests come. */
const leastPauseMs = 2;
/** Shorter ones are saved up, so that small jobs do not each wait for a timer. */
const shortestPauseMs = 10;
/** A process that stood still for an hour has used an hour, and no one may wait for three. */
const longestPauseMs = 1000;
/** So long after a request others are expected. */
const busyMs = 1000;

/** The most rows that one statement of such work changes. */
const mostRows = 500;
const firstRows = 50;
const leastRows = 5;

/** Milliseconds for which the event loop has run code, and for which it has waited, since some moment. */
type LoopTime = { readonly active: number; readonly idle: number };

/** Runs a slice once it is due. @param slice gets how many rows it may read or change. */
export type RunSlice = <Result>(slice: (rows: number) => Promise<Result>) => Promise<Result>;

/**
 * A slice is counted in time of the event loop, since it keeps no one from anything while it waits for the disk or for
 * PostgreSQL. What others do meanwhile counts as if it were the slice's: the busier the server, the slower such work.
 */
export function createPace({
  loopTime = (): LoopTime => performance.eventLoopUtilization(),
  wait = (ms: number): Promise<unknown> => sleep(ms),
  shares = shareOfTime,
} = {}) {
  let requests = 0;
  let knownRequests = 0;
  let busyUntil = 0;
  let pauseUntil = 0;
  let beganAt = 0;

  function now(): number {
    const { active, idle } = loopTime();
    if (requests !== knownRequests) busyUntil = active + idle + busyMs;
    knownRequests = requests;
    return active + idle;
  }

  function owedPause(): number {
    const ms = pauseUntil - now();
    return ms < shortestPauseMs ? 0 : ms;
  }

  /** What has waited for the end of a pause does not begin all at once. */
  function sinceAnother(): number {
    const ms = now() - beganAt;
    return ms >= 0 && ms < leastPauseMs ? leastPauseMs - ms : 0;
  }

  async function pause(least: number): Promise<void> {
    for (let ms = Math.max(least, owedPause()); ms > 0; ms = Math.max(owedPause(), sinceAnother())) {
      await wait(Math.ceil(ms));
    }
    beganAt = now();
  }

  /** The time of which this was the share begins with the slice, or where that of an earlier one ends. */
  function account(used: number, from: number): void {
    const at = now();
    const share = at < busyUntil ? shares.busy : shares.idle;
    if (used > 0) pauseUntil = Math.min(Math.max(pauseUntil, from) + used / share, at + longestPauseMs);
  }

  return {
    requestArrived(): void {
      requests += 1;
    },
    /** So many have arrived. */
    get requests(): number {
      return requests;
    },
    /** For one work, whose slices cost about the same. @param most rows of a slice. @param fewest where each waits for others, however few rows it has. */
    slices(most = mostRows, fewest = leastRows): RunSlice {
      let rows = Math.min(Math.max(firstRows, fewest), most);
      let least = 0;
      return async (slice) => {
        await pause(least);
        least = leastPauseMs;
        const before = loopTime();
        try {
          return await slice(rows);
        } finally {
          const used = loopTime().active - before.active;
          account(used, before.active + before.idle);
          if (used < sliceMs.least || used > sliceMs.most) {
            const fitting = Math.floor(rows * Math.min(sliceMs.aim / used, 2));
            rows = Math.min(Math.max(fitting, fewest), most);
          }
        }
      };
    },
  };
}

/** The one pace of all jobs of this process. */
export const pace = createPace();

/** Of reads that are promised by a time, however much the jobs have to do: half of the time, which no job shares. */
export const urgentPace = createPace({ shares: { busy: 1 / 2, idle: 1 / 2 } });

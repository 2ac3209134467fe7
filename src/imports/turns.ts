import { performance } from 'node:perf_hooks';

/** What one change stores, which holds the only lock of SQLite: as many as take about so long, the flush left out. */
const rowsAtOnce = { first: 20, least: 5, most: 200 };
const changeMs = { least: 10, most: 16 };

/**
 * One change at a time: while the disk flushes it, the lock of SQLite is free for a server. Other work than that is none of the
 * process, so it needs no pause.
 */
export function turns() {
  let last: Promise<unknown> = Promise.resolve();
  let rows = rowsAtOnce.first;

  async function timed<Result>(change: () => Promise<Result>): Promise<Result> {
    const before = performance.eventLoopUtilization();
    const result = await change();
    const ms = performance.eventLoopUtilization(before).active;
    if (ms > changeMs.most) rows = Math.max(Math.floor(rows * 0.8), rowsAtOnce.least);
    if (ms < changeMs.least) rows = Math.min(Math.ceil(rows * 1.2), rowsAtOnce.most);
    return result;
  }

  return {
    /** How many to change next. */
    get rows(): number {
      return rows;
    },
    run<Result>(change: () => Promise<Result>): Promise<Result> {
      const turn = last.then(() => timed(change));
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

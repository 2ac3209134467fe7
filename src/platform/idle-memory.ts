import { performance } from 'node:perf_hooks';
import { pace } from './pace.ts';

// Collecting all garbage, which also returns memory to the system, keeps every request waiting: for some 30 ms after a start, up to
// 100 ms after a load. V8 does it at a time of its own, and leaves more; here it is done when no request waits (decision 41).

/** Between two looks: after a start, and once the memory of that start has been returned. */
const lookMs = { atFirst: 200, later: 5000 };
/** With less work since the last time there is not enough to return. */
const leastWorkMs = 300;
/** The part of the event loop's time up to which nothing is at work; above it, jobs are. */
const calm = 0.1;

/** What an event loop has done so far. */
type Activity = { requests: number; active: number; idle: number };

/** @returns what each look calls: whether no request is kept waiting now, and there is something to return. */
export function createIdleWatch(start: Activity): (now: Activity) => boolean {
  let before = start;
  let workFrom = Number.NEGATIVE_INFINITY; // a start is work
  return (now) => {
    const active = now.active - before.active;
    const isIdle = now.requests === before.requests && active < calm * (active + now.idle - before.idle);
    before = now;
    if (!isIdle || now.active - workFrom < leastWorkMs) return false;
    workFrom = now.active;
    return true;
  };
}

/** Returns the memory that a start, and later each load, has used, once there are no requests. */
export function returnIdleMemory(): void {
  const collect = globalThis.gc;
  if (!collect) return; // bin/signet exposes it
  const activity = () => ({ ...performance.eventLoopUtilization(), requests: pace.requests });
  const isTime = createIdleWatch(activity());
  let waitMs = lookMs.atFirst;
  const look = () => {
    if (isTime(activity())) {
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      waitMs = lookMs.later;
    }
    setTimeout(look, waitMs).unref();
  };
  setTimeout(look, waitMs).unref();
}

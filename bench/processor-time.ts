import { readdirSync, readFileSync } from 'node:fs';

/**
 * What all threads of a process have used so far, in microseconds; NaN where the system does not say, which Linux does
 * (https://docs.kernel.org/scheduler/sched-stats.html).
 */
export function processorTime(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = threads.map((thread) =>
      Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'), 10),
    );
    return nanoseconds.reduce((sum, one) => sum + one) / 1000;
  } catch {
    return Number.NaN;
  }
}

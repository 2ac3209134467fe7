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

/** Resident memory of a process in MB; NaN where the system does not say. */
export function residentMemory(pid: number): number {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1000);
  } catch {
    return Number.NaN;
  }
}

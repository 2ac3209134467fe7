import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * What each thread of some processes has used so far, in microseconds, by the thread's id; NaN where the system does not
 * say, which Linux does (https://docs.kernel.org/scheduler/sched-stats.html).
 */
export function processorTimes(pids: number[]): Map<number, number> {
  return new Map(pids.flatMap((pid) => threadsOf(pid).map((thread) => [thread, timeOf(pid, thread)] as const)));
}

/** What was used between two readings, in microseconds. A thread that ended takes its own time with it, and no more. */
export function usedBetween(before: Map<number, number>, after: Map<number, number>): number {
  return after.entries().reduce((sum, [thread, time]) => sum + time - (before.get(thread) ?? 0), 0);
}

function threadsOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}

function timeOf(pid: number, thread: number): number {
  try {
    return Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'), 10) / 1000;
  } catch {
    return existsSync('/proc/self/schedstat') ? 0 : Number.NaN;
  }
}

/**
 * What all processors together have done so far, and what their host has kept them from (steal), in microseconds; NaN where the
 * system does not say (proc_stat(5)).
 */
export function machineTime(): number {
  try {
    const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'utf8')
      .split('\n', 1)[0]!
      .match(/\d+/g)!
      .map(Number);
    return [user, nice, system, irq, softirq, steal].reduce((sum: number, ticks) => sum + (ticks ?? 0), 0) * tickUs;
  } catch {
    return Number.NaN;
  }
}

/** Linux shows hundredths of a second, whatever it counts in. */
const tickUs = 10_000;

/** What a process has started and still runs, as far as the system says. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Resident memory of a process in MB; NaN where the system does not say. */
export const residentMemory = (pid: number): number => statusOf(pid, 'VmRSS');

/** The most that it has had, since {@link forgetPeak}. */
export const peakMemory = (pid: number): number => statusOf(pid, 'VmHWM');

export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5'); // proc_pid_clear_refs(5)

function statusOf(pid: number, name: string): number {
  try {
    const [, kilobytes] =
      new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1000);
  } catch {
    return Number.NaN;
  }
}

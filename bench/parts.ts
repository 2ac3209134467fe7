import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Contender } from './contender.ts';
import { machineTime, processorTimes, usedBetween } from './processor-time.ts';

/** Microseconds of processor for one answer, by who used them. */
export type Parts = {
  /** Threads that answer requests: the first of each process of the server. */
  event_loop: number;
  /** All other threads of the server. */
  threads: number;
  /** The processes of its database, which it may not have. */
  database: number;
  /** The process that sends the requests. */
  generator: number;
};

const partNames = ['event_loop', 'threads', 'database', 'generator'] as const;

/** A measurement of some seconds at most. */
export type Window = {
  /** Answers per second. */
  rate: number;
  parts: Parts;
  /** Processors that other work had, so that these were left out of those of the machine. */
  others: number;
};

/** What each part has used so far, by thread; {@link partsBetween} takes two of these. */
export function partTimes({ pid, helpers = () => [], database = () => [] }: Contender) {
  const ofDatabase = new Set(database());
  const processes = [pid, ...helpers()].filter((one) => !ofDatabase.has(one));
  const event_loop = new Map<number, number>();
  const threads = new Map<number, number>();
  for (const [thread, time] of processorTimes(processes)) {
    (processes.includes(thread) ? event_loop : threads).set(thread, time);
  }
  return {
    at: performance.now(),
    event_loop,
    threads,
    database: processorTimes([...ofDatabase]),
    generator: processorTimes([process.pid]),
    machine: machineTime(),
  };
}

export const partsBetween = (
  before: ReturnType<typeof partTimes>,
  after: ReturnType<typeof partTimes>,
  answers: number,
): Parts => {
  const part = (name: keyof Parts) => Math.round((10 * usedBetween(before[name], after[name])) / answers) / 10;
  return Object.fromEntries(partNames.map((name) => [name, part(name)])) as Parts;
};

/** How many processors whatever else runs on the machine has used meanwhile, the system's own work included. */
export function othersBetween(before: ReturnType<typeof partTimes>, after: ReturnType<typeof partTimes>): number {
  const own = partNames.reduce((sum, name) => sum + usedBetween(before[name], after[name]), 0);
  const others = (after.machine - before.machine - own) / (1000 * (after.at - before.at));
  return Math.round(100 * Math.max(0, others)) / 100;
}

export const usedByServer = ({ event_loop, threads, database }: Parts): number => event_loop + threads + database;

const flushes = 201;

/** @returns milliseconds until a page at the end of a file is on the disk of the servers, the median of many. */
export function flushTime(): number {
  const folder = mkdtempSync(join(tmpdir(), 'signet-flush-'));
  const file = openSync(join(folder, 'log'), 'w');
  const page = Buffer.alloc(4096, 1);
  try {
    const times = Array.from({ length: flushes }, () => {
      writeSync(file, page);
      const startedAt = performance.now();
      fdatasyncSync(file);
      return performance.now() - startedAt;
    });
    return Math.round(times.toSorted((a, b) => a - b)[flushes >> 1]! * 1000) / 1000;
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}

/** The one of several that has as many below as above it, by a figure of each. */
export const middle = <Value>(values: readonly Value[], figure: (value: Value) => number): Value =>
  values.toSorted((one, other) => figure(one) - figure(other))[(values.length - 1) >> 1]!;

import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { performance } from 'node:perf_hooks';
import timers from 'node:timers/promises';
import { newSuffix } from '../../src/platform/ids.ts';
import type { Random } from '../support/seeded-random.ts';

const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  sleep: timers.setTimeout,
  randomFillSync: crypto.randomFillSync,
  eventLoopUtilization: performance.eventLoopUtilization,
};

type Timer = { due: number; order: number; run: () => void };

/** Time that passes only when it is told to, with the timers of everything that runs meanwhile; and chance by a seed. */
export class VirtualTime {
  #now: number;
  #order = 0;
  #timers = new Set<Timer>();

  constructor(startsAt: number, random: Random) {
    this.#now = startsAt;
    const wait = (run: () => void, ms = 0) => this.#add(run, ms);
    Object.assign(globalThis, {
      setTimeout: (run: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => wait(() => run(...args), ms),
      setInterval: (run: () => void, ms = 0) => this.#every(run, ms),
      clearTimeout: (timer: { stop?: () => void } | undefined) => timer?.stop?.(),
      clearInterval: (timer: { stop?: () => void } | undefined) => timer?.stop?.(),
    });
    const sleep = <Value>(ms?: number, value?: Value) =>
      new Promise<Value | undefined>((resolve) => wait(() => resolve(value), ms));
    Object.assign(timers, { setTimeout: sleep });
    Object.assign(performance, { eventLoopUtilization: () => ({ active: 0, idle: this.#now }) });
    let isSeeded = false;
    Object.assign(crypto, {
      randomFillSync: (bytes: Buffer) => {
        isSeeded = true;
        for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(random.below(2 ** 32), at);
        return bytes;
      },
    });
    syncBuiltinESMExports();
    while (!isSeeded) newSuffix(); // what was drawn before and is not used yet has another seed
  }

  /** Gives the process its own time and chance back. */
  end(): void {
    const { setTimeout, clearTimeout, setInterval, clearInterval, sleep, randomFillSync, eventLoopUtilization } = real;
    Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
    Object.assign(timers, { setTimeout: sleep });
    Object.assign(crypto, { randomFillSync });
    Object.assign(performance, { eventLoopUtilization });
    syncBuiltinESMExports();
  }

  /** Milliseconds since 1970. */
  readonly clock = (): number => this.#now;

  #add(run: () => void, ms: number) {
    this.#order += 1;
    const timer: Timer = { due: this.#now + Math.max(ms, 1), order: this.#order, run };
    this.#timers.add(timer);
    const stop = () => this.#timers.delete(timer);
    const handle = { stop, unref: () => handle, ref: () => handle, hasRef: () => true, refresh: () => handle };
    return handle;
  }

  #every(run: () => void, ms: number) {
    let current = this.#add(again, ms);
    const handle = { stop: () => current.stop(), unref: () => handle, ref: () => handle };
    const add = () => {
      current = this.#add(again, ms);
    };
    function again() {
      add();
      run();
    }
    return handle;
  }

  #first(): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (!first || timer.due < first.due || (timer.due === first.due && timer.order < first.order)) first = timer;
    }
    return first;
  }

  /** Milliseconds to the next timer; undefined if none waits. */
  get untilNext(): number | undefined {
    const first = this.#first();
    return first && Math.max(first.due - this.#now, 0);
  }

  fireNext(): void {
    const first = this.#first();
    if (!first) return;
    this.#timers.delete(first);
    this.#now = Math.max(this.#now, first.due);
    first.run();
  }

  /** Timers that fall due are late: they fire afterwards, in order, as after a pause of the process. */
  advance(ms: number): void {
    this.#now += ms;
  }
}

/** Until everything that can go on without store and time has gone on. */
export const settled = (): Promise<void> => new Promise((resolve) => real.setImmediate(resolve));

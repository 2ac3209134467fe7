import type { Logger } from 'pino';

/** Milliseconds since the Unix epoch. Handed in so that a test can move it. */
export type Clock = () => number;

/** Whether there is a date for it (ECMA-262 §21.4.1.1). @param at Unix seconds. */
export const isInCalendar = (at: number): boolean => Math.abs(at) <= latestDate;

/** Unix seconds. */
export const latestDate = 8_640_000_000_000;

/** Unix seconds, the unit of every stored time. */
export const now = (deps: { clock: Clock }): number => Math.floor(deps.clock() / 1000);

/**
 * Whether the clock is reliable enough for changes that cannot be undone. A clock that jumps ahead for a minute would
 * otherwise delete every session that only seems to have expired, and rotate keys that are not due.
 */
export type Timekeeper = {
  /**
   * Compares the clock with the monotonic one, and logs a jump. Cheap: serving processes ask every second.
   * @returns false from a jump on, in either direction, until the clock has gone on steadily for a quarter of an hour.
   */
  isSettled(): boolean;
  /** Treats the clock as unsettled from now on, as after a jump. The caller logs why. */
  doubt(): void;
  /** Milliseconds since some moment; they only rise, also when the clock is set. */
  readonly monotonic: Clock;
};

/** A slewed clock drifts by half a millisecond a second; a process that is stopped between two comparisons, more. */
const jumpMs = 5000;
const settlesAfterMs = 15 * 60_000;

type Clocks = {
  clock: Clock;
  /** Left out in tests that move the clock, which then counts as settled. */
  monotonic?: Clock;
  log: Logger;
};

export function openTimekeeper({ clock, monotonic = clock, log }: Clocks): Timekeeper {
  let offset = clock() - monotonic();
  let settledAt = monotonic();
  const doubt = () => {
    settledAt = monotonic() + settlesAfterMs;
  };
  return {
    monotonic,
    doubt,
    isSettled() {
      const jumped = clock() - monotonic() - offset;
      offset += jumped;
      if (Math.abs(jumped) > jumpMs) {
        doubt();
        log.warn(
          { jumped_seconds: Math.round(jumped / 1000), clock: new Date(clock()).toISOString() },
          'the clock of this machine was changed; expired data is not deleted until it has been stable for 15 minutes',
        );
      }
      return monotonic() >= settledAt;
    },
  };
}

import type { Logger } from 'pino';

/** Milliseconds since the Unix epoch. Handed in so that a test can move it. */
export type Clock = () => number;

/** Unix seconds: the last that `Date` represents (ECMA-262 §21.4.1.1). */
export const latestDate = 8_640_000_000_000;

/** @param at Unix seconds. */
export const isInCalendar = (at: number): boolean => Math.abs(at) <= latestDate;

/** Unix seconds, the unit of every stored time. */
export const now = (deps: { clock: Clock }): number => Math.floor(deps.clock() / 1000);

/** A slewed clock drifts by half a millisecond a second; a process that is stopped between two comparisons, more. */
const jumpMs = 5000;
const settlesAfterMs = 15 * 60_000;

export type Timekeeper = ReturnType<typeof openTimekeeper>;

/** After a clock that jumps ahead, sessions only seem to have expired, and keys only seem to be due for rotation. */
export function openTimekeeper({ clock, monotonic = clock, log }: { clock: Clock; monotonic?: Clock; log: Logger }) {
  let offset = clock() - monotonic();
  let settledAt = monotonic();
  const markUnsettled = () => {
    settledAt = monotonic() + settlesAfterMs;
  };
  return {
    /** Milliseconds since some moment; they only rise, also when the clock is set. */
    monotonic,
    /** Treats the clock as unsettled from now on, as after a jump. The caller logs why. */
    markUnsettled,
    /**
     * Compares the clock with the monotonic one, and logs a jump. Cheap: serving processes ask every second.
     * @returns false from a jump on, in either direction, until the clock has run steadily for a quarter of an hour.
     */
    isSettled(): boolean {
      const jumped = clock() - monotonic() - offset;
      offset += jumped;
      if (Math.abs(jumped) > jumpMs) {
        markUnsettled();
        log.warn(
          { jumped_seconds: Math.round(jumped / 1000), clock: new Date(clock()).toISOString() },
          'the clock of this machine was changed; expired data is not deleted until it has been stable for 15 minutes',
        );
      }
      return monotonic() >= settledAt;
    },
  };
}

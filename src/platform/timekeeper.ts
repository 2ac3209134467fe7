import type { Logger } from 'pino';
import type { Clock } from './clock.ts';

/**
 * Whether the clock may be believed in what cannot be taken back. A clock that jumps ahead for a minute would else delete
 * every session that it takes to be over, and rotate keys that are not due.
 */
export type Timekeeper = {
  /**
   * Compares the clock with one that nobody can set, and logs a jump. Cheap: serving processes ask every second.
   * @returns false from a jump on, in either direction, until the clock has gone on steadily for a quarter of an hour.
   */
  isSettled(): boolean;
  /** Takes the clock to be unsettled from now on, as after a jump. Whoever calls it has logged why. */
  doubt(): void;
  /** Milliseconds since some moment; they only rise, whatever is done to the clock. */
  readonly monotonic: Clock;
};

/** A clock that is slewed drifts by half a millisecond a second; a process that is stopped between two looks, more. */
const jumpMs = 5000;
const settlesAfterMs = 15 * 60_000;

type Clocks = {
  clock: Clock;
  /** Left out where the clock is not one of the world's: a test moves it, and it counts as settled. */
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
          'the clock of this machine was set; until it has stood for 15 minutes nothing that has expired is deleted',
        );
      }
      return monotonic() >= settledAt;
    },
  };
}

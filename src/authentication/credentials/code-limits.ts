import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { UserId } from '../../platform/ids.ts';
import {
  type Backoff,
  Counter,
  type CounterDeps,
  clearCounter,
  countConsecutive,
  windowLimit,
} from '../../platform/limits/failure-limits.ts';

const year = 365 * 86_400;

/** Decisions §13. Each sign-in has a few attempts; this bounds those of all sign-ins together. */
const hourlyLimit = (deps: CounterDeps, user_id: UserId) =>
  windowLimit(deps, { name: 'second-factor', limit: deps.config.limits.codesPerHour, windowSeconds: 3600 }, () =>
    deps.db.of(user_id),
  );

/**
 * Six digits with a step either side are three in a million, so ten guesses an hour would succeed after some years. As
 * with passwords, a hundred failures in a row disable codes (SP 800-63B-4 §3.2.2) until another factor was right, or until
 * there is a new secret.
 */
const inARow = ({ config: { limits } }: CounterDeps): Backoff => ({
  firstBlockAt: limits.codesInARow,
  firstBlockSeconds: 3600,
  longestBlockSeconds: 3600,
  disabledAt: limits.codesInARow,
  memorySeconds: { unblocked: year, blocked: year },
});

type CodeGuess = {
  user_id: string;
  /** When the secret was confirmed; a new one begins with a clean count. Unix seconds. */
  confirmed_at: number;
  /** The browser, if this user has passed a second step with it. */
  device_hash?: string | undefined;
};

export type CodeLimits = ReturnType<typeof codeLimits>;

/**
 * Limits on guessing TOTP codes. A known device has a counter of its own, and all unknown devices share one: so an attacker
 * who knows the password uses up the attempts of unknown devices only. Backup codes are not counted: 120 random bits cannot
 * be guessed, and the user needs them when these attempts are used up.
 */
export function codeLimits(deps: CounterDeps, { user_id, confirmed_at, device_hash }: CodeGuess) {
  const hourly = hourlyLimit(deps, user_id);
  const rowOf = (subject: string) => `totp-in-a-row:${subject}:${confirmed_at}`;
  const forgetAt = (subject: string): Sql[] => [hourly.forget(subject), clearCounter(rowOf(subject))];
  const here = device_hash === undefined ? user_id : `${user_id}:${device_hash}`;
  return {
    /**
     * Counts a code as wrong before it is checked, so that of any number at once no more are checked than may be wrong.
     * @returns false when codes are disabled after too many failures in a row.
     * @throws {RequestError} `rate_limited` beyond the limit of an hour.
     */
    async take(): Promise<boolean> {
      if (!deps.config.rateLimits) return true;
      await hourly.take(here); // first, so that reaching the limit in a row takes hours
      const { rows } = await deps.db.of(user_id).run(Counter, countConsecutive(rowOf(here), inARow(deps), now(deps)));
      return rows[0]?.blocked_until === 0;
    },
    /** For the batch of a right code: clears the counters of its browser. */
    forget: () => forgetAt(here),
    /** For the batch of another factor that was right: clears all counters, also one that had disabled codes. */
    open: () => [...new Set([user_id, here])].flatMap(forgetAt),
  };
}

/** After a new password. The counter in a row stays, or control of a mailbox would allow more guesses with each reset. */
export const clearHourlyCodeFailures = (deps: CounterDeps, user_id: string): Sql =>
  hourlyLimit(deps, user_id).forget(user_id);

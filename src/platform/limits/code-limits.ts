import { now } from '../clock.ts';
import type { Statement } from '../db/db.ts';
import { type CounterDeps, windowLimit } from './failure-limits.ts';
import { type Backoff, type Counter, clearCounter, countConsecutive } from './store.ts';

const year = 365 * 86_400;

/** Decisions §13. Each sign-in has a few tries; this bounds those of all sign-ins together. */
const hourlyLimit = (deps: CounterDeps) =>
  windowLimit(deps, { name: 'second-factor', limit: deps.config.limits.codesPerHour, windowSeconds: 3600 });

/**
 * Six digits with a step either side are three in a million, so ten an hour without an end are a way in after some
 * years. As with passwords, a hundred in a row at most are the end (SP 800-63B-4 §3.2.2): codes count no more until
 * another factor was right, or until there is a new secret.
 */
const inARow = ({ config: { limits } }: CounterDeps): Backoff => ({
  firstBlockAt: limits.codesInARow,
  firstBlockSeconds: 3600,
  longestBlockSeconds: 3600,
  disabledAt: limits.codesInARow,
  memorySeconds: { unblocked: year, blocked: year },
});

/** Whose codes are guessed, and from where. */
type CodeGuess = {
  user_id: string;
  /** When the secret came into force; a new one begins with a clean count. Unix seconds. */
  confirmed_at: number;
  /** The browser, if this person has passed a second step with it: nobody who guesses from elsewhere can use it. */
  device_hash?: string | undefined;
};

export type CodeLimits = {
  /**
   * Counts one code that is about to be looked at, as if it were wrong: of any number at once no more are looked at than
   * may be wrong.
   * @returns false when there were so many in a row that none is looked at any more.
   * @throws {RequestError} `rate_limited` after as many within an hour as may be wrong.
   */
  take(): Promise<boolean>;
  /** For the batch of a right code: what was counted where it came from. */
  forget(): Statement[];
  /** For the batch of another factor that was right: what was counted anywhere, also if it had ended the codes. */
  open(): Statement[];
};

/**
 * Limits on guessing TOTP codes. A browser that is known to belong to the person counts by itself, and all others
 * together: so whoever knows the password can use up the tries of strangers, and not those of the owner's own browser.
 * Backup codes are not counted: 120 random bits cannot be guessed, and they are what is left when these are used up.
 */
export function codeLimits(deps: CounterDeps, { user_id, confirmed_at, device_hash }: CodeGuess): CodeLimits {
  const hourly = hourlyLimit(deps);
  const rowOf = (subject: string) => `totp-in-a-row:${subject}:${confirmed_at}`;
  const forgetAt = (subject: string) => [hourly.forget(subject), clearCounter(rowOf(subject))];
  const here = device_hash === undefined ? user_id : `${user_id}:${device_hash}`;

  async function take(): Promise<boolean> {
    if (!deps.config.rateLimits) return true;
    await hourly.take(here); // first, so that nobody runs through all in a row in less than some hours
    const { sql, params } = countConsecutive(rowOf(here), inARow(deps), now(deps));
    const { rows } = await deps.db.run(sql, params);
    return (rows[0] as Counter | undefined)?.blocked_until === 0;
  }

  return {
    take,
    forget: () => forgetAt(here),
    open: () => [...new Set([user_id, here])].flatMap(forgetAt),
  };
}

/**
 * For a change of the password: whoever used up the hour knew the old one. What was counted in a row stays, or control
 * of somebody's mailbox would buy as many guesses as resets.
 */
export const clearHourlyCodeFailures = (deps: CounterDeps, user_id: string): Statement =>
  hourlyLimit(deps).forget(user_id);

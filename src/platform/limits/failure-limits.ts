import { type Clock, now } from '../clock.ts';
import { returning } from '../db/change.ts';
import type { Db } from '../db/db.ts';
import type { Sql } from '../db/sql.ts';
import { emailKey } from '../email-address.ts';
import { rateLimited, refusal } from '../errors.ts';
import { digest } from '../ids.ts';
import { addressKey } from '../ip-address.ts';
import type { Limits } from './limit-settings.ts';
import {
  type Backoff,
  Counter,
  clearCounter,
  clearDeviceCounters,
  clearUnlessBlocked,
  countConsecutive,
  countInWindow,
  never,
  readCounters,
  takeFromWindow,
  type Window,
  worstCounter,
} from './store.ts';

export { purgeFailureCounters, type Window } from './store.ts';

export type CounterDeps = {
  db: Db;
  clock: Clock;
  config: { readonly rateLimits: boolean; readonly limits: Limits };
};

const day = 86_400;

/**
 * SP 800-63B-4 §3.2.2: waits "30 seconds up to an hour", and at 100 consecutive failures the password is disabled.
 * "Consecutive" has no end there, but a table must have one: below the first block a failure is remembered for 30 days,
 * which allows 4 guesses a month; after a block for a year.
 */
const perAccount = ({ limits }: CounterDeps['config']): Backoff => ({
  firstBlockAt: limits.passwordFailures,
  firstBlockSeconds: limits.passwordBlockSeconds,
  longestBlockSeconds: limits.passwordLongestBlockSeconds,
  disabledAt: limits.passwordFailuresInARow,
  memorySeconds: { unblocked: 30 * day, blocked: 365 * day },
});
/** The effect of wrong passwords on an account. `blocked_until` is Unix seconds; null while it is open. */
export type LockState = { failures: number; blocked_until: number | null /** Until a reset. */; disabled: boolean };

/**
 * Limits on guessing passwords. Failures are counted and successes are not: legitimate traffic of any volume meets no limit
 * (decisions §13). An account is a hash of its normalised email, whether it exists or not: a guesser learns nothing from
 * which accounts are blocked, and the table keeps no list of mistyped addresses.
 *
 * A known device has a counter of its own, and all unknown devices share one, as for TOTP codes: so an attacker uses up the
 * attempts of unknown devices only. A known device has as many attempts as all unknown ones together, so a stolen device
 * cookie is worth as many guesses as one more account.
 * @param knownDevice the hash of a device on which the user has signed in with the current password.
 */
export function passwordLimits(deps: CounterDeps, knownDevice?: string) {
  const unknownDevicesCounter = (email: string) => `password-account:${digest(emailKey(email))}`;
  const devicesOf = (email: string) => ({
    prefix: `password-device:${digest(emailKey(email))}:`,
    email_key: emailKey(email),
  });
  const accountCounter = (email: string) =>
    knownDevice === undefined ? unknownDevicesCounter(email) : devicesOf(email).prefix + knownDevice;
  // Few passwords tried on many accounts never meet the limit of one account.
  const { passwordAddressFailures: limit, passwordAddressSeconds: windowSeconds } = deps.config.limits;
  const addressCounter = (address: string) => `password-address:${addressKey(address)}`;

  async function readUnlessBlocked(email: string, address: string): Promise<Counter[]> {
    if (!deps.config.rateLimits) return [];
    const counters = await readCounters(deps.db, [accountCounter(email), addressCounter(address)]);
    refuseIfBlocked(deps, counters);
    return counters;
  }

  return {
    /**
     * Before verifying. One read.
     * @throws {RequestError} `rate_limited` while the account or the address is blocked; `access_denied` when so many in
     * a row were wrong that only a reset opens the account.
     */
    async check(email: string, address: string): Promise<void> {
      await readUnlessBlocked(email, address);
    },

    /** @returns consecutive failures of the account, this one included; 0 when limits are off. */
    async failed(email: string, address: string): Promise<number> {
      if (!deps.config.rateLimits) return 0;
      // Accounts before addresses, always: two batches then never wait for each other's row.
      const account = countConsecutive(accountCounter(email), perAccount(deps.config), now(deps));
      const ofAddress = countInWindow(addressCounter(address), { limit, windowSeconds }, now(deps));
      const { results } = await deps.db.change({ run: { account: returning(Counter, account), ofAddress } });
      return counterOf(results.account.rows).failures;
    },

    /**
     * After the right password, before anything is given for it: checks again, since the block may have begun while this
     * password was being verified, and only then clears the account's failures. The address keeps its count: signing in to
     * one's own account must not reset it.
     * @throws {RequestError} `rate_limited` as in `check`; the right password must then be treated as refused.
     */
    async succeeded(email: string, address: string): Promise<void> {
      const account = accountCounter(email);
      const counters = await readUnlessBlocked(email, address);
      if (!counters.some(({ counter_key }) => counter_key === account)) return;
      const { changes } = await deps.db.run(clearUnlessBlocked(account, now(deps)));
      // Nothing cleared: another sign-in cleared it first, or failures blocked it since the read.
      if (changes === 0) await readUnlessBlocked(email, address);
    },

    /** For a password reset: opens the account again on any browser, even when 100 failures had disabled its password. */
    reset: (email: string): Sql[] => [
      clearCounter(unknownDevicesCounter(email)),
      clearDeviceCounters(devicesOf(email)),
    ],

    /** For support: the worst of the user's counters, of unknown browsers or of a known one. One read. */
    async lockStateOf(email: string): Promise<LockState> {
      const worst = await worstCounter(deps.db, unknownDevicesCounter(email), devicesOf(email));
      const { failures, blocked_until } = worst ?? { failures: 0, blocked_until: 0 };
      const isBlocked = blocked_until > now(deps);
      return {
        failures,
        blocked_until: isBlocked ? blocked_until : null,
        disabled: isBlocked && blocked_until === never,
      };
    },
  };
}

export type ClientSecretLimits = ReturnType<typeof openClientSecretLimits>;

/**
 * Limits on guessing client secrets, by client and address, so that failures elsewhere do not block the client. They spare
 * the store: the right secret never causes a query. Each process remembers which clients are blocked, and learns it with its
 * first failure, so `n` processes allow `n` guesses more, which is nothing against 256 random bits.
 */
export function openClientSecretLimits(deps: CounterDeps) {
  const blocked = new Map<string, Counter>();
  const perMinute = { limit: deps.config.limits.clientSecretFailures, windowSeconds: 60 };
  const counterKey = (client_id: string, address: string) => `client-secret:${client_id}:${addressKey(address)}`;
  return {
    /** In memory only. @throws {RequestError} `rate_limited` while this client is known to be blocked for this address. */
    check(client_id: string, address: string): void {
      const counter = blocked.get(counterKey(client_id, address));
      if (counter) refuseIfBlocked(deps, [counter]);
    },

    /** After a wrong secret of a registered client. An unknown one has no secret to guess and must not make rows. */
    async failed(client_id: string, address: string): Promise<void> {
      if (!deps.config.rateLimits) return;
      const key = counterKey(client_id, address);
      const count = countInWindow(key, perMinute, now(deps));
      const counter = counterOf((await deps.db.run(Counter, count)).rows);
      if (counter.blocked_until > now(deps)) remember(blocked, counter);
    },
  };
}

/** For each subject, which is an id or an {@link addressKey}: short. @param limit with a unique `name`. */
export function windowLimit(deps: CounterDeps, limit: Window & { name: string }) {
  const isOn = deps.config.rateLimits;
  const counterKey = (subject: string) => `${limit.name}:${subject}`;

  /** @throws {RequestError} `rate_limited` while the window is full. One read. */
  async function check(subject: string): Promise<void> {
    if (isOn) refuseIfBlocked(deps, await readCounters(deps.db, [counterKey(subject)]));
  }

  /** Counts one that has happened, also beyond the limit. */
  async function failed(subject: string): Promise<void> {
    if (isOn) await deps.db.run(countInWindow(counterKey(subject), limit, now(deps)));
  }

  /** As `take`, for actions that may be left out silently. @returns whether it was within the limit. */
  async function mayTake(subject: string): Promise<boolean> {
    if (!isOn) return true;
    const { rows } = await deps.db.run(Counter, takeFromWindow(counterKey(subject), limit, now(deps)));
    return rows.length > 0;
  }

  /**
   * Counts one that is about to happen: of any number at once exactly `limit` succeed. For what is worth counting
   * when it succeeds (registrations), and for guesses too few to be checked first and counted later (TOTP).
   * @throws {RequestError} `rate_limited` when the window is full.
   */
  async function take(subject: string): Promise<void> {
    if (await mayTake(subject)) return;
    await check(subject); // throws with the time to wait
    throw rateLimited(1); // the window ended between the two statements
  }

  const forget = (subject: string): Sql => clearCounter(counterKey(subject));
  return { check, failed, take, mayTake, forget };
}

/** Waiting does not open a disabled password. Every email address is answered alike, known or not. */
function refuseIfBlocked(deps: CounterDeps, counters: readonly Counter[]): void {
  if (counters.some(({ blocked_until }) => blocked_until === never)) {
    throw refusal('access_denied', { key: 'signin.password_disabled' });
  }
  const seconds = Math.max(0, ...counters.map(({ blocked_until }) => blocked_until - now(deps)));
  if (seconds > 0) throw rateLimited(seconds);
}

function counterOf(rows: readonly Counter[]): Counter {
  const [counter] = rows;
  if (!counter) throw new Error('A count returned no row.');
  return counter;
}

/** Entries; a few megabytes at most. Beyond it the oldest is forgotten, which costs one counted failure, not safety. */
const maxRemembered = 10_000;

function remember(blocked: Map<string, Counter>, counter: Counter): void {
  blocked.delete(counter.counter_key); // A key set again keeps its old place in a Map; the newest belongs last.
  blocked.set(counter.counter_key, counter);
  const [oldest] = blocked.keys();
  if (blocked.size > maxRemembered && oldest !== undefined) blocked.delete(oldest);
}

/** Decisions §13. Each sign-in has a few attempts; this bounds those of all sign-ins together. */
const hourlyLimit = (deps: CounterDeps) =>
  windowLimit(deps, { name: 'second-factor', limit: deps.config.limits.codesPerHour, windowSeconds: 3600 });

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
  memorySeconds: { unblocked: 365 * day, blocked: 365 * day },
});

type CodeGuess = {
  user_id: string;
  /** When the secret came into force; a new one begins with a clean count. Unix seconds. */
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
  const hourly = hourlyLimit(deps);
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
      const { rows } = await deps.db.run(Counter, countConsecutive(rowOf(here), inARow(deps), now(deps)));
      return rows[0]?.blocked_until === 0;
    },
    /** For the batch of a right code: clears the counters of its browser. */
    forget: () => forgetAt(here),
    /** For the batch of another factor that was right: clears all counters, also one that had disabled codes. */
    open: () => [...new Set([user_id, here])].flatMap(forgetAt),
  };
}

/** After a new password. The counter in a row stays, or control of a mailbox would allow more guesses with each reset. */
export const clearHourlyCodeFailures = (deps: CounterDeps, user_id: string): Sql => hourlyLimit(deps).forget(user_id);

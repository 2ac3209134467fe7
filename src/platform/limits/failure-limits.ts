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
 * Guesses at one account's password. SP 800-63B-4 §3.2.2: waits "30 seconds up to an hour", and at 100 consecutive
 * failures the password is disabled. "Consecutive" has no end there, but a table must have one: below the first block
 * a failure is remembered for 30 days, so patience buys 4 guesses a month; after a block for a year.
 */
const perAccount = ({ limits }: CounterDeps['config']): Backoff => ({
  firstBlockAt: limits.passwordFailures,
  firstBlockSeconds: limits.passwordBlockSeconds,
  longestBlockSeconds: limits.passwordLongestBlockSeconds,
  disabledAt: limits.passwordFailuresInARow,
  memorySeconds: { unblocked: 30 * day, blocked: 365 * day },
});
/** Guesses from one address at any account: few passwords tried on many accounts never meet the limit above. */
const perAddress = ({ limits }: CounterDeps['config']): Window => ({
  limit: limits.passwordAddressFailures,
  windowSeconds: limits.passwordAddressSeconds,
});
/** Wrong client secrets, by client and address, so that failures elsewhere do not block the client itself. */
const perClientAndAddress = ({ limits }: CounterDeps['config']): Window => ({
  limit: limits.clientSecretFailures,
  windowSeconds: 60,
});

/** Failures are counted and successes are not: legitimate traffic of any volume meets no limit (decisions §13). */
type PasswordLimits = {
  /**
   * Before verifying. One read.
   * @throws {RequestError} `rate_limited` while the account or the address is blocked; `access_denied` when so many in
   * a row were wrong that only a reset opens the account.
   */
  check(email: string, address: string): Promise<void>;
  /**
   * After a wrong password: counts it for account and address in one batch.
   * @returns consecutive failures of the account, this one included; 0 when limits are off.
   */
  failed(email: string, address: string): Promise<number>;
  /**
   * After the right password, before anything is given for it: checks again, since the block may have begun while this
   * password was being verified, and only then forgets the account's failures. One read, one write if there is
   * something to forget. The address keeps its count: signing in to an own account must not reset it.
   * @throws {RequestError} `rate_limited` as in `check`; the right password must then be treated as refused.
   */
  succeeded(email: string, address: string): Promise<void>;
  /** For a password reset: opens the account again, even when 100 failures had disabled its password, on any browser. */
  reset(email: string): Sql[];
  /**
   * For support: the worst of the user's counters, of unknown browsers or of a known one. One read.
   */
  lockStateOf(email: string): Promise<LockState>;
};

/** The effect of wrong passwords on an account. `blocked_until` is Unix seconds; null while it is open. */
export type LockState = { failures: number; blocked_until: number | null /** Until a reset. */; disabled: boolean };

/**
 * Limits on guessing passwords. An account is a hash of its normalised e-mail, known to us or not: a guesser learns
 * nothing from who gets blocked, and the table keeps no list of addresses that people mistyped.
 *
 * A known device has a counter of its own, and all unknown devices share one, as for TOTP codes: so an attacker uses up the
 * attempts of unknown devices only. A known device has as many attempts as all unknown ones together, so a stolen device
 * cookie is worth as many guesses as one more account.
 * @param knownDevice the hash of a device on which the user has signed in with the current password.
 */
export function passwordLimits(deps: CounterDeps, knownDevice?: string): PasswordLimits {
  const unknownDevicesCounter = (email: string) => `password-account:${digest(emailKey(email))}`;
  const devicePrefix = (email: string) => `password-device:${digest(emailKey(email))}:`;
  const accountCounter = (email: string) =>
    knownDevice === undefined ? unknownDevicesCounter(email) : devicePrefix(email) + knownDevice;
  const addressCounter = (address: string) => `password-address:${addressKey(address)}`;

  async function readUnlessBlocked(email: string, address: string): Promise<Counter[]> {
    const counters = await readCounters(deps.db, [accountCounter(email), addressCounter(address)]);
    refuseIfBlocked(deps, counters);
    return counters;
  }

  async function succeeded(email: string, address: string): Promise<void> {
    const account = accountCounter(email);
    const counters = await readUnlessBlocked(email, address);
    if (!counters.some(({ counter_key }) => counter_key === account)) return;
    const { changes } = await deps.db.run(clearUnlessBlocked(account, now(deps)));
    // Nothing forgotten: another sign-in forgot it first, or failures blocked it since the read. Look again.
    if (changes === 0) await readUnlessBlocked(email, address);
  }

  async function failed(email: string, address: string): Promise<number> {
    // Accounts before addresses, always: two batches then never wait for each other's row.
    const account = countConsecutive(accountCounter(email), perAccount(deps.config), now(deps));
    const ofAddress = countInWindow(addressCounter(address), perAddress(deps.config), now(deps));
    const { results } = await deps.db.change({ run: { account: returning(Counter, account), ofAddress } });
    return counterOf(results.account.rows).failures;
  }

  const reset = (email: string) => [
    clearCounter(unknownDevicesCounter(email)),
    clearDeviceCounters({ prefix: devicePrefix(email), email_key: emailKey(email) }),
  ];
  async function lockStateOf(email: string): Promise<LockState> {
    const [strangers, prefix] = [unknownDevicesCounter(email), devicePrefix(email)];
    const worst = await worstCounter(deps.db, strangers, { prefix, email_key: emailKey(email) });
    const { failures, blocked_until } = worst ?? { failures: 0, blocked_until: 0 };
    const isBlocked = blocked_until > now(deps);
    return {
      failures,
      blocked_until: isBlocked ? blocked_until : null,
      disabled: isBlocked && blocked_until === never,
    };
  }
  if (!deps.config.rateLimits) return { check: nothing, failed: async () => 0, succeeded: nothing, reset, lockStateOf };
  const check = async (email: string, address: string) => void (await readUnlessBlocked(email, address));
  return { check, failed, succeeded, reset, lockStateOf };
}

export type ClientSecretLimits = {
  /**
   * Before verifying. Looks into memory only.
   * @throws {RequestError} `rate_limited` while this client is known to be blocked for this address.
   */
  check(client_id: string, address: string): void;
  /** After a wrong secret of a registered client. An unknown one has no secret to guess and must not make rows. */
  failed(client_id: string, address: string): Promise<void>;
};

/**
 * Limits on guessing client secrets. The right secret never touches the store, not even to be checked: each process
 * remembers which clients it saw blocked. Another process learns it with the first failure that reaches it, so `n` processes
 * allow `n` guesses more, which is nothing against 256 random bits; the limit is here to spare the store.
 */
export function openClientSecretLimits(deps: CounterDeps): ClientSecretLimits {
  if (!deps.config.rateLimits) return { check() {}, failed: nothing };
  const blocked = new Map<string, Counter>();
  const counterKey = (client_id: string, address: string) => `client-secret:${client_id}:${addressKey(address)}`;
  return {
    check(client_id, address) {
      const counter = blocked.get(counterKey(client_id, address));
      if (counter) refuseIfBlocked(deps, [counter]);
    },
    async failed(client_id, address) {
      const key = counterKey(client_id, address);
      const count = countInWindow(key, perClientAndAddress(deps.config), now(deps));
      const counter = counterOf((await deps.db.run(Counter, count)).rows);
      if (counter.blocked_until > now(deps)) remember(blocked, counter);
    },
  };
}

type WindowLimit = {
  /** @throws {RequestError} `rate_limited` while the window is full. One read. */
  check(subject: string): Promise<void>;
  /** Counts one that has happened, also beyond the limit. */
  failed(subject: string): Promise<void>;
  /**
   * Counts one that is about to happen: of any number at once exactly `limit` get through. For what is worth counting
   * when it succeeds (registrations), and for guesses too few to be checked first and counted later (TOTP).
   * @throws {RequestError} `rate_limited` when the window is full.
   */
  take(subject: string): Promise<void>;
  /** As `take`, for actions that may be left out silently. @returns whether it got through. */
  mayTake(subject: string): Promise<boolean>;
  /** Forgets the subject's count. */
  forget(subject: string): Sql;
};

/**
 * `limit` per `windowSeconds` for each subject; a window begins with the first count in it.
 * @param limit `name` keeps its counters apart from all others. A subject is an id, or an {@link addressKey}: short.
 */
export function windowLimit(deps: CounterDeps, limit: Window & { name: string }): WindowLimit {
  const counterKey = (subject: string) => `${limit.name}:${subject}`;
  const forget = (subject: string) => clearCounter(counterKey(subject));
  if (!deps.config.rateLimits)
    return { check: nothing, failed: nothing, take: nothing, mayTake: async () => true, forget };

  const check = async (subject: string) => refuseIfBlocked(deps, await readCounters(deps.db, [counterKey(subject)]));
  const failed = async (subject: string) => {
    await deps.db.run(countInWindow(counterKey(subject), limit, now(deps)));
  };
  const mayTake = async (subject: string) => {
    const { rows } = await deps.db.run(Counter, takeFromWindow(counterKey(subject), limit, now(deps)));
    return rows.length > 0;
  };
  const take = async (subject: string) => {
    if (await mayTake(subject)) return;
    await check(subject); // throws with the time to wait
    throw rateLimited(1); // the window ended between the two statements
  };
  return { check, failed, take, mayTake, forget };
}

const nothing = async () => {};

/** A password that is switched off is not waited for. Known to us or not, every address is answered alike. */
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

const year = 365 * 86_400;

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
  memorySeconds: { unblocked: year, blocked: year },
});

/** The account and the browser of a guess. */
type CodeGuess = {
  user_id: string;
  /** When the secret came into force; a new one begins with a clean count. Unix seconds. */
  confirmed_at: number;
  /** The browser, if this user has passed a second step with it. */
  device_hash?: string | undefined;
};

export type CodeLimits = {
  /**
   * Counts a code as wrong before it is checked, so that of any number at once no more are checked than may be wrong.
   * @returns false when codes are disabled after too many failures in a row.
   * @throws {RequestError} `rate_limited` beyond the limit of an hour.
   */
  take(): Promise<boolean>;
  /** For the batch of a right code: clears the counters of its browser. */
  forget(): Sql[];
  /** For the batch of another factor that was right: clears all counters, also one that had disabled codes. */
  open(): Sql[];
};

/**
 * Limits on guessing TOTP codes. A known device has a counter of its own, and all unknown devices share one: so an attacker
 * who knows the password uses up the attempts of unknown devices only. Backup codes are not counted: 120 random bits cannot
 * be guessed, and the user needs them when these attempts are used up.
 */
export function codeLimits(deps: CounterDeps, { user_id, confirmed_at, device_hash }: CodeGuess): CodeLimits {
  const hourly = hourlyLimit(deps);
  const rowOf = (subject: string) => `totp-in-a-row:${subject}:${confirmed_at}`;
  const forgetAt = (subject: string) => [hourly.forget(subject), clearCounter(rowOf(subject))];
  const here = device_hash === undefined ? user_id : `${user_id}:${device_hash}`;

  async function take(): Promise<boolean> {
    if (!deps.config.rateLimits) return true;
    await hourly.take(here); // first, so that reaching the limit in a row takes hours
    const { rows } = await deps.db.run(Counter, countConsecutive(rowOf(here), inARow(deps), now(deps)));
    return rows[0]?.blocked_until === 0;
  }

  return {
    take,
    forget: () => forgetAt(here),
    open: () => [...new Set([user_id, here])].flatMap(forgetAt),
  };
}

/**
 * For a change of the password: the attacker who used up the hour knew the old one. The counter in a row stays, or control
 * of a mailbox would allow more guesses with each reset.
 */
export const clearHourlyCodeFailures = (deps: CounterDeps, user_id: string): Sql => hourlyLimit(deps).forget(user_id);

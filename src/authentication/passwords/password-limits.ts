import { isAddressed, partOfEmail, type User } from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import { returning } from '../../platform/db/change.ts';
import { inOrder } from '../../platform/db/db.ts';
import { askOfEach } from '../../platform/db/parts.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { Deps, StoreDeps } from '../../platform/deps.ts';
import { emailKey } from '../../platform/email-address.ts';
import { refusal } from '../../platform/errors.ts';
import { digest, type UserId } from '../../platform/ids.ts';
import {
  addressLimit,
  type Backoff,
  Counter,
  type CounterDeps,
  clearCounter,
  clearCounters,
  clearUnlessBlocked,
  countConsecutive,
  counterOf,
  never,
  readCounters,
  readManyCounters,
  refuseIfBlocked,
  worstCounter,
} from '../../platform/limits/failure-limits.ts';
import { prefixedDevices } from '../sessions/store.ts';

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
 * @param user_id of the account that has the address, if there is one: its failures are where it is.
 * @param knownDevice the hash of a device on which the user has signed in with the current password.
 */
export function passwordLimits(deps: CounterDeps & Pick<Deps, 'placement'>, user_id?: UserId, knownDevice?: string) {
  const partOfAccount = (email: string) => (user_id === undefined ? partOfEmail(deps, email) : deps.db.of(user_id));
  const accountCounter = (email: string) =>
    knownDevice === undefined ? unknownDevicesCounter(email) : devicePrefix(email) + knownDevice;
  // Few passwords tried on many accounts never meet the limit of one account.
  const { passwordAddressFailures: limit, passwordAddressSeconds: windowSeconds } = deps.config.limits;
  const ofAddress = addressLimit(deps, { name: 'password-address', limit, windowSeconds });

  async function readUnlessBlocked(email: string, address: string): Promise<Counter[]> {
    if (!deps.config.rateLimits) return [];
    const keys = [accountCounter(email), ...ofAddress.counterKeys(address)];
    const parts = [...new Set([partOfAccount(email), ofAddress.partOf(address)])];
    const counters = (await Promise.all(parts.map((part) => readCounters(part, keys)))).flat();
    // Waiting does not open a disabled password. Every email address is answered alike, known or not.
    if (counters.some(({ blocked_until }) => blocked_until === never)) {
      throw refusal('access_denied', { key: 'signin.password_disabled' });
    }
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
      const { results } = await inOrder(
        { in: partOfAccount(email), run: { account: returning(Counter, account) } },
        { in: ofAddress.partOf(address), run: { address: ofAddress.counts(address) } },
      );
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
      const { changes } = await partOfAccount(email).run(clearUnlessBlocked(account, now(deps)));
      // Nothing cleared: another sign-in cleared it first, or failures blocked it since the read.
      if (changes === 0) await readUnlessBlocked(email, address);
    },
  };
}

const unknownDevicesCounter = (email: string) => `password-account:${digest(emailKey(email))}`;
const devicePrefix = (email: string) => `password-device:${digest(emailKey(email))}:`;
const deviceCounters = (email: string) => prefixedDevices(devicePrefix(email), isAddressed(email));

/** For a change of the account: opens it again on any browser, even when 100 failures had disabled its password. */
export const resetPasswordLimits = (email: string): Sql[] => [
  clearCounter(unknownDevicesCounter(email)),
  clearCounters(deviceCounters(email)),
];

type Account = Pick<User, 'user_id' | 'email'>;

/** The ids of those accounts that are blocked on unknown browsers, in one read. @param accounts a page of them. */
export async function blockedAmong(deps: StoreDeps, accounts: readonly Account[]): Promise<ReadonlySet<string>> {
  const keyOf = new Map(accounts.map(({ user_id, email }) => [user_id, unknownDevicesCounter(email)]));
  const counters = await askOfEach(deps.db, [...keyOf.keys()], (part, ids) =>
    readManyCounters(
      part,
      ids.map((user_id) => keyOf.get(user_id)!),
    ),
  );
  const blocked = new Set(
    counters.filter(({ blocked_until }) => blocked_until > now(deps)).map((one) => one.counter_key),
  );
  return new Set([...keyOf].flatMap(([user_id, key]) => (blocked.has(key) ? [user_id] : [])));
}

/** For support: the worst of the user's counters, of unknown browsers or of a known one. One read. */
export async function lockStateOf(deps: StoreDeps, { user_id, email }: Account): Promise<LockState> {
  const worst = await worstCounter(deps.db.of(user_id), unknownDevicesCounter(email), deviceCounters(email));
  const { failures, blocked_until } = worst ?? { failures: 0, blocked_until: 0 };
  const isBlocked = blocked_until > now(deps);
  return {
    failures,
    blocked_until: isBlocked ? blocked_until : null,
    disabled: isBlocked && blocked_until === never,
  };
}

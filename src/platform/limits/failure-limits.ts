import { type Clock, now } from '../clock.ts';
import { mustChange, returning } from '../db/change.ts';
import type { Db, Part } from '../db/db.ts';
import type { Sql } from '../db/sql.ts';
import { type RequestError, rateLimited } from '../errors.ts';
import { addressKey, networkKey } from '../ip-address.ts';
import type { Limits } from './limit-settings.ts';
import {
  Counter,
  clearCounter,
  countInWindow,
  hasCounted,
  readCounters,
  takeFromWindow,
  type Window,
} from './store.ts';

export * from './store.ts';

export type CounterDeps = {
  db: Db;
  clock: Clock;
  config: { readonly rateLimits: boolean; readonly limits: Limits };
};

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
      const counter = counterOf((await deps.db.near(key).run(Counter, count)).rows);
      if (counter.blocked_until > now(deps)) remember(blocked, counter);
    },
  };
}

/**
 * For each subject, which is an id: short. For addresses there is {@link addressLimit}.
 * @param limit with a unique `name`.
 * @param partOf where a subject is counted. Statements for a change of others (`count`, `taken`, `forget`) belong there.
 * By default it is near: while a part is away, a subject is counted anew in another one, and so may do at most as much again for each
 * server that is lost.
 */
export function windowLimit(
  deps: CounterDeps,
  limit: Window & { name: string },
  partOf: (subject: string) => Part = deps.db.near,
) {
  const isOn = deps.config.rateLimits;
  const counterKey = (subject: string) => `${limit.name}:${subject}`;

  /** @throws {RequestError} `rate_limited` while the window is full. One read. */
  async function check(subject: string): Promise<void> {
    if (isOn) refuseIfBlocked(deps, await readCounters(partOf(subject), [counterKey(subject)]));
  }

  /** Counts one that has happened, also beyond the limit. */
  async function failed(subject: string): Promise<void> {
    if (isOn) await partOf(subject).run(count(subject));
  }
  const count = (subject: string): Sql => countInWindow(counterKey(subject), limit, now(deps));

  /** As `take`, for actions that may be left out silently. @returns whether it was within the limit. */
  async function mayTake(subject: string): Promise<boolean> {
    if (!isOn) return true;
    const { rows } = await partOf(subject).run(Counter, takeFromWindow(counterKey(subject), limit, now(deps)));
    return rows.length > 0;
  }

  /**
   * Counts one that is about to happen: of any number at once exactly `limit` succeed. For what is worth counting
   * when it succeeds (registrations), and for guesses too few to be checked first and counted later (TOTP).
   * @throws {RequestError} `rate_limited` when the window is full.
   */
  async function take(subject: string): Promise<void> {
    if (!(await mayTake(subject))) throw await refusal(subject);
  }

  /** Why one was not taken. */
  async function refusal(subject: string): Promise<RequestError> {
    await check(subject); // throws with the time to wait
    return rateLimited(1); // the window ended between the two statements
  }

  /** As `take`, in the change of what is counted: it is refused when the window is full, and then see `refusal`. */
  const taken = (subject: string) =>
    isOn ? mustChange(returning(Counter, takeFromWindow(counterKey(subject), limit, now(deps)))) : undefined;

  /**
   * For what happens in any case, and is reported up to the limit: counts it in its change. The conditions are for the
   * statements behind `count`. Undefined where nothing is limited.
   */
  const counted = (subject: string) =>
    isOn
      ? {
          count: count(subject),
          isWithin: hasCounted(counterKey(subject), '<=', limit.limit),
          isFirstBeyond: hasCounted(counterKey(subject), '=', limit.limit + 1),
        }
      : undefined;

  const forget = (subject: string): Sql => clearCounter(counterKey(subject));
  return { check, failed, count, take, mayTake, taken, refusal, counted, forget };
}

/** A provider may put thousands of subscribers into a /48: this many times what one address may, together. */
const networkFactor = 16;

/**
 * For each IP address, and for the network around an IPv6 one. They have nothing to do with the part that they lead to, so users of the others
 * must not wait for it while it is away: it is counted near it. With n servers lost, an address has its tries in n + 1 places at most,
 * which is what n more addresses would have given, and the limits of each account hold as ever.
 * @param limit with a unique `name`.
 */
export function addressLimit(deps: CounterDeps, limit: Window & { name: string }) {
  const partOf = (address: string): Part => deps.db.near(networkKey(address));
  const ofAddress = windowLimit(deps, limit, partOf);
  const ofNetwork = windowLimit(deps, { ...limit, limit: limit.limit * networkFactor }, partOf);
  /** The address before its network, in every change. */
  const countersOf = (address: string) => {
    const [own, network] = [addressKey(address), networkKey(address)];
    return [{ subject: own, limit: ofAddress }, ...(network === own ? [] : [{ subject: network, limit: ofNetwork }])];
  };
  const counterKeys = (address: string) => countersOf(address).map(({ subject }) => `${limit.name}:${subject}`);
  const counts = (address: string): Sql[] => countersOf(address).map((one) => one.limit.count(one.subject));

  /** As those of {@link windowLimit}. */
  async function check(address: string): Promise<void> {
    if (deps.config.rateLimits) refuseIfBlocked(deps, await readCounters(partOf(address), counterKeys(address)));
  }
  async function failed(address: string): Promise<void> {
    if (deps.config.rateLimits) await partOf(address).change({ run: { counts: counts(address) } });
  }
  async function take(address: string): Promise<void> {
    const [own, network] = countersOf(address);
    if (!own || !network) return ofAddress.take(addressKey(address));
    const run = { own: ofAddress.taken(own.subject), network: ofNetwork.taken(network.subject) };
    const done = await partOf(address).change({ run });
    if (done.ok) return;
    await check(address); // throws with the time to wait
    throw rateLimited(1); // the window ended between the two statements
  }

  return { check, take, failed, counts, counterKeys, partOf };
}

/** @throws {RequestError} `rate_limited` with the time until none of them blocks. */
export function refuseIfBlocked(deps: Pick<CounterDeps, 'clock'>, counters: readonly Counter[]): void {
  const seconds = Math.max(0, ...counters.map(({ blocked_until }) => blocked_until - now(deps)));
  if (seconds > 0) throw rateLimited(seconds);
}

export function counterOf(rows: readonly Counter[]): Counter {
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

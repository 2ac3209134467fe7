import type { Clock } from '../../platform/clock.ts';
import { emailKey } from '../../platform/email-address.ts';
import { type RequestError, refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { addressKey, networkKey } from '../../platform/ip-address.ts';
import { counter, gauge, histogram, quickSeconds } from '../../platform/metrics.ts';
import type { Tracer } from '../../platform/tracing.ts';

/** Who asks for a hash: a key of the account, and of the IP address and its network of a requester who is not identified. */
export type Asker = { account: string; from?: { address: string; network: string } };

/** A requester whom a session, a known device or a link of this user identifies. */
export const identified = (user_id: string): Asker => ({ account: user_id });

/** Any other requester. It does not matter whether the account exists. @param address none of a command. */
export const unidentified = (email: string, address: string | undefined): Asker => ({
  account: digest(emailKey(email)),
  from: address ? { address: addressKey(address), network: networkKey(address) } : undefined,
});

export type HashQueueSettings = {
  /** Hashes at once. */
  concurrency: number;
  /** Hashes that can wait: so many of identified requesters, and so many of others. */
  queueLimit: number;
  /** Running and waiting hashes of one account, and of one address. */
  perAccount: number;
  perAddress: number;
  /** Longer waits are refused. */
  maxWaitMs: number;
  /** Measures how long hashes take. */
  monotonic: Clock;
  /** Traces how long one waits, and takes. */
  phases?: Tracer['phases'];
};

const waiting = gauge('signet_password_hashes_waiting', 'Passwords that wait for their turn to be hashed.');
const waits = histogram('signet_password_hash_wait_seconds', 'How long passwords waited for that.', quickSeconds);
const refused = counter(
  'signet_password_hashes_refused_total',
  'Passwords that were not hashed: too many at once of one account or address, or the queue is full.',
  'reason',
);

type Waiter = { lane: string; run: () => void; refuse: () => void };

/**
 * Runs tasks in a fair order. Identified requesters and others take turns; the former have a lane for each account, the
 * latter one for each network of addresses, and lanes take turns. So no account and no network delays another by more than
 * one task a turn, and guesses at an account never delay the owner's known devices.
 *
 * When all places are taken, the newest waiter of the longest lane leaves its place to one whose lane is shorter.
 */
export function hashQueue({
  concurrency,
  queueLimit,
  perAccount,
  perAddress,
  maxWaitMs,
  monotonic,
  phases,
}: HashQueueSettings) {
  const identified = lanes();
  const others = lanes();
  const underWay = new Map<string, number>();
  let running = 0;
  let wasIdentified = false;
  /** Of a task, smoothed. */
  let meanMs = 0;

  function startNext(): void {
    if (running >= concurrency) return;
    const [first, second] = wasIdentified ? [others, identified] : [identified, others];
    const turn = first.size > 0 ? first : second;
    const next = turn.take();
    if (!next) return;
    wasIdentified = turn === identified;
    running += 1;
    next.run();
  }

  /** Resolves when its turn has come. @throws {RequestError} `temporarily_unavailable`. */
  function turnOf({ account, from }: Asker): Promise<void> {
    const own = from === undefined ? identified : others;
    const other = own === others ? identified : others;
    const lane = from?.network ?? account;
    if (running >= concurrency) {
      const before = own.before(lane);
      const ahead = before + Math.min(other.size, before + 1);
      if (((ahead + 1) * meanMs) / concurrency > maxWaitMs) throw queueFull();
      if (own.size >= queueLimit && !own.yieldPlaceTo(lane)) throw queueFull();
    }
    waiting.add(1);
    const queuedAt = monotonic();
    return new Promise((resolve, reject) => {
      const refuse = () => {
        clearTimeout(timer);
        waiting.add(-1);
        own.remove(waiter);
        reject(queueFull());
      };
      const timer = setTimeout(refuse, maxWaitMs);
      timer.unref();
      const run = () => {
        clearTimeout(timer);
        waiting.add(-1);
        waits.observe((monotonic() - queuedAt) / 1000);
        resolve();
      };
      const waiter = { lane, run, refuse };
      own.add(waiter);
      startNext();
    });
  }

  /**
   * @throws {RequestError} `rate_limited` when the account or the address has as many under way as it may;
   * `temporarily_unavailable` when too many wait, or when it would wait for too long.
   */
  return async <Result>(asker: Asker, task: () => Promise<Result>): Promise<Result> => {
    const limits = new Map([[`account ${asker.account}`, perAccount]]);
    if (asker.from) limits.set(`address ${asker.from.address}`, perAddress);
    const count = (key: string) => underWay.get(key) ?? 0;
    for (const [key, limit] of limits) if (count(key) >= limit) throw tooManyAtOnce();
    for (const key of limits.keys()) underWay.set(key, count(key) + 1);
    const phase = phases?.();
    try {
      phase?.('wait for a password hash');
      await turnOf(asker);
      phase?.('hash a password');
      const startedAt = monotonic();
      try {
        return await task();
      } finally {
        meanMs += (monotonic() - startedAt - meanMs) / 8;
        running -= 1;
        startNext();
      }
    } finally {
      phase?.();
      for (const key of limits.keys()) {
        if (count(key) > 1) underWay.set(key, count(key) - 1);
        else underWay.delete(key);
      }
    }
  };
}

/** Nothing was hashed and nothing changed: the same form may be sent again in a moment. */
export const isOfFullQueue = ({ userMessage }: RequestError): boolean =>
  userMessage?.key === 'refusal.passwords_at_once' || userMessage?.key === 'refusal.passwords_waiting';

/** Seconds: by then what is under way has been hashed. */
const retryAfter = 2;
const tooManyAtOnce = () => {
  refused.count('at_once');
  return refusal('rate_limited', { key: 'refusal.passwords_at_once' }, { retryAfter });
};
const queueFull = () => {
  refused.count('queue_full');
  return refusal('temporarily_unavailable', { key: 'refusal.passwords_waiting' }, { retryAfter });
};

/** Waiters in lanes that take turns. */
function lanes() {
  const byName = new Map<string, Waiter[]>();
  let size = 0;
  const lengthOf = (name: string) => byName.get(name)?.length ?? 0;

  function remove(waiter: Waiter): void {
    const lane = byName.get(waiter.lane) ?? [];
    const index = lane.indexOf(waiter);
    if (index < 0) return;
    lane.splice(index, 1);
    size -= 1;
    if (lane.length === 0) byName.delete(waiter.lane);
  }

  return {
    get size() {
      return size;
    },
    add(waiter: Waiter): void {
      const lane = byName.get(waiter.lane);
      if (lane) lane.push(waiter);
      else byName.set(waiter.lane, [waiter]);
      size += 1;
    },
    remove,
    /** The first of the lane whose turn it is, which goes to the end. */
    take(): Waiter | undefined {
      const [lane] = byName.values();
      const first = lane?.[0];
      if (!lane || !first) return undefined;
      remove(first);
      if (lane.length > 0) {
        byName.delete(first.lane);
        byName.set(first.lane, lane);
      }
      return first;
    },
    /** How many have their turn before the next of this lane would. */
    before(name: string): number {
      const own = lengthOf(name);
      return [...byName.values()].reduce((sum, lane) => sum + Math.min(lane.length, own + 1), 0);
    },
    /** Refuses the newest of the longest lane. @returns false if this lane would then be as long. */
    yieldPlaceTo(name: string): boolean {
      const longest = [...byName.values()].reduce((one, lane) => (lane.length > one.length ? lane : one), []);
      if (longest.length <= lengthOf(name) + 1) return false;
      longest.at(-1)?.refuse();
      return true;
    },
  };
}

import type { Clock } from '../../platform/clock.ts';
import { emailKey } from '../../platform/email-address.ts';
import { type RequestError, refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { addressKey, networkKey } from '../../platform/ip-address.ts';
import { counter, gauge, histogram, quickSeconds } from '../../platform/metrics.ts';
import type { Tracer } from '../../platform/tracing.ts';
import { recentUses } from './recent-uses.ts';

/** Who asks for a hash. */
export type Asker = {
  isIdentified: boolean;
  /** A key of the account. */
  account: string;
  /** A key of the IP address; a command has none. */
  address?: string;
};

/** A requester whom a session, a known device or a link of this user identifies. */
export const identified = (user_id: string, address: string | undefined): Asker => ({
  isIdentified: true,
  account: user_id,
  address,
});

/** Any other requester. It does not matter whether the account exists. */
export const unidentified = (email: string, address: string | undefined): Asker => ({
  isIdentified: false,
  account: digest(emailKey(email)),
  address,
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

type Waiter = { network: string; account: string; run: () => void; refuse: () => void };

/**
 * Runs tasks in a fair order. Identified requesters and others take turns, so that guesses at an account never delay the
 * owner's known devices. Among either, networks of addresses take turns, and within a network accounts do: an attacker can
 * invent accounts, but not addresses. A requester who has asked less in the last seconds, refused or not, comes first; so of those
 * who keep asking, none is ahead of one who asks for the first time.
 *
 * When all places are taken, the one whose turn would come last is refused.
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
  const identified: Waiter[] = [];
  const others: Waiter[] = [];
  const usesOf = { network: recentUses(monotonic), account: recentUses(monotonic) };
  const underWay = new Map<string, number>();
  let running = 0;
  let wasIdentified = false;
  /** How long a task takes, smoothed. */
  let meanMs = 0;

  function countUse({ network, account }: Pick<Waiter, 'network' | 'account'>): void {
    usesOf.network.count(network);
    usesOf.account.count(account);
  }

  /** In the order of their turns: one who waits twice is behind those who have used one turn more. */
  function byTurns(waiters: readonly Waiter[], party: 'network' | 'account'): Waiter[] {
    const next = new Map<string, number>();
    const turns = waiters.map((waiter) => {
      const turn = next.get(waiter[party]) ?? usesOf[party].of(waiter[party]);
      next.set(waiter[party], turn + 1);
      return { waiter, turn };
    });
    return turns.sort((one, other) => one.turn - other.turn).map(({ waiter }) => waiter);
  }

  const inOrder = (waiters: readonly Waiter[]) => byTurns(byTurns(waiters, 'account'), 'network');

  function startNext(): void {
    if (running >= concurrency) return;
    const [first, second] = wasIdentified ? [others, identified] : [identified, others];
    const turn = first.length > 0 ? first : second;
    const [next] = inOrder(turn);
    if (!next) return;
    wasIdentified = turn === identified;
    running += 1;
    next.run();
  }

  /** Resolves when its turn has come. @throws {RequestError} `temporarily_unavailable`. */
  function turnOf(isIdentified: boolean, parties: Pick<Waiter, 'network' | 'account'>): Promise<void> {
    const [own, other] = isIdentified ? [identified, others] : [others, identified];
    const queuedAt = monotonic();
    waiting.add(1);
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        waiting.add(-1);
        own.splice(own.indexOf(waiter), 1);
        countUse(parties);
      };
      const refuse = () => {
        end();
        reject(queueFull());
      };
      const timer = setTimeout(refuse, maxWaitMs);
      timer.unref();
      const run = () => {
        end();
        waits.observe((monotonic() - queuedAt) / 1000);
        resolve();
      };
      const waiter = { ...parties, run, refuse };
      own.push(waiter);
      if (running < concurrency) return startNext();
      const order = inOrder(own);
      const before = order.indexOf(waiter);
      const ahead = before + Math.min(other.length, before + 1);
      if (((ahead + 1) * meanMs) / concurrency > maxWaitMs) refuse();
      else if (own.length > queueLimit) order.at(-1)?.refuse();
    });
  }

  /**
   * @throws {RequestError} `rate_limited` when the account or the address has as many under way as it may;
   * `temporarily_unavailable` when too many wait, or when it would wait for too long.
   */
  return async <Result>(asker: Asker, task: () => Promise<Result>): Promise<Result> => {
    const { isIdentified, account, address } = asker;
    const network = address === undefined ? 'command' : networkKey(address);
    const parties = { network, account: `${network} ${account}` };
    const limits = new Map([[`account ${account}`, perAccount]]);
    if (!isIdentified && address !== undefined) limits.set(`address ${addressKey(address)}`, perAddress);
    const count = (key: string) => underWay.get(key) ?? 0;
    if ([...limits].some(([key, limit]) => count(key) >= limit)) {
      countUse(parties);
      throw tooManyAtOnce();
    }
    for (const key of limits.keys()) underWay.set(key, count(key) + 1);
    const phase = phases?.();
    try {
      phase?.('wait for a password hash');
      await turnOf(isIdentified, parties);
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

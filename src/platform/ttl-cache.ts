import { counter } from './metrics.ts';

/** Questions to what keeps answers in memory, by its name and whether it had one. */
export const cacheRequests = counter(
  'signet_cache_requests_total',
  'Questions to what is kept in memory, by whether the answer was there.',
  'cache',
  'result',
);

export type TtlCache<Answer> = ReturnType<typeof ttlCache<Answer>>;

const freshForMs = 1000;
const maxEntries = 10_000;

/** A pending answer is shared, too. */
type Entry<Answer> = { askedAt: number; answer: Promise<Answer> };

/**
 * Answers, also "not found", kept for at most a second, so that a revocation takes effect within it.
 * @param name in the metrics.
 */
export function ttlCache<Answer>(name: string, clock: () => number, read: (key: string) => Promise<Answer>) {
  const entries = new Map<string, Entry<Answer>>();

  const isFresh = (entry: Entry<Answer>) => {
    const age = clock() - entry.askedAt;
    return age >= 0 && age < freshForMs; // below zero: the clock was set back, and the age is unknown
  };

  function ask(key: string): Entry<Answer> {
    const entry = { askedAt: clock(), answer: read(key) };
    // The first key of a Map is the one that was set longest ago.
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size > maxEntries) entries.delete(entries.keys().next().value!);
    entry.answer.catch(() => {
      if (entries.get(key) === entry) entries.delete(key); // a failure is not an answer to keep
    });
    return entry;
  }

  return {
    /** @throws the store's error, rather than return an answer that may be old. */
    find(key: string): Promise<Answer> {
      const entry = entries.get(key);
      const isHit = entry !== undefined && isFresh(entry);
      cacheRequests.count(name, isHit ? 'hit' : 'miss');
      return (isHit ? entry : ask(key)).answer;
    },
    /** The next `find` asks anew. */
    forget: (key: string) => void entries.delete(key),
  };
}

/** Answers of a store, kept for at most a second, so that a revocation takes effect within it. */
export type TtlCache<Answer> = {
  /** @throws the store's error, rather than return an answer that may be old. */
  find(key: string): Promise<Answer>;
  /** The next `find` asks anew. */
  forget(key: string): void;
};

const freshForMs = 1000;
const maxEntries = 10_000;

/** From the moment it was asked: an answer on its way is already shared. */
type Entry<Answer> = { askedAt: number; answer: Promise<Answer> };

/**
 * "Not found" is kept as well, or requests for it in a loop would reach the store every time. Age counts from the moment of
 * asking: the answer cannot be older.
 * @param clock milliseconds.
 */
export function ttlCache<Answer>(clock: () => number, read: (key: string) => Promise<Answer>): TtlCache<Answer> {
  const entries = new Map<string, Entry<Answer>>();

  const isFresh = (entry: Entry<Answer>) => {
    const age = clock() - entry.askedAt;
    return age >= 0 && age < freshForMs; // below zero: the clock was set back, and the age is unknown
  };

  function ask(key: string): Entry<Answer> {
    const entry = { askedAt: clock(), answer: read(key) };
    // A Map keeps the order of insertion, so the first key is always the one that was asked for longest ago.
    entries.delete(key);
    entries.set(key, entry);
    if (entries.size > maxEntries) entries.delete(entries.keys().next().value!);
    entry.answer.catch(() => {
      if (entries.get(key) === entry) entries.delete(key); // a failure is not an answer to keep
    });
    return entry;
  }

  return {
    async find(key) {
      const entry = entries.get(key);
      return (entry && isFresh(entry) ? entry : ask(key)).answer;
    },
    forget(key) {
      entries.delete(key);
    },
  };
}

import type { Clock } from '../clock.ts';
import type { Db } from '../db/db.ts';
import { type Client, isClientId } from './client.ts';
import { readClient } from './store.ts';

/** Registered clients, at most a second old: a suspension reaches every node within that second. */
export type ClientDirectory = {
  /**
   * The client in whatever state it is; the caller judges `status`.
   * @throws {StoreUnavailable} rather than answer with a client that may have been suspended meanwhile.
   */
  find(client_id: string): Promise<Client | undefined>;
  /** After a change on this node: the next `find` reads it anew. */
  forget(client_id: string): void;
};

const freshForMs = 1000;
const mostEntries = 10_000;

/** What one read of the store says, from the moment it was asked: an answer on its way is already shared. */
type Entry = { askedAt: number; answer: Promise<Client | undefined> };

/**
 * Unknown ids are kept as well, else whoever asks for them in a loop would reach the store every time. Age counts from
 * the moment of asking, the one moment that the answer cannot be older than.
 */
export function clientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  const entries = new Map<string, Entry>();

  const isFresh = (entry: Entry) => {
    const age = clock() - entry.askedAt;
    return age >= 0 && age < freshForMs; // below zero: the clock was set back, and the age is anybody's guess
  };

  function read(client_id: string): Entry {
    const entry = { askedAt: clock(), answer: readClient(db, client_id) };
    // A Map keeps the order of insertion, so the first key is always the one that was asked for longest ago.
    entries.delete(client_id);
    entries.set(client_id, entry);
    if (entries.size > mostEntries) entries.delete(entries.keys().next().value!);
    entry.answer.catch(() => {
      if (entries.get(client_id) === entry) entries.delete(client_id); // a failure is not an answer to keep
    });
    return entry;
  }

  return {
    async find(client_id) {
      if (!isClientId(client_id)) return undefined;
      const entry = entries.get(client_id);
      return (entry && isFresh(entry) ? entry : read(client_id)).answer;
    },
    forget(client_id) {
      entries.delete(client_id);
    },
  };
}

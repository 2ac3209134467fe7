import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { ttlCache } from '../platform/ttl-cache.ts';
import { type Client, isClientId } from './client.ts';
import { readClient } from './store.ts';

/** For the room `oauth`, which revokes the grants of clients and deletes what belongs to deleted ones. */
export { deleteDeletedClient, deletedClients, raiseGrantsEpochOfClient } from './store.ts';

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

export function clientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  const cache = ttlCache(clock, (client_id) => readClient(db, client_id));
  return {
    find: async (client_id) => (isClientId(client_id) ? cache.find(client_id) : undefined),
    forget: cache.forget,
  };
}

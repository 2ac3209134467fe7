import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { decodeCursor, encodeCursor } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import { notFound, refusal } from '../platform/errors.ts';
import { type TtlCache, ttlCache } from '../platform/ttl-cache.ts';
import { type Client, isClientId } from './client.ts';
import {
  type ClientListing,
  countNeedingReview,
  countWaiting,
  listOwnClients,
  namesOfClients,
  readClient,
  searchClients,
} from './store.ts';

/** For the room `oauth`, which revokes the grants of clients and deletes the rows of deleted ones. */
export { deleteDeletedClient, deletedClients, raiseGrantsEpochOfClient } from './store.ts';
export { countNeedingReview, countWaiting, listOwnClients, namesOfClients };

type ReadDeps = Pick<Deps, 'db'>;

/**
 * Registered clients in any status, at most a second old: a suspension takes effect on every node within that second.
 * `find` throws {@link StoreUnavailable} rather than return a client that may have been suspended meanwhile.
 */
export type ClientDirectory = TtlCache<Client | undefined>;

export function clientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  const cache = ttlCache(clock, (client_id) => readClient(db, client_id));
  return { ...cache, find: (id) => (isClientId(id) ? cache.find(id) : Promise.resolve(undefined)) };
}

export const listings = [
  'all',
  'waiting',
  'pending_review',
  'pending_change',
  'approved',
  'rejected',
  'suspended',
] as const satisfies ClientListing[];

/**
 * What administrators look through, a page at a time, oldest first, without secrets.
 * @param search.listing left out: all clients for a search, else those that need a review.
 * @param search.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for an `after` that is not from a page.
 */
export async function findClients(
  deps: ReadDeps,
  search: { listing?: ClientListing; query?: string; after?: string; limit?: number },
) {
  const { after, limit = 50 } = search;
  const query = search.query?.trim().slice(0, 100) ?? '';
  const { listing = query === '' ? 'waiting' : 'all' } = search;
  const place = decodeCursor('after', after);
  const { clients, next } = await searchClients(deps.db, { listing, query, after: place, limit });
  return { clients, next: next && encodeCursor(next) };
}

/** Whether a user has as many clients in review as are allowed: they cannot register or submit another one. */
export async function hasTooManyPending(deps: Pick<Deps, 'db' | 'config'>, owner_user_id: string): Promise<boolean> {
  const clients = await listOwnClients(deps, owner_user_id);
  return clients.filter(({ status }) => status === 'pending_review').length >= deps.config.limits.pendingClients;
}

/**
 * Read from the store and not from the directory, so that users see their own changes at once.
 * @param owner_user_id null: for administrators and the command line, a client without an owner.
 * @throws notFound for an unknown client; as {@link requireOwnClient}.
 */
export async function findOwnClient(deps: ReadDeps, client_id: string, owner_user_id: string | null): Promise<Client> {
  const client = await findAnyClient(deps, client_id);
  requireOwnClient(client, owner_user_id);
  return client;
}

/**
 * @throws notFound for the client of another user, so that a user cannot learn which ids exist; accessDenied to
 * administrators for one that has an owner.
 */
export function requireOwnClient(client: Client, owner_user_id: string | null): void {
  if (client.owner_user_id === owner_user_id) return;
  throw owner_user_id === null ? refusal('access_denied', { key: 'clients.has_owner' }) : notFound();
}

/** For administrators and the command line. @throws notFound. */
export async function findAnyClient(deps: ReadDeps, client_id: string): Promise<Client> {
  const client = isClientId(client_id) ? await readClient(deps.db, client_id) : undefined;
  if (client === undefined) throw notFound();
  return client;
}

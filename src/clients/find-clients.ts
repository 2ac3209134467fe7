import { decodeCursor, encodeCursor } from '../platform/db/cursor.ts';
import type { Deps } from '../platform/deps.ts';
import type { Client } from './client.ts';
import { type ClientListing, countClientsNeedingReview, searchClients } from './store.ts';

export const listings = [
  'all',
  'waiting',
  'pending_review',
  'pending_change',
  'approved',
  'rejected',
  'suspended',
] as const satisfies ClientListing[];

type ClientPage = {
  clients: Client[] /** For `after`; undefined on the last page. */;
  next: string | undefined;
};

/**
 * What administrators look through, a page at a time, the longest there first, without secrets.
 * @param search.listing left out: everything for a search, what waits for a review otherwise.
 * @param search.after what the page before gave as `next`.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function findClients(
  deps: Pick<Deps, 'db'>,
  search: { listing?: ClientListing; query?: string; after?: string; limit?: number },
): Promise<ClientPage> {
  const { query = '', after, limit = 50 } = search;
  const { listing = query.trim() === '' ? 'waiting' : 'all' } = search;
  const place = decodeCursor('after', after);
  const found = await searchClients(deps.db, {
    listing,
    query: query.trim().slice(0, 100),
    after: place && { created_at: place.at, client_id: place.id },
    limit: limit + 1,
  });
  const clients = found.slice(0, limit);
  const last = clients.at(-1);
  const hasMore = found.length > limit && last !== undefined;
  return { clients, next: hasMore ? encodeCursor({ at: last.created_at, id: last.client_id }) : undefined };
}

/** How many wait for a review: new clients, and changes of approved ones. */
export const countNeedingReview = (deps: Pick<Deps, 'db'>) => countClientsNeedingReview(deps.db);

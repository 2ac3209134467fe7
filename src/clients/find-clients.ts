import { cutPage, decodeCursor } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { type Client, isClientId } from './client.ts';
import {
  type ClientListing,
  countClientsNeedingReview,
  readClient,
  readClientsOfOwner,
  searchClients,
} from './store.ts';

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
  const { rows: clients, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.client_id }));
  return { clients, next };
}

/** How many wait for a review: new clients, and changes of approved ones. */
export const countNeedingReview = (deps: Pick<Deps, 'db'>) => countClientsNeedingReview(deps.db);

type ReadDeps = Pick<Deps, 'db'>;

/** A person's clients in every state, oldest first, without secrets. */
export const listOwnClients = (deps: ReadDeps, owner_user_id: string): Promise<Client[]> =>
  readClientsOfOwner(deps.db, owner_user_id);

/** Whether as many of a person's clients wait for review as may: they register no more, and have none reviewed again. */
export async function hasTooManyPending(deps: Pick<Deps, 'db' | 'config'>, owner_user_id: string): Promise<boolean> {
  const clients = await listOwnClients(deps, owner_user_id);
  return clients.filter(({ status }) => status === 'pending_review').length >= deps.config.limits.pendingClients;
}

/**
 * Read from the store and not from the directory: whoever just changed it expects to see that.
 * @throws notFound for an unknown client and for one of somebody else, so that nobody learns which ids exist.
 */
export async function findOwnClient(deps: ReadDeps, client_id: string, owner_user_id: string): Promise<Client> {
  const client = await findAnyClient(deps, client_id);
  if (client.owner_user_id !== owner_user_id) throw notFound();
  return client;
}

/** For administrators and the command line. @throws notFound. */
export async function findAnyClient(deps: ReadDeps, client_id: string): Promise<Client> {
  const client = isClientId(client_id) ? await readClient(deps.db, client_id) : undefined;
  if (client === undefined) throw notFound();
  return client;
}

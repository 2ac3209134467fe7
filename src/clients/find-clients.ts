import type { Clock } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { type Cursor, cutPage, decodeCursor, encodeCursor, inSlices, unknownCursor } from '../platform/db/slices.ts';
import { completedAtOnce, decodePlace, encodePlace } from '../platform/db/term-search.ts';
import type { Deps } from '../platform/deps.ts';
import { notFound, refusal } from '../platform/errors.ts';
import { rangesOf } from '../platform/search-terms.ts';
import { type TtlCache, ttlCache } from '../platform/ttl-cache.ts';
import { type Client, isClientId } from './client.ts';
import {
  type ClientListing,
  clientsNamed,
  clientsWithTerms,
  countClients,
  countedListings,
  isAnyNamed,
  listClients,
  type Order,
  type SearchPlace,
} from './search.store.ts';
import {
  clientsWithMissingTerms,
  completeTerms,
  countNeedingReview,
  countWaiting,
  listOwnClients,
  namesOfClients,
  readClient,
  someTermsAreMissing,
} from './store.ts';

export type { ClientListing, Order };
export { countNeedingReview, countWaiting, listOwnClients, namesOfClients };

type ReadDeps = Pick<Deps, 'db'>;

/**
 * Registered clients in any status, at most a second old: a suspension takes effect on every node within that second.
 * `find` throws {@link StoreUnavailable} rather than return a client that may have been suspended meanwhile.
 */
export type ClientDirectory = TtlCache<Client | undefined>;

export function clientDirectory({ db, clock }: { db: Db; clock: Clock }): ClientDirectory {
  const cache = ttlCache('clients', clock, (client_id) => readClient(db, client_id));
  return { ...cache, find: (id) => (isClientId(id) ? cache.find(id) : Promise.resolve(undefined)) };
}

export const listings = ['all', 'waiting', ...countedListings] as const satisfies ClientListing[];

export const orders = ['oldest', 'newest'] as const satisfies Order[];

type FoundClients = {
  clients: Client[];
  next: string | undefined;
  /** False while some clients or users are found by nothing but their id or full address. */
  complete: boolean;
};

/**
 * What administrators look through, a page at a time, without secrets: a list in the order of registration, or what a search
 * finds by beginnings of words of the client's name, and of the name and address of its owner, or by an id of either.
 * @param search.listing left out: all clients for a search, else those that need a review.
 * @param search.order of a list; what a search finds has an order of its own.
 * @param search.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for an `after` that is not from a page.
 */
export async function findClients(
  { db }: ReadDeps,
  search: { listing?: ClientListing; query?: string; order?: Order; after?: string; limit?: number },
): Promise<FoundClients> {
  const { order = 'oldest', limit = 50 } = search;
  const query = search.query?.trim().slice(0, 254) ?? '';
  const { listing = query === '' ? 'waiting' : 'all' } = search;
  const after = decodeCursor('after', search.after);
  if (query !== '' && !(await isAnyNamed(db, query))) {
    const ranges = rangesOf(query);
    const place = after && placeOf(after);
    if (place && !ranges.some(({ from }) => place.term.startsWith(from))) throw unknownCursor('after');
    const [found, isMissing] = await Promise.all([
      clientsWithTerms(db, { listing, ranges, after: place, limit }),
      someTermsAreMissing(db),
    ]);
    return { clients: found.clients, next: found.next && cursorOf(found.next), complete: !isMissing };
  }
  const found =
    query === ''
      ? await listClients(db, { listing, order, after, limit })
      : await clientsNamed(db, { listing, query, after, limit });
  const { rows, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.client_id }));
  return { clients: rows, next, complete: true };
}

const parts = ['name', 'owner'] as const;

const cursorOf = ({ by, term, id, client_id }: SearchPlace): string =>
  encodeCursor({ at: parts.indexOf(by), id: encodePlace(term, id, ...(client_id === undefined ? [] : [client_id])) });

function placeOf(cursor: Cursor): SearchPlace {
  const by = parts[cursor.at];
  const [term, id = '', client_id] = decodePlace(cursor.id);
  if (by === undefined) throw unknownCursor('after');
  return { by, term, id, client_id };
}

/** Larger numbers are all alike, so that counting takes the same time in any store. */
export const countedAtMost = 1000;

/** How many clients each listing has; any number above {@link countedAtMost} for more. */
export async function countListings({ db }: ReadDeps): Promise<Readonly<Record<ClientListing, number>>> {
  const counts = await countClients(db, countedAtMost + 1);
  const { pending_review, pending_change, approved, rejected, suspended, queued } = counts;
  const all = pending_review + approved + rejected + suspended;
  return { ...counts, waiting: queued + pending_change, all };
}

/** Makes clients known to the search that an earlier version has written. Safe on every node at any time. @returns false if the signal ended it before all was done. */
export function completeMissingClientTerms({ db }: ReadDeps, signal?: AbortSignal): Promise<boolean> {
  return inSlices(
    async (count) => {
      const clients = await clientsWithMissingTerms(db, count);
      await Promise.all(clients.map((client) => completeTerms(db, client)));
      return clients.length;
    },
    signal,
    completedAtOnce,
  );
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

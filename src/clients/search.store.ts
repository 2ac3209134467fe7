import { isAddressed, userTerms } from '../accounts/statements.ts';
import type { Db, OneDb } from '../platform/db/db.ts';
import { askAll, askOne, compareText } from '../platform/db/parts.ts';
import { integer, type RowOf, row, text } from '../platform/db/rows.ts';
import type { Cursor } from '../platform/db/slices.ts';
import { allOf, asBigint, raw, type Sql, sql } from '../platform/db/sql.ts';
import { firstTermOf, Place, placesOf, rarestOf } from '../platform/db/term-search.ts';
import type { TermRange } from '../platform/search-terms.ts';
import type { ClientStatus } from './choices.ts';
import { type Client, ClientRow } from './client.ts';
import { inQueue, withoutSecrets, withPendingChange } from './store.ts';
import { clientTerms } from './terms.store.ts';

/**
 * `waiting` is what needs a review, new clients and pending changes alike; `outside` what came by itself and no user has asked for;
 * `unseen_logo` what is approved with the address of a logo that no reviewer has looked at.
 */
export type ClientListing = ClientStatus | 'all' | 'waiting' | 'pending_change' | 'outside' | 'unseen_logo';

const notAskedFor = sql`(c.status = 'pending_review' and c.origin is not null and c.review_asked_at is null)`;

/**
 * It was approved before logos were fetched, or before its host answered: a decision about the client after the picture came was one about
 * the picture. As the index `clients_without_logo` has it, word for word.
 */
const withUnseenLogo = sql`(coalesce(c.status, '') = 'approved' and c.logo_id is null and c.logo_url is not null
  and not exists (select 1 from client_logos l where l.client_id = c.client_id
                     and (l.picture_id is null or l.fetched_at <= c.updated_at)))`;

const inStatus = (status: ClientStatus): Sql => sql`c.status = ${status}`;

/** Conditions of which each has an index in the order of the list; a client of the listing fulfills one of them. */
function partsOf(listing: ClientListing): readonly Sql[] {
  if (listing === 'all') return [sql`c.status <> 'deleted'`];
  if (listing === 'waiting') return [inQueue, withPendingChange];
  if (listing === 'outside') return [notAskedFor];
  if (listing === 'unseen_logo') return [withUnseenLogo];
  return listing === 'pending_change' ? [withPendingChange] : [inStatus(listing)];
}
const isListed = (listing: ClientListing): Sql =>
  sql`(${partsOf(listing).reduce((one, other) => sql`${one} or ${other}`)})`;

export type Order = 'oldest' | 'newest';
type ListSearch = { listing: ClientListing; after: Cursor | undefined; limit: number };

/** A page of clients, with one more than the limit if there is one. */
export async function listClients(
  db: Db,
  { listing, order, after, limit }: ListSearch & { order: Order },
): Promise<Client[]> {
  const [comparison, direction] = order === 'oldest' ? (['>', 'asc'] as const) : (['<', 'desc'] as const);
  const start = order === 'oldest' ? { at: -1, id: '' } : { at: Number.MAX_SAFE_INTEGER, id: '' };
  const { at, id } = after ?? start;
  const inOrder = (table: string) => raw(`order by ${table}.created_at ${direction}, ${table}.client_id ${direction}`);
  const pages = partsOf(listing).map(
    (part) => sql`select ${ClientRow.columnsOf('c')} from clients c
       where ${part} and (c.created_at, c.client_id) ${raw(comparison)} (${asBigint(at)}, ${id})
       ${inOrder('c')} limit ${limit + 1}`,
  );
  const [one, other] = pages as [Sql, Sql?];
  const rows = await db.shared.all(
    ClientRow,
    other === undefined
      ? one
      : sql`select ${ClientRow.columnsOf('page')}
              from (select * from (${one}) as one union all select * from (${other}) as other) as page
             ${inOrder('page')} limit ${limit + 1}`,
  );
  return rows.map(withoutSecrets);
}

/** By an id, or by the whole address of the owner. */
const isNamed = (query: string): Sql =>
  sql`(c.client_id = ${query} or c.owner_user_id = ${query}
       or c.owner_user_id = (select user_id from users where ${isAddressed(query)} order by email limit 1))`;

// The users are in several parts, and each of them has a copy of the clients: the one with the owner of a client says whether it is found.

export const isAnyNamed = async (db: Db, query: string): Promise<boolean> =>
  (await askAll(db, (part) => part.holds(sql`exists (select 1 from clients c where ${isNamed(query)})`))).some(Boolean);

/** Those that an id or an address names, oldest first; as {@link listClients}. */
export async function clientsNamed(
  db: Db,
  { listing, query, after, limit }: ListSearch & { query: string },
): Promise<Client[]> {
  const rows = await askForClients(
    db,
    (part) =>
      part.all(
        ClientRow,
        sql`select ${ClientRow.columnsOf('c')} from clients c
             where ${isNamed(query)} and ${isListed(listing)}
               and (c.created_at, c.client_id) > (${asBigint(after?.at ?? -1)}, ${after?.id ?? ''})
             order by c.created_at, c.client_id limit ${limit + 1}`,
      ),
    (one, other) => one.created_at - other.created_at || compareText(one.client_id, other.client_id),
  );
  return rows.slice(0, limit + 1).map(withoutSecrets);
}

/** What the parts find, each client once. */
async function askForClients<Found extends { client_id: string }>(
  db: Db,
  ask: (part: OneDb) => Promise<Found[]>,
  compare: (one: Found, other: Found) => number,
): Promise<Found[]> {
  const found = (await askAll(db, ask)).flat();
  return [...new Map(found.map((one) => [one.client_id, one])).values()].sort(compare);
}

/** Terms of names, and of users, that one search reads. Most users own no client. */
const maxNames = 500;
const maxUsers = 1000;

/** Where a search by words goes on: among the clients whose name has the word, or then among those whose owner has. */
export type SearchPlace = Place & { by: 'name' | 'owner'; client_id?: string };
type TermSearch = {
  listing: ClientListing;
  /** No two of them overlap. */
  ranges: readonly TermRange[];
  after: SearchPlace | undefined;
  limit: number;
};
type Found = { clients: Client[]; next: SearchPlace | undefined };

const FoundClient = row('terms join clients', { term: text, ...ClientRow.fields });

/**
 * Clients for which every word begins a term of their name, or of their owner's name or address. The rarest word selects:
 * first the clients that have it in their name, then those whose owner has it. A search reads a bounded number of terms, so
 * a page may have fewer clients than its limit, even none, and yet not be the last one.
 */
export async function clientsWithTerms(db: Db, search: TermSearch): Promise<Found> {
  const { ranges, after, limit } = search;
  const range = after
    ? ranges.find(({ from }) => after.term.startsWith(from))
    : await askOne(db, (part) => rarestOf(part, [clientTerms, userTerms], ranges)); // about as rare as in the others
  if (range === undefined) return { clients: [], next: undefined };
  const named = after?.by === 'owner' ? undefined : await withTermInName(db, range, search);
  if (named?.next) return named;
  const clients = named?.clients ?? [];
  const start = { by: 'owner', term: range.from, id: '' } as const;
  if (clients.length === limit) return { clients, next: start };
  const owned = await withTermOfOwner(db, range, {
    ...search,
    after: after?.by === 'owner' ? after : undefined,
    limit: limit - clients.length,
  });
  return { clients: [...clients, ...owned.clients], next: owned.next };
}

/** The client, or its owner, has a term in each of the other ranges. */
const hasOthers = (ranges: readonly TermRange[], range: TermRange): Sql =>
  allOf(
    ranges
      .filter((one) => one !== range)
      .map(
        (one) => sql`${firstTermOf(clientTerms, sql`c.client_id`, one)} is not null
                  or ${firstTermOf(userTerms, sql`c.owner_user_id`, one)} is not null`,
      ),
  );

async function withTermInName(db: Db, range: TermRange, { listing, ranges, after, limit }: TermSearch): Promise<Found> {
  const places = placesOf(clientTerms, { range, after });
  const rows = await askForClients(
    db,
    (part) =>
      part.all(
        FoundClient,
        sql`select p.term, ${ClientRow.columnsOf('c')} from (${places} limit ${maxNames}) p join clients c on c.client_id = p.id
             where ${isListed(listing)} and p.term = ${firstTermOf(clientTerms, sql`p.id`, range)} and ${hasOthers(ranges, range)}
             order by p.term, p.id limit ${limit + 1}`,
      ),
    (one, other) => compareText(one.term, other.term) || compareText(one.client_id, other.client_id),
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const end =
    rows.length > limit && last
      ? { term: last.term, id: last.client_id }
      : await db.shared.get(Place, sql`${places} limit 1 offset ${maxNames - 1}`);
  return { clients: shown.map(clientOf), next: end && { by: 'name', ...end } };
}

async function withTermOfOwner(
  db: Db,
  range: TermRange,
  { listing, ranges, after, limit }: TermSearch,
): Promise<Found> {
  const places = placesOf(userTerms, { range, after, comparison: '>=' });
  // Without a client, the place has been read to its end: `z` is behind every id.
  const { term, id, client_id = 'z' } = after ?? { term: '', id: '' };
  // Of the owner, and not of the place: most users own no client, and need not be looked at any further.
  const firstOfOwner = firstTermOf(userTerms, sql`c.owner_user_id`, range);
  const found = await askForClients(
    db,
    (part) =>
      part.all(
        FoundClient,
        sql`select p.term, ${ClientRow.columnsOf('c')} from (${places} limit ${maxUsers}) p join clients c on c.owner_user_id = p.id
             where ${isListed(listing)} and (p.term, p.id, c.client_id) > (${term}, ${id}, ${client_id})
               and p.term = ${firstOfOwner}
               and ${firstTermOf(clientTerms, sql`c.client_id`, range)} is null and ${hasOthers(ranges, range)}
             order by p.term, p.id, c.client_id limit ${limit + 1}`,
      ),
    (one, other) =>
      comparePlaces(placeOfOwner(one), placeOfOwner(other)) || compareText(one.client_id, other.client_id),
  );
  const full = found.slice(0, limit);
  const last = full.at(-1);
  if (found.length > limit && last) {
    return { clients: full.map(clientOf), next: { by: 'owner', ...placeOfOwner(last), client_id: last.client_id } };
  }
  // What one part has found behind the place to which another was read is found again on the next page.
  const ends = await askAll(db, (part) => part.get(Place, sql`${places} limit 1 offset ${maxUsers - 1}`));
  const [end] = ends.filter((one) => one !== undefined).sort(comparePlaces);
  const shown = end ? full.filter((one) => comparePlaces(placeOfOwner(one), end) <= 0) : full;
  return { clients: shown.map(clientOf), next: end && { by: 'owner', ...end } };
}

const placeOfOwner = ({ term, owner_user_id }: RowOf<typeof FoundClient>): Place => ({ term, id: owner_user_id ?? '' });

const comparePlaces = (one: Place, other: Place): number =>
  compareText(one.term, other.term) || compareText(one.id, other.id);

const clientOf = ({ term: _, ...client }: { term: string } & Omit<Client, 'secrets'>): Client => withoutSecrets(client);

/** What the console counts on its filters. */
export const countedListings = [
  'pending_review',
  'pending_change',
  'approved',
  'rejected',
  'suspended',
  'outside',
  'unseen_logo',
] as const;
export type ClientCounts = Record<(typeof countedListings)[number] | 'queued', number>;

const Counts = row('clients', {
  pending_review: integer,
  pending_change: integer,
  approved: integer,
  rejected: integer,
  suspended: integer,
  outside: integer,
  unseen_logo: integer,
  queued: integer,
});

/** Of each listing, as far as a maximum; `queued`: the new ones of `waiting`. */
export async function countClients(db: Db, max: number): Promise<ClientCounts> {
  const count = (name: string, part: Sql) =>
    sql`(select count(*) from (select 1 as one from clients c where ${part} limit ${max}) as few) as ${raw(name)}`;
  const counted = [
    ...countedListings.map((listing) => count(listing, (partsOf(listing) as [Sql])[0])),
    count('queued', inQueue),
  ];
  const [first, ...rest] = counted as [Sql, ...Sql[]];
  const counts = await db.shared.get(Counts, sql`select ${rest.reduce((one, other) => sql`${one}, ${other}`, first)}`);
  return counts!;
}

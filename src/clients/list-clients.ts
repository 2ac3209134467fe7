import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { type Client, type ClientStatus, isClientId } from './client.ts';
import { readClient, readClientsByStatus, readClientsOfOwner, readClientsWithPendingChange } from './store.ts';

type ReadDeps = Pick<Deps, 'db'>;

/** A person's clients in every state, oldest first, without secrets. */
export const listOwnClients = (deps: ReadDeps, owner_user_id: string): Promise<Client[]> =>
  readClientsOfOwner(deps.db, owner_user_id);

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

/** As many as a page or a terminal shows; whoever is behind by more works them off from the oldest. */
const mostListed = 500;

/** What administrators look through: clients in one state, or those whose owner asked for a change. */
export const listings = ['pending_review', 'pending_change', 'approved', 'rejected', 'suspended'] as const satisfies (
  | ClientStatus
  | 'pending_change'
)[];
type Listing = (typeof listings)[number];

/** For administrators and the command line. Longest waiting first, without secrets. */
export const listClients = (deps: ReadDeps, listing: Listing, limit: number = mostListed): Promise<Client[]> =>
  listing === 'pending_change'
    ? readClientsWithPendingChange(deps.db, limit)
    : readClientsByStatus(deps.db, listing, limit);

/** Everything that waits for an administrator: new clients, then changes, the longest waiting first. */
export async function listWaitingClients(deps: ReadDeps, limit: number = mostListed): Promise<Client[]> {
  const pending = await listClients(deps, 'pending_review', limit);
  const changed = pending.length < limit ? await listClients(deps, 'pending_change', limit - pending.length) : [];
  return [...pending, ...changed];
}

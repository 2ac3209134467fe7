import type { Deps } from '../platform/deps.ts';
import { notFound } from '../platform/errors.ts';
import { type Client, isClientId } from './client.ts';
import { readClient, readClientsOfOwner } from './store.ts';

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

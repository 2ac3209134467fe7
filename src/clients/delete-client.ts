import type { Caller } from '../audit/audit.ts';
import { notFound } from '../errors.ts';
import { type ClientDeps, endClient } from './change-client.ts';

/**
 * The client, its secrets, its grants and the consents that people gave to it are gone; its tokens are inactive from
 * then on. The log keeps what it was.
 *
 * @param target.owner_user_id whose client it must be; left out when an administrator or the command line asks.
 * @throws notFound for an unknown client and for one of somebody else.
 */
export async function deleteClient(
  deps: ClientDeps,
  target: { client_id: string; owner_user_id?: string; caller: Caller },
): Promise<void> {
  await endClient(deps, target, (client) => {
    if (target.owner_user_id !== undefined && client.owner_user_id !== target.owner_user_id) throw notFound();
  });
}

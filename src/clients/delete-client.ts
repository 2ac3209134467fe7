import type { Caller } from '../audit/audit.ts';
import { notFound, refusal } from '../platform/errors.ts';
import { type ClientDeps, endClient } from './change-client.ts';

/** Two years, for whoever waits until nobody remembers. */
export const suspensionRememberedSeconds = 730 * 86_400;

/**
 * The client, its secrets, its grants and the consents that people gave to it are gone; its tokens are inactive from
 * then on. The log keeps what it was. A suspended one stays until an administrator deletes it, and is remembered for
 * reviewers afterwards: its owner must not wipe out by a deletion what the next review has to know.
 *
 * @param target.owner_user_id whose client it must be; left out when an administrator or the command line asks.
 * @throws notFound for an unknown client and for one of somebody else; invalidState for an owner's suspended one.
 */
export async function deleteClient(
  deps: ClientDeps,
  { owner_user_id, ...target }: { client_id: string; owner_user_id?: string; caller: Caller },
): Promise<void> {
  if (owner_user_id === undefined) return endClient(deps, target, { allow: () => {} });
  await endClient(deps, target, {
    allow: (client) => {
      if (client.owner_user_id !== owner_user_id) throw notFound();
      if (client.status === 'suspended') throw suspendedStays();
    },
    unless: 'suspended',
  });
}

const suspendedStays = () =>
  refusal('invalid_state', { key: 'clients.suspended_stays' }, { details: { current_status: 'suspended' } });

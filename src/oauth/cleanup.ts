import { deleteDeletedClient, deletedClients } from '../clients/find-clients.ts';
import type { Db } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import type { ClientId } from '../platform/ids.ts';
import { deleteRequestsOfClient } from './authorize/store.ts';
import { deleteConsentsToClient } from './grants/consents.store.ts';
import { deleteGrantsToClient } from './grants/store.ts';

/** What periodic jobs delete. */
export { purgePendingRequests } from './authorize/store.ts';
export { purgeConsents } from './grants/consents.store.ts';
export {
  purgeDeadLogouts,
  purgeDeliveredLogouts,
  purgeUndeliverableLogouts,
} from './grants/logout-deliveries.store.ts';
export { expireGrants, purgeEndedGrants, purgeUnredeemedGrants } from './grants/store.ts';
export { purgeRevokedAccessTokens } from './token/access-tokens.store.ts';

const rowsOfClient: readonly ((db: Db, client_id: ClientId, rows: number) => Promise<{ changes: number }>)[] = [
  deleteGrantsToClient,
  deleteConsentsToClient,
  deleteRequestsOfClient,
];

/** Deletes the rows that belong to deleted clients, in slices, and then the clients' own. @returns false if the signal ended it before all was done. */
export async function finishClientDeletions({ db }: Pick<Deps, 'db'>, signal?: AbortSignal): Promise<boolean> {
  for (const { client_id } of await deletedClients(db)) {
    for (const deleteRows of rowsOfClient) {
      const isDone = await inSlices(async (rows) => (await deleteRows(db, client_id, rows)).changes, signal);
      if (!isDone) return false;
    }
    await deleteDeletedClient(db, client_id);
  }
  return true;
}

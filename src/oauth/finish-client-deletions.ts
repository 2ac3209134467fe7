import { deleteDeletedClient, deletedClients } from '../clients/store.ts';
import type { BatchResult, Db } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import { deleteRequestsOfClient } from './authorize/store.ts';
import { deleteConsentsToClient } from './consents/store.ts';
import type { Deps } from './deps.ts';
import { deleteGrants } from './grants/store.ts';

const rowsOfClient: readonly ((db: Db, client_id: string, rows: number) => Promise<BatchResult>)[] = [
  (db, client_id, rows) => deleteGrants(db, { client_id }, rows),
  deleteConsentsToClient,
  deleteRequestsOfClient,
];

/** Deletes what hangs on clients that are gone for everybody already, in slices, and then the clients. */
export async function finishClientDeletions({ db }: Pick<Deps, 'db'>, signal?: AbortSignal): Promise<void> {
  for (const { client_id } of await deletedClients(db)) {
    for (const deleteRows of rowsOfClient) {
      const isDone = await inSlices(async (rows) => (await deleteRows(db, client_id, rows)).changes, signal);
      if (!isDone) return;
    }
    await deleteDeletedClient(db, client_id);
  }
}

import { deleteDeletedUser, deletedUsers } from '../../accounts/store.ts';
import { deleteSessionsOfUser } from '../../authentication/sessions/store.ts';
import { deleteEntitlementsOfUser, deleteVersionsOfUser } from '../../entitlements/store.ts';
import type { Deps } from '../../oauth/deps.ts';
import { deleteConsentsOfUser, deleteGrants } from '../../oauth/grants/grants.ts';
import type { Db } from '../../platform/db/db.ts';
import { inSlices } from '../../platform/db/slices.ts';

const rowsOfUser: readonly ((db: Db, user_id: string, rows: number) => Promise<{ changes: number }>)[] = [
  (db, user_id, rows) => deleteGrants(db, { user_id }, rows),
  deleteSessionsOfUser,
  deleteConsentsOfUser,
  deleteEntitlementsOfUser,
  deleteVersionsOfUser,
];

/** Deletes what hangs on accounts that are gone for everybody already, in slices, and then the accounts. */
export async function finishAccountDeletions({ db }: Pick<Deps, 'db'>, signal?: AbortSignal): Promise<void> {
  for (const { user_id } of await deletedUsers(db)) {
    for (const deleteRows of rowsOfUser) {
      const isDone = await inSlices(async (rows) => (await deleteRows(db, user_id, rows)).changes, signal);
      if (!isDone) return;
    }
    await deleteDeletedUser(db, user_id);
  }
}

import { deleteDeletedClient, deletedClients, isDeletableAtOnce } from '../clients/statements.ts';
import { now } from '../platform/clock.ts';
import type { Part } from '../platform/db/db.ts';
import { workIn } from '../platform/db/parts.ts';
import { inSlices } from '../platform/db/slices.ts';
import { deleteRowsOf } from '../platform/db/table-rows.ts';
import { allTables, tablesWithMany } from '../platform/db/tables.ts';
import type { Deps } from '../platform/deps.ts';
import { newSuffix, type UserId } from '../platform/ids.ts';
import { deleteGrantsToClient, purgeUnredeemedCodes } from './grants/store.ts';

/** The owner of a client is shown that its codes are not redeemed. */
const unredeemedSeconds = 3600;

/** Users whose codes are looked at each time, by each process. */
const usersAtOnce = 2000;

/** Few, since each may have many grants, all of which are looked at. */
const usersInSlice = 100;

/**
 * Deletes codes that were never redeemed and expired an hour ago or earlier, of some users of each part each time, in turn.
 * @param after a user. A process begins anywhere, so that those that are restarted often look at all users, too.
 */
export function openCodePurge(after: UserId = `usr_${newSuffix()}`) {
  const places = new Map<Part, UserId>();

  async function purgePart(
    part: Part,
    { clock, timekeeper }: PurgeDeps,
    signal: AbortSignal | undefined,
    most: number,
  ) {
    let deleted = 0;
    let left = most;
    let place = places.get(part) ?? after;
    let rounds = place === '' ? 1 : 2;
    await inSlices(
      async (rows) => {
        if (!timekeeper.isSettled()) return 0;
        const users = Math.min(rows, left);
        const slice = await purgeUnredeemedCodes(part, now({ clock }) - unredeemedSeconds, place, users);
        deleted += slice.changes;
        if (slice.after !== place) left -= users;
        if (slice.after === undefined) rounds -= 1;
        place = slice.after ?? '';
        places.set(part, place);
        return left > 0 && rounds > 0 ? rows : 0;
      },
      signal,
      usersInSlice,
    );
    return deleted;
  }

  /** @param most users of a part. @returns how many codes it has deleted. */
  return async function purgeCodes(deps: PurgeDeps, signal?: AbortSignal, most = usersAtOnce) {
    const deleted = await workIn(deps.db.parts, (part) => purgePart(part, deps, signal, most));
    return deleted.reduce((sum, one) => sum + one, 0);
  };
}
type PurgeDeps = Pick<Deps, 'db' | 'clock' | 'timekeeper'>;

/** Of which a client may have any number of rows, and those of which it has few, where no foreign key deletes them with it. */
const tablesOfClients = [
  ...tablesWithMany('client'),
  ...allTables.flatMap(([name, { client, place }]) => (client === 'few' && place !== 'shared' ? [name] : [])),
];

/** Deletes the rows that belong to deleted clients, in slices, and then the clients' own. @returns false if the signal ended it before all was done. */
export async function finishClientDeletions(deps: Pick<Deps, 'db' | 'clock'>, signal?: AbortSignal): Promise<boolean> {
  const { db } = deps;
  for (const { client_id } of await deletedClients(db)) {
    for (const part of db.parts) {
      for (const table of tablesOfClients) {
        const deleteRows = (rows: number) =>
          table === 'grants'
            ? deleteGrantsToClient(part, client_id, rows, now(deps))
            : deleteRowsOf(part, table, 'client', client_id, rows);
        const isDone = await inSlices(async (rows) => (await deleteRows(rows)).changes, signal);
        if (!isDone) return false;
      }
    }
    if (await isDeletableAtOnce(db, client_id)) await deleteDeletedClient(db, client_id);
  }
  return true;
}

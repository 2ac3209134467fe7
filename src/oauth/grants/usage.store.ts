import type { Db } from '../../platform/db/db.ts';
import { askAll } from '../../platform/db/parts.ts';
import { integer, nullable, row } from '../../platform/db/rows.ts';
import { raw, sql } from '../../platform/db/sql.ts';
import type { ClientId } from '../../platform/ids.ts';
import { isActive } from './lists.store.ts';
import { isOfTest } from './test-grants.store.ts';

// How much clients are used, read from a bounded number of their grants, however many they have.

/** The newest grants of a client among which its last sign-in is looked for: some are codes that are not redeemed. */
const maxNewest = 20;

const LastSignIn = row('grants', { at: nullable(integer) });

/** Unix seconds; null if none of the newest grants is one. Grants that ended a while ago are deleted. */
export async function lastSignInOf(db: Db, client_id: ClientId): Promise<number | null> {
  const last = await askAll(db, (part) =>
    part.get(
      LastSignIn,
      sql`select max(created_at) as at
            from (select client_id, created_at, redeemed_at, redirect_uri from grants
                   where client_id = ${client_id} order by created_at desc limit ${maxNewest}) as grants
           where redeemed_at is not null and not ${isOfTest}`,
    ),
  );
  const times = last.flatMap((one) => one?.at ?? []);
  return times.length > 0 ? Math.max(...times) : null;
}

/** The newest grants, which are read to count users; before them are those that expired and are not deleted yet. */
const maxCounted = 500;

const Usage = row('grants', { users: integer, counted: integer });

/** @returns the users with active grants; at least so many if there are more grants than are read. */
export async function countConnectedUsers(
  db: Db,
  client_id: ClientId,
  now: number,
): Promise<{ users: number; users_is_minimum: boolean }> {
  const ofClient = (columns: string) =>
    sql`select ${raw(columns)} from grants where client_id = ${client_id} order by created_at desc limit ${maxCounted}`;
  const usages = await askAll(db, (part) =>
    part.get(
      Usage,
      sql`select (select count(*) from (
                   select user_id from grants
                    where grant_id in (${ofClient('grant_id')}) and ${isActive(now)} and not ${isOfTest}
                    group by user_id) as connected) as users,
                 (select count(*) from (${ofClient('1 as one')}) as few) as counted`,
    ),
  );
  return {
    users: usages.reduce((sum, usage) => sum + (usage?.users ?? 0), 0),
    users_is_minimum: usages.some((usage) => usage?.counted === maxCounted),
  };
}

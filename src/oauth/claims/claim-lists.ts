import type { Client } from '../../clients/client.ts';
import { listEntitlements } from '../../entitlements/statements.ts';
import { groupsOfUser } from '../../groups/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import type { UserId } from '../../platform/ids.ts';
import type { ClaimLists } from './claims.ts';

/** What a client may read of one user, as it is now. */
export const claimLists = (
  db: Db,
  user_id: UserId,
  { visible_groups }: Pick<Client, 'visible_groups'>,
): ClaimLists => ({
  entitlements: () => listEntitlements(db, user_id),
  async groups() {
    const groups = await groupsOfUser(db, user_id);
    return groups.flatMap(({ group_id, name }) => ((visible_groups?.includes(group_id) ?? true) ? [name] : []));
  },
});

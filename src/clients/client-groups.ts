import { groupsNamed } from '../groups/find-groups.ts';
import { maxGroupsOfClient } from '../groups/group.ts';
import type { Db } from '../platform/db/db.ts';
import { fieldProblem, invalidFields } from '../platform/errors.ts';
import type { GroupId } from '../platform/ids.ts';

export const groupLists = ['allowed_groups', 'visible_groups'] as const;
export type GroupList = (typeof groupLists)[number];
type Lists<Entry> = { [List in GroupList]?: Entry[] | null };

/**
 * The groups that an administrator names for a client, by id.
 * @param wanted ids or names; null: everyone may use it, or it sees all.
 * @throws {RequestError} `invalid_request` for an unknown group, for an empty list, and for one that is too long.
 */
export async function readClientGroups(
  deps: { db: Db },
  wanted: { readonly [List in GroupList]?: readonly string[] | null },
): Promise<Lists<GroupId>> {
  const read: Lists<GroupId> = {};
  for (const list of groupLists) {
    const named = wanted[list];
    if (named === undefined || named === null) {
      if (named === null) read[list] = null;
      continue;
    }
    if (named.length === 0 || named.length > maxGroupsOfClient)
      throw invalidFields([fieldProblem(list, { key: `problem.client.${list}`, values: { max: maxGroupsOfClient } })]);
    read[list] = (await groupsNamed(deps, named, list)).map(({ group_id }) => group_id);
  }
  return read;
}

import type { AddressDeps } from '../../accounts/statements.ts';
import { type Group, groupNameKey } from '../../groups/group.ts';
import {
  countGroups,
  findGroupByKey,
  findGroups,
  groupsByExternalId,
  groupsFrom,
  groupsOfUser,
  membersOfGroups,
} from '../../groups/statements.ts';
import type { Db } from '../../platform/db/db.ts';
import type { GroupId } from '../../platform/ids.ts';
import { scimError } from '../errors.ts';
import { type Equality, intersectionOf, type Page, type Window } from '../find.ts';
import { everything, type Resource, type Selection, selects } from '../representation.ts';
import { groupSchema, mostResults } from '../schemas.ts';
import { mostMembersRead } from './change-group.ts';

const idsOf = (groups: readonly { group_id: GroupId }[]) => groups.map(({ group_id }) => group_id);

/** By which a group is found, each by an index. */
const lookups: Readonly<Record<string, (deps: AddressDeps, text: string) => Promise<readonly string[]>>> = {
  id: async (_deps, id) => [id],
  displayname: async ({ db }, name) =>
    idsOf([await findGroupByKey(db, groupNameKey(name))].filter((one) => one !== undefined)),
  externalid: async ({ db }, external_id) => idsOf(await groupsByExternalId(db, external_id, mostResults)),
  members: async ({ db }, user_id) => idsOf(await groupsOfUser(db, user_id)),
  'members.value': async ({ db }, user_id) => idsOf(await groupsOfUser(db, user_id)),
};
export const groupLookups: readonly string[] = Object.keys(lookups);

/** By name. @param equalities none: all groups. */
export async function findGroupPage(
  deps: AddressDeps,
  equalities: readonly Equality[] | undefined,
  { offset, limit }: Window,
): Promise<Page<Group>> {
  const { db } = deps;
  if (equalities === undefined) {
    const total = await countGroups(db);
    return { total, rows: limit === 0 || offset >= total ? [] : await groupsFrom(db, { offset, limit }) };
  }
  const ids = await intersectionOf(deps, equalities, lookups);
  const found = ids.length === 0 ? [] : await findGroups(db, ids);
  return { total: found.length, rows: found.slice(offset, offset + limit) };
}

/**
 * With their members, unless the answer is to have none.
 * @throws {RequestError} `tooMany` for more members than one answer has.
 */
export async function groupResources(
  db: Db,
  root: string,
  groups: readonly Group[],
  selection: Selection = everything,
): Promise<Resource[]> {
  const hasMembers = selects(selection, 'members') && groups.length > 0;
  const members = hasMembers ? await membersOfGroups(db, idsOf(groups), mostMembersRead + 1) : [];
  if (members.length > mostMembersRead)
    throw scimError(
      400,
      'tooMany',
      `An answer has at most ${mostMembersRead} members. Ask with excludedAttributes=members.`,
    );
  const byGroup = Map.groupBy(members, ({ group_id }) => group_id);
  return groups.map((group) => {
    const own = byGroup.get(group.group_id) ?? [];
    return {
      type: 'Group',
      schema: groupSchema,
      id: group.group_id,
      location: `${root}/Groups/${group.group_id}`,
      created_at: group.created_at,
      updated_at: group.updated_at,
      version: group.event_id,
      content: {
        ...(group.external_id !== null && { externalId: group.external_id }),
        displayName: group.name,
      },
      readOnly: {
        ...(own.length > 0 && {
          members: own.map(({ user_id }) => ({
            value: user_id,
            $ref: `${root}/Users/${user_id}`,
            type: 'User',
          })),
        }),
      },
    };
  });
}

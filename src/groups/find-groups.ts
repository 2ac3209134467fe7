import type { Db } from '../platform/db/db.ts';
import { cutPage, decodeCursor, unknownCursor } from '../platform/db/slices.ts';
import { fieldProblem, invalidFields } from '../platform/errors.ts';
import type { GroupId } from '../platform/ids.ts';
import { type Group, groupNameKey } from './group.ts';
import { requireGroup } from './manage-groups.ts';
import { countMembers, listMembers } from './members.store.ts';
import { findGroups, findGroupsByKeys, listGroups } from './store.ts';

/** More members are not counted. */
export const countedMembersAtMost = 1000;

/** By name. @param query with which the name begins. @throws {RequestError} `invalid_request` for an unknown cursor. */
export async function pageOfGroups(
  { db }: { db: Db },
  { query = '', after, limit }: { query?: string | undefined; after?: string | undefined; limit: number },
) {
  const cursor = decodeCursor('after', after);
  const place = cursor === undefined ? '' : Buffer.from(cursor.id, 'base64url').toString();
  if (cursor !== undefined && Buffer.from(place).toString('base64url') !== cursor.id) throw unknownCursor('after');
  const beginning = groupNameKey(query.trim().slice(0, 100));
  const found = await listGroups(db, { beginning, after: place, limit: limit + 1 });
  const { rows, next } = cutPage(found, limit, ({ name_key }) => ({
    at: 0,
    id: Buffer.from(name_key).toString('base64url'),
  }));
  return { groups: rows.map(({ name_key: _, ...group }): Group => group), next };
}

/** The last added first. @throws {RequestError} `not_found`; `invalid_request` for an unknown cursor. */
export async function pageOfMembers(
  deps: { db: Db },
  group_id: string,
  { after, limit }: { after?: string | undefined; limit: number },
) {
  const group = await requireGroup(deps, group_id);
  const found = await listMembers(deps.db, group.group_id, { after: decodeCursor('after', after), limit: limit + 1 });
  const { rows, next } = cutPage(found, limit, ({ added_at, user_id }) => ({ at: added_at, id: user_id }));
  return { group, members: rows, next };
}

export const countMembersOf = ({ db }: { db: Db }, { group_id }: Pick<Group, 'group_id'>) =>
  countMembers(db, group_id, countedMembersAtMost + 1);

/**
 * The groups that are meant.
 * @param named ids or names. @param field for the refusal.
 * @throws {RequestError} `invalid_request` that says which is unknown, by its place.
 */
export async function groupsNamed(deps: { db: Db }, named: readonly string[], field: string): Promise<Group[]> {
  if (named.length === 0) return [];
  const wanted = named.map((one) => one.trim());
  const [byId, byName] = await Promise.all([
    findGroups(deps.db, [...new Set(wanted)]),
    findGroupsByKeys(deps.db, [...new Set(wanted.map(groupNameKey))]),
  ]);
  const meant = wanted.map(
    (one) =>
      byId.find(({ group_id }) => group_id === one) ??
      byName.find(({ name }) => groupNameKey(name) === groupNameKey(one)),
  );
  const problems = meant.flatMap((group, place) =>
    group === undefined ? [fieldProblem(`${field}/${place}`, { key: 'problem.group.unknown' })] : [],
  );
  if (problems.length > 0) throw invalidFields(problems);
  return meant.filter((group, place): group is Group => group !== undefined && meant.indexOf(group) === place);
}

/** For people: what some ids stand for. One that is deleted keeps its id. */
export async function namesOfGroups({ db }: { db: Db }, ids: readonly GroupId[]): Promise<ReadonlyMap<string, string>> {
  const found = ids.length === 0 ? [] : await findGroups(db, ids);
  return new Map(found.map(({ group_id, name }) => [group_id, name]));
}

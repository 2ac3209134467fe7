import { namesOfUsers } from '../../accounts/statements.ts';
import { changeMembers, type MemberDeps } from '../../groups/change-members.ts';
import { type Group, groupNameKey } from '../../groups/group.ts';
import { createGroup, deleteGroup, editGroup } from '../../groups/manage-groups.ts';
import { findGroupByKey, membersOfGroups } from '../../groups/statements.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import type { UserId } from '../../platform/ids.ts';
import type { ScimCaller } from '../access.ts';
import { invalidValue, scimError } from '../errors.ts';
import type { GroupForm, WantedMembers } from './form.ts';

/** Members of one answer, and of a group whose members are replaced. */
export const mostMembersRead = 5000;

/** @throws {RequestError} `invalid_request` for what an attribute cannot be, or an unknown member; 409 `uniqueness` for a name that is taken. */
export async function createScimGroup(deps: MemberDeps, caller: ScimCaller, form: GroupForm): Promise<Group> {
  const { name, external_id } = await readFields(deps, form);
  const added = await requireUsers(deps, [...form.members.added]);
  const group = await createGroup(deps, caller, { name, external_id });
  await changeMembers(deps, caller, group.group_id, { added, removed: [] });
  return group;
}

/** @throws {RequestError} as {@link createScimGroup}; `not_found`; `invalid_state` if it was changed at the same moment. */
export async function changeScimGroup(
  deps: MemberDeps,
  caller: ScimCaller,
  group: Group,
  form: GroupForm,
): Promise<void> {
  const fields = await readFields(deps, form, group);
  const changes = await readChanges(deps, group, form.members);
  await editGroup(deps, caller, group.group_id, fields);
  await changeMembers(deps, caller, group.group_id, changes);
}

export const deleteScimGroup = (deps: StoreDeps, caller: ScimCaller, { group_id }: Group): Promise<void> =>
  deleteGroup(deps, caller, group_id);

async function readFields({ db }: StoreDeps, { displayName, externalId }: GroupForm, group?: Group) {
  if (displayName === null) throw invalidValue('A group has a displayName.');
  const other = await findGroupByKey(db, groupNameKey(displayName.slice(0, 500)));
  if (other !== undefined && other.group_id !== group?.group_id)
    throw scimError(409, 'uniqueness', 'Another group has this displayName already.');
  return { name: displayName, external_id: externalId };
}

async function readChanges(deps: StoreDeps, group: Group, { isAll, added, removed }: WantedMembers) {
  const known = await requireUsers(deps, [...added]);
  if (!isAll) return { added: known, removed: [...removed] };
  const members = await membersOfGroups(deps.db, [group.group_id], mostMembersRead + 1);
  if (members.length > mostMembersRead)
    throw scimError(
      400,
      'tooMany',
      `The group has more than ${mostMembersRead} members: add and remove them by PATCH.`,
    );
  const leaving = members.map(({ user_id }) => user_id).filter((user_id) => !added.has(user_id));
  return { added: known, removed: leaving };
}

/** @throws {RequestError} `invalid_request` unless every id is one of a user. */
async function requireUsers({ db }: StoreDeps, ids: readonly string[]): Promise<readonly UserId[]> {
  if (ids.length === 0) return [];
  const found = new Set<string>((await namesOfUsers(db, ids)).map(({ user_id }) => user_id));
  const unknown = ids.filter((id) => !found.has(id));
  if (unknown.length > 0) throw invalidValue(`${unknown.length} of the members named are no users.`);
  return ids;
}

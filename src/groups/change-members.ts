import { requireUserByIdOrEmail } from '../accounts/users.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { inOrder, type Part } from '../platform/db/db.ts';
import type { Deps } from '../platform/deps.ts';
import { fieldProblem, invalidFields, invalidState, RequestError, refusal } from '../platform/errors.ts';
import type { GroupId, UserId } from '../platform/ids.ts';
import { maxGroupsOfUser } from './group.ts';
import { requireGroup } from './manage-groups.ts';
import { deleteMember, groupsOfUser, insertMember, membersAmong, usersInGroups } from './members.store.ts';
import { touchGroup } from './store.ts';

export type MemberDeps = Pick<Deps, 'db' | 'clock' | 'placement' | 'claims'>;

/** Members that one change of the store adds or removes. */
const atOnce = 100;

/** A user in both is removed. */
export type MemberChanges = { added: readonly UserId[]; removed: readonly UserId[] };

/**
 * @param user an id or an address. @returns false for one who is in it already.
 * @throws {RequestError} `invalid_request` without such a user; as {@link changeMembers}.
 */
export async function addMember(deps: MemberDeps, caller: Caller, group_id: string, user: string): Promise<boolean> {
  const group = await requireGroup(deps, group_id);
  const { user_id } = await memberOf(deps, user);
  return changeMembers(deps, caller, group.group_id, { added: [user_id], removed: [] });
}

/** @param user an id or an address. @returns false for one who is not in it. @throws {RequestError} as {@link addMember}. */
export async function removeMember(deps: MemberDeps, caller: Caller, group_id: string, user: string): Promise<boolean> {
  const group = await requireGroup(deps, group_id);
  const { user_id } = await memberOf(deps, user);
  return changeMembers(deps, caller, group.group_id, { added: [], removed: [user_id] });
}

async function memberOf(deps: MemberDeps, user: string): Promise<{ user_id: UserId }> {
  try {
    return await requireUserByIdOrEmail(deps, user.trim());
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw invalidFields([fieldProblem('user', { key: 'problem.group.user' })]);
  }
}

/**
 * Adds and removes several members, with an event for each whom it concerns, {@link atOnce} at a time: repeated after a failure, it
 * goes on where it has stopped. Who is in the group already, or not in it, stays so.
 * @param changes of users who are there.
 * @returns false if nothing was to be changed.
 * @throws {RequestError} `not_found` if the group is deleted; `invalid_state` if one of them is in as many groups as one may be, or if
 * others have changed the same members at the same moment.
 */
export async function changeMembers(
  deps: MemberDeps,
  caller: Caller,
  group_id: GroupId,
  { added, removed }: MemberChanges,
): Promise<boolean> {
  let isChanged = false;
  const concerned = [...new Set([...added, ...removed])];
  const isRemoved = new Set(removed);
  for (let start = 0; start < concerned.length; start += atOnce) {
    const some = concerned.slice(start, start + atOnce);
    const members = new Set((await membersAmong(deps.db, group_id, some)).map(({ user_id }) => user_id));
    const changing = some.filter((one) => isRemoved.has(one) === members.has(one));
    const parts = Map.groupBy(changing, (user_id) => deps.db.of(user_id));
    if (parts.size > 1)
      await refuseFull(
        deps,
        changing.filter((one) => !isRemoved.has(one)),
      ); // each part has its own change
    for (const [part, ofPart] of parts) {
      const { leaving = [], joining = [] } = Object.groupBy(ofPart, (one) =>
        isRemoved.has(one) ? 'leaving' : 'joining',
      );
      await changeSome(deps, caller, group_id, { in: part, leaving, joining });
      isChanged = true;
    }
  }
  return isChanged;
}

async function refuseFull(deps: MemberDeps, joining: readonly UserId[]): Promise<void> {
  if ((await usersInGroups(deps.db, joining, maxGroupsOfUser)).length > 0) throw inTooMany();
}

const inTooMany = (): RequestError =>
  refusal('invalid_state', { key: 'problem.group.of_user', values: { max: maxGroupsOfUser } });

/** Of one part of the store. */
type Some = { in: Part; leaving: readonly UserId[]; joining: readonly UserId[] };

async function changeSome(
  deps: MemberDeps,
  caller: Caller,
  group_id: GroupId,
  { in: part, leaving, joining }: Some,
): Promise<void> {
  const at = now(deps);
  const events = (action: 'group.member_added' | 'group.member_removed', user_ids: readonly UserId[]) =>
    user_ids.map((user_id) => auditEvent({ action, ...caller, target: group_id, after: { user_id } }, at));
  const all = [...events('group.member_added', joining), ...events('group.member_removed', leaving)];
  const done = await inOrder(
    {
      in: deps.db.shared,
      run: { group: mustChange(touchGroup(group_id, { event_id: all[0]!.event_id, updated_at: at })) },
    },
    {
      in: part,
      run: {
        joining: joining.map((user_id) =>
          mustChange(insertMember({ group_id, user_id, provider: null, added_at: at }, maxGroupsOfUser)),
        ),
        leaving: leaving.map((user_id) => mustChange(deleteMember(group_id, user_id))),
        events: all.map(({ statement }) => statement),
      },
    },
  );
  if (done.ok) return;
  await requireGroup(deps, group_id);
  for (const user_id of joining) {
    if ((await groupsOfUser(deps.db, user_id)).length >= maxGroupsOfUser) throw inTooMany();
  }
  throw invalidState('changed');
}

import { auditEvent } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import type { Deps } from '../platform/deps.ts';
import type { GroupId, UserId } from '../platform/ids.ts';
import { groupNameKey, maxGroupsOfUser } from './group.ts';
import { deleteMember, groupsOfUser, insertMember } from './members.store.ts';
import { findGroupsByKeys } from './store.ts';

/** Names of one statement: lists are filled up to a multiple of it, so that there are not as many statements as lengths. */
const namesInStep = 50;

/**
 * What a provider says of a user at a sign-in: the user is then in those groups that are here by these names, and no longer in others
 * that the same provider has named before. Membership that was given otherwise stays.
 * @param names unknown ones are ignored: a provider makes no groups.
 */
export async function followProvider(
  deps: Pick<Deps, 'db' | 'clock'>,
  user_id: UserId,
  provider: string,
  names: readonly string[],
): Promise<void> {
  const [wanted, held] = await Promise.all([groupsHere(deps, names), groupsOfUser(deps.db, user_id)]);
  const added = wanted.filter((group_id) => !held.some((one) => one.group_id === group_id));
  const removed = held.filter((one) => one.provider === provider && !wanted.includes(one.group_id));
  const at = now(deps);
  const change = (action: 'group.member_added' | 'group.member_removed', group_id: GroupId) => [
    action === 'group.member_added'
      ? insertMember({ group_id, user_id, provider, added_at: at }, maxGroupsOfUser)
      : deleteMember(group_id, user_id),
    auditEvent({ action, actor: `user:${user_id}`, target: group_id, after: { user_id, provider } }, at).statement,
  ];
  const changes = [
    ...removed.flatMap(({ group_id }) => change('group.member_removed', group_id)),
    ...added.flatMap((group_id) => change('group.member_added', group_id)),
  ];
  if (changes.length > 0) await deps.db.of(user_id).change({ run: { changes } });
}

async function groupsHere({ db }: Pick<Deps, 'db'>, names: readonly string[]): Promise<GroupId[]> {
  const keys = [...new Set(names.map(groupNameKey))];
  const last = keys.at(-1);
  if (last === undefined) return [];
  const padding = Array<string>(namesInStep - 1 - ((keys.length - 1) % namesInStep)).fill(last);
  return (await findGroupsByKeys(db, [...keys, ...padding])).map(({ group_id }) => group_id);
}

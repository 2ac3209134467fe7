import { addMember } from '../../src/groups/change-members.ts';
import { createGroup } from '../../src/groups/manage-groups.ts';
import type { GroupId } from '../../src/platform/ids.ts';
import type { Signet } from './signet.ts';

const caller = { actor: 'cli' } as const;

/** A group with these members. */
export async function newGroup(
  { deps }: Pick<Signet, 'deps'>,
  name: string,
  members: readonly { user_id: string }[] = [],
): Promise<{ group_id: GroupId }> {
  const { group_id } = await createGroup(deps, caller, { name });
  for (const { user_id } of members) await addMember(deps, caller, group_id, user_id);
  return { group_id };
}

import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mayConflict, mustChange } from '../platform/db/change.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Deps } from '../platform/deps.ts';
import type { Edited } from '../platform/edited.ts';
import { fieldProblem, invalidFields, invalidState, notFound, refusal } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { normalizeName } from '../platform/text.ts';
import { noteGroupChange } from './changes.store.ts';
import { type Group, groupNameKey, groupProblems, maxGroups } from './group.ts';
import { deleteSomeMembers } from './members.store.ts';
import {
  deletedGroups,
  deleteGroupRow,
  findGroup,
  findGroupByKey,
  insertGroup,
  markDeleted,
  updateGroup,
} from './store.ts';

type GroupDeps = Pick<Deps, 'db' | 'clock'>;

type WantedGroup = {
  name: string;
  description?: string | null | undefined;
  external_id?: string | null | undefined;
};

/** @throws {RequestError} `invalid_request` with a problem for each field, also for a name that is taken; `invalid_state` with too many. */
export async function createGroup(deps: GroupDeps, caller: Caller, wanted: WantedGroup): Promise<Group> {
  const problems = groupProblems(wanted);
  if (problems.length > 0) throw invalidFields(problems);
  const at = now(deps);
  const group_id = newId('grp');
  const name = normalizeName(wanted.name);
  const description = wanted.description?.trim() || null;
  const external_id = wanted.external_id || null;
  const after = { name, ...(description !== null && { description }), ...(external_id !== null && { external_id }) };
  const event = auditEvent({ action: 'group.created', ...caller, target: group_id, after }, at);
  const { event_id } = event;
  const group = { group_id, name, description, external_id, event_id, created_at: at, updated_at: at };
  const done = await deps.db.shared.change({
    run: {
      group: mayConflict(mustChange(insertGroup({ ...group, name_key: groupNameKey(name) }, maxGroups))),
      event: event.statement,
    },
  });
  if (done.ok) return group;
  if (await findGroupByKey(deps.db, groupNameKey(name))) throw takenName();
  throw refusal('invalid_state', { key: 'problem.group.too_many', values: { max: maxGroups } });
}

const takenName = () => invalidFields([fieldProblem('name', { key: 'problem.group.taken' })]);

/**
 * Tokens have the new name from then on.
 * @throws {RequestError} `not_found`; as {@link createGroup}; `invalid_state` if it was changed at the same moment.
 */
export async function editGroup(
  deps: GroupDeps,
  caller: Caller,
  group_id: string,
  wanted: Partial<WantedGroup>,
): Promise<Edited<Group>> {
  const before = await requireGroup(deps, group_id);
  const { name = before.name, description = before.description, external_id = before.external_id } = wanted;
  const problems = groupProblems({ name, description, external_id });
  if (problems.length > 0) throw invalidFields(problems);
  const to = { name: normalizeName(name), description: description?.trim() || null, external_id: external_id || null };
  const changed = (['name', 'description', 'external_id'] as const).filter((field) => to[field] !== before[field]);
  if (changed.length === 0) return { after: before, isChanged: false };
  const at = now(deps);
  const states = ([before, to] as const).map((state) => Object.fromEntries(changed.map((one) => [one, state[one]])));
  const [was, becomes] = states;
  const event = auditEvent(
    { action: 'group.edited', ...caller, target: before.group_id, before: was, after: becomes },
    at,
  );
  const { event_id } = event;
  const change = {
    event_id,
    group_id: before.group_id,
    action: 'group.edited',
    actor: caller.actor,
    changed_at: at,
  } as const;
  const row = { ...to, name_key: groupNameKey(to.name), event_id: event.event_id, updated_at: at };
  const done = await deps.db.shared.change({
    run: {
      group: mayConflict(mustChange(updateGroup(before, row))),
      event: event.statement,
      members: changed.includes('name') ? noteGroupChange(deps.db, change) : [],
    },
  });
  if (done.ok) return { after: { ...before, ...to, event_id: event.event_id, updated_at: at }, isChanged: true };
  const other = await findGroupByKey(deps.db, groupNameKey(to.name));
  if (other !== undefined && other.group_id !== before.group_id) throw takenName();
  await requireGroup(deps, group_id);
  throw invalidState('changed');
}

/** Its members lose at once what it allowed them; a client that only its members may use is then closed to them. @throws {RequestError} `not_found`. */
export async function deleteGroup(deps: GroupDeps, caller: Caller, group_id: string): Promise<void> {
  const { group_id: target, name } = await requireGroup(deps, group_id);
  const at = now(deps);
  const event = auditEvent({ action: 'group.deleted', ...caller, target, before: { name } }, at);
  const change = { event_id: event.event_id, group_id: target, actor: caller.actor, changed_at: at };
  const done = await deps.db.shared.change({
    run: {
      group: mustChange(markDeleted(target, at)),
      event: event.statement,
      members: noteGroupChange(deps.db, { ...change, action: 'group.deleted' }),
    },
  });
  if (!done.ok) throw notFound();
}

/** @throws {RequestError} `not_found`, also for one that is deleted. */
export async function requireGroup({ db }: Pick<Deps, 'db'>, group_id: string): Promise<Group> {
  const group = await findGroup(db, group_id);
  if (!group) throw notFound();
  return group;
}

/**
 * Deletes the members of groups that are deleted, once other services have been notified of theirs, in slices, and each group with its last
 * one. @returns false if the signal ended it.
 */
export async function finishGroupDeletions({ db }: Pick<Deps, 'db'>, signal?: AbortSignal): Promise<boolean> {
  for (;;) {
    const groups = await deletedGroups(db, 100);
    if (groups.length === 0) return true;
    for (const { group_id } of groups) {
      for (const part of db.parts) {
        if (!(await inSlices(async (rows) => (await deleteSomeMembers(part, group_id, rows)).changes, signal)))
          return false;
      }
      await deleteGroupRow(db, group_id);
    }
  }
}

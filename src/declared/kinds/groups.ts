import { pageOfGroups } from '../../groups/find-groups.ts';
import { type Group, groupNameKey, groupProblems, longestDescription, longestExternalId } from '../../groups/group.ts';
import { createGroup, deleteGroup, editGroup } from '../../groups/manage-groups.ts';
import { invalidFields } from '../../platform/errors.ts';
import { nameInCode, nullable } from '../../platform/http/operation.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { normalizeName } from '../../platform/text.ts';
import { type Kind, type State, without } from '../kind.ts';

export const GroupEntry = Type.Object(
  {
    name: Type.String({ description: 'Shown to users and in tokens, 1 to 100 characters.', ...nameInCode }),
    description: Type.Optional(nullable(Type.String({ maxLength: longestDescription }))),
    external_id: Type.Optional(
      nullable(
        Type.String({ maxLength: longestExternalId, description: 'What another system that maintains it calls it.' }),
      ),
    ),
  },
  { additionalProperties: false },
);

type Wanted = Pick<Group, 'name' | 'description' | 'external_id'>;
const wanted = (state: State) => state as Wanted;

export const groups: Kind = {
  name: 'groups',
  fixed: [],
  isUnique: true,
  recognizedBy: ({ name }) => groupNameKey(String(name)),
  members: Object.keys(GroupEntry.properties),
  async list({ db }) {
    const found: Group[] = [];
    let after: string | undefined;
    do {
      const page = await pageOfGroups({ db }, { limit: 500, ...(after !== undefined && { after }) });
      found.push(...page.groups);
      after = page.next ?? undefined;
    } while (after);
    return found.map(({ group_id, name, description, external_id }) => ({
      id: group_id,
      state: { name, description, external_id },
    }));
  },
  read(_, entry) {
    const { name, description = null, external_id = null } = entry as Static<typeof GroupEntry>;
    const problems = groupProblems({ name, description, external_id });
    if (problems.length > 0) throw invalidFields(problems);
    return { name: normalizeName(name), description: description?.trim() || null, external_id: external_id || null };
  },
  usesSecret: () => false,
  async create({ deps, caller }, state, made) {
    await made((await createGroup(deps, caller, wanted(state))).group_id);
    return undefined;
  },
  async change({ deps, caller }, { id }, state) {
    await editGroup(deps, caller, id, wanted(state));
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => deleteGroup(deps, caller, id),
  write: (state) => without(state, { description: null, external_id: null }),
};

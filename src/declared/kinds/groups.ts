import { requireUserByIdOrEmail } from '../../accounts/users.ts';
import { changeMembers } from '../../groups/change-members.ts';
import { pageOfGroups, pageOfMembers } from '../../groups/find-groups.ts';
import { type Group, groupNameKey, groupProblems, longestDescription, longestExternalId } from '../../groups/group.ts';
import { createGroup, deleteGroup, editGroup } from '../../groups/manage-groups.ts';
import type { Deps } from '../../oauth/deps.ts';
import { type FieldProblem, invalidFields, RequestError } from '../../platform/errors.ts';
import { nameInCode, nullable } from '../../platform/http/operation.ts';
import type { GroupId, UserId } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { normalizeName } from '../../platform/text.ts';
import { type Compared, type Kind, type State, type Work, without } from '../kind.ts';

/** Of one group in a file. Larger ones are maintained by SCIM or by API. */
const mostMembers = 1000;
/** Of a group that a file makes smaller. */
const mostCompared = 5000;

export const GroupEntry = Type.Object(
  {
    name: Type.String({ description: 'Shown to users and in tokens, 1 to 100 characters.', ...nameInCode }),
    description: Type.Optional(nullable(Type.String({ maxLength: longestDescription }))),
    external_id: Type.Optional(
      nullable(
        Type.String({ maxLength: longestExternalId, description: 'What another system that maintains it calls it.' }),
      ),
    ),
    members: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), {
        maxItems: mostMembers,
        description:
          'Email addresses or IDs of all its members but those whom a sign-in provider has put into it. Left out: they are not declared.',
      }),
    ),
  },
  { additionalProperties: false },
);

type Wanted = Pick<Group, 'name' | 'description' | 'external_id'>;
const wanted = ({ name, description, external_id }: State) => ({ name, description, external_id }) as Wanted;

type User = { user_id: UserId; email: string };

async function findUser(deps: Deps, typed: string): Promise<User | undefined> {
  try {
    return await requireUserByIdOrEmail(deps, typed.trim());
  } catch (error) {
    if (error instanceof RequestError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** @returns undefined for more than {@link mostCompared}. */
async function membersHere(deps: Deps, group_id: string) {
  const found: Awaited<ReturnType<typeof pageOfMembers>>['members'] = [];
  let after: string | undefined;
  do {
    const page = await pageOfMembers(deps, group_id, { limit: 500, ...(after !== undefined && { after }) });
    found.push(...page.members);
    if (found.length > mostCompared) return undefined;
    after = page.next ?? undefined;
  } while (after);
  return found;
}

/** As addresses on either side: what a file has by an ID is the same member. */
async function withMembers(deps: Deps, { state, existing }: Compared) {
  const problems: FieldProblem[] = [];
  if (state.members === undefined) return { state, existing, problems };
  const wanted = new Set<string>();
  for (const [place, typed] of (state.members as string[]).entries()) {
    const user = await findUser(deps, typed);
    if (user) wanted.add(user.email);
    else problems.push({ path: `members/${place}`, message: 'There is no user with this address or ID.' });
  }
  const here = existing ? await membersHere(deps, existing.id) : [];
  if (!here) problems.push({ path: 'members', message: `The group has more than ${mostCompared} members.` });
  const given = (here ?? []).filter(({ provider, email }) => provider === null || wanted.has(email));
  const members = given.map(({ email }) => email).sort();
  return {
    state: { ...state, members: [...wanted].sort() },
    existing: existing && { ...existing, state: { ...existing.state, members } },
    problems,
  };
}

async function setMembers(
  { deps, caller }: Work,
  group_id: string,
  before: readonly string[],
  after: readonly string[],
) {
  const idsOf = async (emails: readonly string[]) => {
    const users = await Promise.all(emails.map((email) => findUser(deps, email)));
    return users.flatMap((user) => user?.user_id ?? []);
  };
  const added = await idsOf(after.filter((email) => !before.includes(email)));
  const removed = await idsOf(before.filter((email) => !after.includes(email)));
  await changeMembers(deps, caller, group_id as GroupId, { added, removed });
}

const membersOf = ({ members }: State) => (members ?? []) as readonly string[];

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
    const { name, description = null, external_id = null, members } = entry as Static<typeof GroupEntry>;
    const problems = groupProblems({ name, description, external_id });
    if (problems.length > 0) throw invalidFields(problems);
    return {
      ...{ name: normalizeName(name), description: description?.trim() || null, external_id: external_id || null },
      ...(members !== undefined && { members }),
    };
  },
  complete: withMembers,
  usesSecret: () => false,
  async create(work, state, made) {
    const { group_id } = await createGroup(work.deps, work.caller, wanted(state));
    await made(group_id);
    await setMembers(work, group_id, [], membersOf(state));
    return undefined;
  },
  async change(work, { id, state: before }, state, fields) {
    if (fields.some((field) => field !== 'members')) await editGroup(work.deps, work.caller, id, wanted(state));
    if (fields.includes('members')) await setMembers(work, id, membersOf(before), membersOf(state));
    return undefined;
  },
  remove: ({ deps, caller }, { id }) => deleteGroup(deps, caller, id),
  write: (state) => without(state, { description: null, external_id: null }),
};

import { usesSecret } from '../../clients/authentication-methods.ts';
import { type Client, isForeignClientId, needsReview, pick, proposalOf, reviewedFields } from '../../clients/client.ts';
import type { GroupList } from '../../clients/client-groups.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { membersOf } from '../../clients/fields.ts';
import { findAnyClient, findClients } from '../../clients/find-clients.ts';
import { addSecret } from '../../clients/manage-secrets.ts';
import { groupList, policyProperties } from '../../clients/policy.ts';
import { requireProfile } from '../../clients/profile.ts';
import { registerClient } from '../../clients/register-client.ts';
import { type Registration, RegistrationBody, readRegistration } from '../../clients/registration.ts';
import { approveClient, changePolicy } from '../../clients/review-client.ts';
import { groupNameKey } from '../../groups/group.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { type FieldProblem, fieldProblem, invalidFields, RequestError } from '../../platform/errors.ts';
import { inCode } from '../../platform/http/operation.ts';
import { isActiveSecret, matchesActiveSecret } from '../../platform/ids.ts';
import { type Static, Type } from '../../platform/schema.ts';
import { compile } from '../../platform/validator.ts';
import { type Context, type Existing, type Kind, type State, secretField, secretProblem, without } from '../kind.ts';
import { SecretReference } from '../secret-reference.ts';

const Policy = Type.Object(
  {
    ...policyProperties,
    allowed_groups: groupList('Whose members alone may use it, by key in these files or by name; null: everyone may.'),
    visible_groups: groupList('The groups that it sees by the scope `groups`, likewise; null: all.'),
  },
  { additionalProperties: false },
);
const policyShape = compile(Policy);

const { note_to_reviewer: _, ...registration } = RegistrationBody.properties;

export const ClientEntry = Type.Object(
  {
    client_id: Type.Optional(
      Type.String({
        description:
          'One of your choice, for a new client: up to 64 letters, digits, dots, hyphens and underscores, and none that looks as if it had been made here. Left out: one is made, and printed. It cannot be changed.',
        ...inCode({ pattern: '^[\\w-][\\w.-]{0,63}$' }),
      }),
    ),
    ...registration,
    policy: Type.Optional(Policy),
    secret: Type.Optional(SecretReference),
  },
  { additionalProperties: false },
);

const policyDefaults = {
  consent: 'skip',
  refresh_retry_window: 0,
  profile: null,
  allowed_groups: null,
  visible_groups: null,
} as const;
type PolicyField = keyof typeof policyDefaults;
const policyFields = Object.keys(policyDefaults) as PolicyField[];

/** The target of an edit: one without an owner. */
const ownerless = { owner_user_id: null } as const;

function stateOf(client: Client, { groups }: Pick<Context, 'groups'>): State {
  const { client_type } = client;
  const named = (ids: readonly string[] | null) => (ids === null ? null : ids.map((id) => groups.get(id) ?? id).sort());
  return {
    client_type,
    ...pick(proposalOf(client), reviewedFields),
    ...pick(client, policyFields),
    allowed_groups: named(client.allowed_groups),
    visible_groups: named(client.visible_groups),
    status: needsReview(client) || client.status === 'rejected' ? 'pending_review' : 'approved',
  };
}

async function firstPartyClients(deps: Deps): Promise<Client[]> {
  const found: Client[] = [];
  let after: string | undefined;
  do {
    const page = await findClients(deps, { listing: 'all', limit: 500, ...(after !== undefined && { after }) });
    found.push(...page.clients.filter((client) => client.is_first_party && client.owner_user_id === null));
    after = page.next ?? undefined;
  } while (after);
  return found;
}

function readGroups(list: GroupList, policy: Static<typeof Policy>, { groups }: Context) {
  const wanted = policy[list];
  if (wanted === null || wanted === undefined) return { problems: [], names: null };
  const names = wanted.map((one) => groups.get(one) ?? groups.get(`name:${groupNameKey(one.trim())}`));
  const problems = names.flatMap((name, place) =>
    name === undefined ? [fieldProblem(`policy/${list}/${place}`, { key: 'problem.group.unknown' })] : [],
  );
  return { problems, names: [...new Set(names)].sort() };
}

function readPolicy(policy: Static<typeof Policy>, context: Context) {
  const lists = {
    allowed: readGroups('allowed_groups', policy, context),
    visible: readGroups('visible_groups', policy, context),
  };
  return {
    problems: [...lists.allowed.problems, ...lists.visible.problems],
    values: { ...policyDefaults, ...policy, allowed_groups: lists.allowed.names, visible_groups: lists.visible.names },
  };
}

/** @returns what a function returns, and what it refuses. */
function tried<Value>(read: () => Value): { value?: Value; problems: readonly FieldProblem[] } {
  try {
    return { value: read(), problems: [] };
  } catch (error) {
    if (error instanceof RequestError && error.problems.length > 0) return { problems: error.problems };
    throw error;
  }
}

const policyOf = (state: State) => pick(state as unknown as Client, policyFields) as Parameters<typeof changePolicy>[2];

/** With its secret, if it needs one and has none. */
async function giveSecret(work: Parameters<Kind['change']>[0], client: Client) {
  const { deps, caller, secret } = work;
  const given = secret !== undefined && { client_secret: secret, overlapSeconds: 86_400 };
  const target = { client_id: client.client_id, caller, ...ownerless };
  const added = await addSecret(deps, { ...target, ...given });
  return secret === undefined ? { client_secret: added.client_secret } : undefined;
}

export const clients: Kind = {
  name: 'clients',
  fixed: ['client_type', 'client_id'],
  recognizedBy: ({ name }) => String(name),
  members: Object.keys(ClientEntry.properties),
  list: async (deps, context) =>
    (await firstPartyClients(deps)).map(
      (client): Existing => ({
        id: client.client_id,
        state: { client_id: client.client_id, ...stateOf(client, context) },
        hasSecret: async (secret) =>
          matchesActiveSecret((await findAnyClient(deps, client.client_id)).secrets, secret, now(deps)),
      }),
    ),
  read(_deps, { policy = {}, secret: _secret, client_id, ...body }, context) {
    const shape = policyShape.problems(policy).map((one) => ({ ...one, path: `policy/${one.path}` }));
    const registered = tried(() => readRegistration(body));
    const read = shape.length === 0 ? readPolicy(policy as Static<typeof Policy>, context) : undefined;
    const isUsable = client_id === undefined || (typeof client_id === 'string' && isForeignClientId(client_id));
    const ofId = isUsable ? [] : [fieldProblem('client_id', { key: 'problem.client_id.chosen' })];
    const problems = [...ofId, ...registered.problems, ...shape, ...(read?.problems ?? [])];
    if (problems.length > 0 || !registered.value || !read) throw invalidFields(problems);
    const { note_to_reviewer: _note, ...fields } = registered.value;
    const state = { ...(client_id !== undefined && { client_id }), ...fields, ...read.values, status: 'approved' };
    requireProfile(state as unknown as Client);
    return state;
  },
  usesSecret: (state) => usesSecret(state as unknown as Client),
  secretProblem,
  async create({ deps, caller, secret }, state, made) {
    const fields = { ...pick(state as unknown as Client, ['client_type', ...reviewedFields]), note_to_reviewer: null };
    const chosen = state.client_id === undefined ? {} : { client_id: String(state.client_id) };
    const of = { ...ownerless, caller, ...chosen, client_secret: secret };
    const { client, client_secret } = await registerClient(deps, of, fields as Registration);
    const { client_id, revision } = client;
    await made(client_id);
    await approveClient(deps, { client_id, caller }, { ...policyOf(state), revision });
    return { client_id, ...(client_secret !== null && secret === undefined && { client_secret }) };
  },
  async change(work, { id: client_id }, state, fields) {
    const { deps, caller } = work;
    const target = { client_id, caller, ...ownerless };
    let client = await findAnyClient(deps, client_id);
    if (fields.some((field) => field === 'status' || reviewedFields.some((one) => one === field))) {
      const wanted = pick(state as unknown as Client, reviewedFields);
      client = await editClient(deps, target, { revision: client.revision, fields: wanted });
      if (needsReview(client))
        client = await approveClient(deps, target, { ...policyOf(state), revision: client.revision });
    }
    if (policyFields.some((field) => fields.includes(field))) await changePolicy(deps, target, policyOf(state));
    const hasNone = !client.secrets.some((secret) => isActiveSecret(secret, now(deps)));
    const needsOne = usesSecret(client) && hasNone;
    return needsOne || fields.includes(secretField) ? giveSecret(work, client) : undefined;
  },
  remove: ({ deps, caller }, { id }) => deleteClient(deps, { client_id: id, caller }),
  write(state) {
    const { client_id, name, client_type, application_type, redirect_uris, status: _status, ...others } = state;
    const policy = without(pick(state as unknown as Client, policyFields), policyDefaults);
    const plain = Object.fromEntries(Object.entries(others).filter(([field]) => !(field in policyDefaults)));
    return {
      ...(isForeignClientId(String(client_id)) && { client_id }),
      ...{ name, client_type, application_type, redirect_uris },
      ...without(plain, membersOf('initial')),
      ...(Object.keys(policy).length > 0 && { policy }),
    };
  },
};

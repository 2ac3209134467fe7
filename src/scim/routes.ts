import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireGroup } from '../groups/manage-groups.ts';
import type { Deps } from '../oauth/deps.ts';
import { notFound } from '../platform/errors.ts';
import { readJsonAs } from '../platform/http/body-parsers.ts';
import type { RefusalFormat } from '../platform/pages/errors.ts';
import { authenticateDirectory, type ScimCaller } from './access.ts';
import { errorBody, messageType } from './errors.ts';
import { changeScimGroup, createScimGroup, deleteScimGroup } from './groups/change-group.ts';
import { groupResources } from './groups/find-groups.ts';
import { patchGroup, readGroup } from './groups/form.ts';
import { readObject, readPatch } from './patch.ts';
import { hasTag, type Resource, represent, requireVersion, type Selection, versionOf } from './representation.ts';
import { resourceTypes, schemaResources, serviceProviderConfig } from './schemas.ts';
import { listResponse, type Query, readQuery, readSearch, search } from './search.ts';
import { changeScimUser, deleteScimUser, requireScimUser } from './users/change-user.ts';
import { createScimUser } from './users/create-user.ts';
import { userResources } from './users/find-users.ts';
import { patchUser, readUser } from './users/form.ts';
import { formOf } from './users/resource.ts';

const scimPath = '/scim/v2';

export const scimRefusals: RefusalFormat = { prefix: `${scimPath}/`, type: messageType, bodyOf: errorBody };

/** A thousand members, each with its address. */
const bodyKb = 256;

type Given = { caller: ScimCaller; id: string; body: unknown; query: Query; ifMatch: string | undefined };
type Answer = { status?: number; resource: Resource } | { status?: number; body: object } | undefined;
type Handler = (given: Given) => Promise<Answer>;

/** SCIM 2.0 (RFC 7644), for directories that maintain users and groups. To be registered, since its bodies have a type of their own. */
export async function scimRoutes(app: FastifyInstance, deps: Deps): Promise<void> {
  readJsonAs(app, 'application/scim+json');
  const root = `${deps.config.baseUrl}${scimPath}`;
  const bodyLimit = Math.max(bodyKb, deps.config.limits.bodyKb) * 1024;

  const add = (method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, handler: Handler) =>
    app.route({
      method,
      url: scimPath + path,
      bodyLimit,
      config: { anySite: true }, // no cookie authenticates here
      onRequest: async (request) => void (await callerOf(deps, request)),
      handler: async (request, reply) => {
        const caller = await callerOf(deps, request); // again: reading the body may take longer than a credential lasts
        const { id = '' } = request.params as { id?: string };
        const query = readQuery(request.url);
        const ifMatch = request.headers['if-match'];
        return send(request, reply, {
          answer: await handler({ caller, id, body: request.body, query, ifMatch }),
          query,
        });
      },
    });

  const config = async (): Promise<Answer> => ({ body: serviceProviderConfig(root) });
  add('GET', '/ServiceProviderConfig', config);
  for (const [path, resources] of [
    ['/ResourceTypes', resourceTypes(root)],
    ['/Schemas', schemaResources(root)],
  ] as const) {
    add('GET', path, async () => ({ body: listResponse(resources.length, 0, resources) }));
    add('GET', `${path}/:id`, async ({ id }) => ({ body: resources.find((one) => one.id === id) ?? unknown() }));
  }

  add('GET', '/Users', async ({ query }) => ({ body: await search(deps, root, ['User'], query) }));
  add('GET', '/Groups', async ({ query }) => ({ body: await search(deps, root, ['Group'], query) }));
  add('POST', '/Users/.search', async ({ body }) => ({ body: await search(deps, root, ['User'], readSearch(body)) }));
  add('POST', '/Groups/.search', async ({ body }) => ({ body: await search(deps, root, ['Group'], readSearch(body)) }));
  add('POST', '/.search', async ({ body }) => ({
    body: await search(deps, root, ['User', 'Group'], readSearch(body)),
  }));

  const readUserResource = async (id: string, query: Query): Promise<Resource> => {
    const user = await requireScimUser(deps, id);
    return (await userResources(deps.db, root, [user], query.selection))[0]!;
  };
  add('GET', '/Users/:id', async ({ id, query }) => ({ resource: await readUserResource(id, query) }));
  add('POST', '/Users', async ({ caller, body, query }) => {
    const id = await createScimUser(deps, caller, readUser(readObject(body)));
    return { status: 201, resource: await readUserResource(id, query) };
  });
  add('PUT', '/Users/:id', async ({ caller, id, body, query, ifMatch }) => {
    const before = await requireScimUser(deps, id);
    requireVersion(await readUserResource(id, query), ifMatch);
    const form = readUser(readObject(body));
    // Neither is taken from a user by saying nothing of it.
    const userName = form.userName ?? formOf(before).userName;
    const email = form.email ?? (userName?.includes('@') ? null : before.email);
    await changeScimUser(deps, caller, before, { ...form, userName, email });
    return { resource: await readUserResource(id, query) };
  });
  add('PATCH', '/Users/:id', async ({ caller, id, body, query, ifMatch }) => {
    const before = await requireScimUser(deps, id);
    requireVersion(await readUserResource(id, query), ifMatch);
    await changeScimUser(deps, caller, before, patchUser(formOf(before), readPatch(body)));
    return { resource: await readUserResource(id, query) };
  });
  add('DELETE', '/Users/:id', async ({ caller, id, query, ifMatch }) => {
    const user = await requireScimUser(deps, id);
    requireVersion(await readUserResource(id, query), ifMatch);
    await deleteScimUser(deps, caller, user);
    return undefined;
  });

  const readGroupResource = async (id: string, selection: Selection): Promise<Resource> => {
    const group = await requireGroup(deps, id);
    return (await groupResources(deps.db, root, [group], selection))[0]!;
  };
  const checkGroup = async (id: string, ifMatch: string | undefined) => {
    requireVersion(await readGroupResource(id, nothing), ifMatch);
    return requireGroup(deps, id);
  };
  add('GET', '/Groups/:id', async ({ id, query }) => ({ resource: await readGroupResource(id, query.selection) }));
  add('POST', '/Groups', async ({ caller, body, query }) => {
    const { group_id } = await createScimGroup(deps, caller, readGroup(readObject(body)));
    return { status: 201, resource: await readGroupResource(group_id, query.selection) };
  });
  add('PUT', '/Groups/:id', async ({ caller, id, body, query, ifMatch }) => {
    const group = await checkGroup(id, ifMatch);
    await changeScimGroup(deps, caller, group, readGroup(readObject(body)));
    return { resource: await readGroupResource(id, query.selection) };
  });
  // A group may have more members than an answer: it is answered with them only if that was asked for.
  add('PATCH', '/Groups/:id', async ({ caller, id, body, query, ifMatch }) => {
    const group = await checkGroup(id, ifMatch);
    const isAskedFor = query.selection.attributes !== undefined;
    if (isAskedFor) await readGroupResource(id, query.selection); // refused before the change, if it has too many
    const { name: displayName, external_id: externalId } = group;
    await changeScimGroup(deps, caller, group, patchGroup({ displayName, externalId }, readPatch(body)));
    return isAskedFor ? { resource: await readGroupResource(id, query.selection) } : undefined;
  });
  add('DELETE', '/Groups/:id', async ({ caller, id, ifMatch }) => {
    await deleteScimGroup(deps, caller, await checkGroup(id, ifMatch));
    return undefined;
  });
}

const nothing: Selection = { attributes: [], excluded: [] };

const callerOf = (deps: Deps, { headers: { authorization }, ip: address }: FastifyRequest) =>
  authenticateDirectory(deps, { authorization, address });

const unknown = (): never => {
  throw notFound();
};

function send(request: FastifyRequest, reply: FastifyReply, { answer, query }: { answer: Answer; query: Query }) {
  if (answer === undefined) return reply.code(204).send();
  reply.type(messageType);
  if ('body' in answer) return reply.code(answer.status ?? 200).send(answer.body);
  const { resource, status = 200 } = answer;
  const version = versionOf(resource);
  reply.header('etag', version);
  if (status === 201) reply.header('location', resource.location);
  const known = request.method === 'GET' ? request.headers['if-none-match'] : undefined;
  if (known !== undefined && hasTag(known, version)) return reply.code(304).send();
  return reply.code(status).send(represent(resource, query.selection));
}

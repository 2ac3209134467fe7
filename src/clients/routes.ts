import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../audit/audit.ts';
import type { Deps } from '../deps.ts';
import { requireSession } from '../sessions/session.ts';
import { clientRecord } from './client.ts';
import { deleteClient } from './delete-client.ts';
import { editClient } from './edit-client.ts';
import { findOwnClient, listOwnClients } from './list-clients.ts';
import { edit, listClients, readClient, register, remove } from './operations.ts';
import { registerClient } from './register-client.ts';
import { readClientEdit, readRegistration } from './registration.ts';

type OneClient = { Params: { client_id: string } };

/** A person's own clients (specification §4.16, §4.17). Administrators have addresses of their own. */
export async function clientRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/oauth/clients', { config: { operation: listClients } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { user_id } = await requireSession(deps, request);
    return { clients: (await listOwnClients(deps, user_id)).map(clientRecord) };
  });

  app.post('/v1/oauth/clients', { config: { operation: register } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const owner = await ownerOf(deps, request);
    const { client, client_secret } = await registerClient(deps, owner, readRegistration(request.body));
    return { client_id: client.client_id, client_secret };
  });

  app.get<OneClient>('/v1/oauth/clients/:client_id', { config: { operation: readClient } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { user_id } = await requireSession(deps, request);
    return clientRecord(await findOwnClient(deps, request.params.client_id, user_id));
  });

  app.patch<OneClient>('/v1/oauth/clients/:client_id', { config: { operation: edit } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const target = { client_id: request.params.client_id, ...(await ownerOf(deps, request)) };
    // Whose it is comes first: what is wrong with a body is nobody's business on somebody else's client.
    await findOwnClient(deps, target.client_id, target.owner_user_id);
    return clientRecord(await editClient(deps, target, readClientEdit(request.body)));
  });

  app.delete<OneClient>('/v1/oauth/clients/:client_id', { config: { operation: remove } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    await deleteClient(deps, { client_id: request.params.client_id, ...(await ownerOf(deps, request)) });
    return reply.code(204).send();
  });
}

async function ownerOf(deps: Deps, request: FastifyRequest): Promise<{ owner_user_id: string; caller: Caller }> {
  const { user_id } = await requireSession(deps, request);
  return { owner_user_id: user_id, caller: { actor: `user:${user_id}`, address: request.ip } };
}

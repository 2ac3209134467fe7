import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Caller } from '../../audit/audit.ts';
import { requireRecentSession, requireSession, type Session } from '../../authentication/sessions/session.ts';
import { clientRecord } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { findOwnClient, listOwnClients } from '../../clients/find-clients.ts';
import { addSecret, listSecrets, readOverlap, retireSecret } from '../../clients/manage-secrets.ts';
import { registerClient } from '../../clients/register-client.ts';
import { checkDraft, readClientEdit, readRegistration } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { clientActivity } from '../activity/activity.ts';
import * as operations from './operations.ts';

type ClientRoute = { Params: { client_id: string } };
type SecretRoute = { Params: { client_id: string; secret_id: string } };

/** A person's own clients (specification §4.16, §4.17). Administrators have addresses of their own. */
export async function clientRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/oauth/clients', { config: { operation: operations.listClients } }, async (request) => {
    const { user_id } = await requireSession(deps, request);
    return { clients: (await listOwnClients(deps, user_id)).map(clientRecord) };
  });

  app.post('/v1/oauth/clients', { config: { operation: operations.register } }, async (request) => {
    const owner = await ownerOf(deps, request);
    const { client, client_secret } = await registerClient(deps, owner, readRegistration(request.body));
    return { client_id: client.client_id, client_secret };
  });

  app.get<ClientRoute>(
    '/v1/oauth/clients/:client_id',
    { config: { operation: operations.readClient } },
    async (request) => {
      const { user_id } = await requireSession(deps, request);
      return clientRecord(await findOwnClient(deps, request.params.client_id, user_id));
    },
  );

  app.patch<ClientRoute>(
    '/v1/oauth/clients/:client_id',
    { config: { operation: operations.edit } },
    async (request) => {
      const target = { client_id: request.params.client_id, ...(await ownerOf(deps, request)) };
      // Whose it is comes first: what is wrong with a body is nobody's business on somebody else's client.
      await findOwnClient(deps, target.client_id, target.owner_user_id);
      return clientRecord(await editClient(deps, target, readClientEdit(request.body)));
    },
  );

  app.delete<ClientRoute>(
    '/v1/oauth/clients/:client_id',
    { config: { operation: operations.remove } },
    async (request, reply) => {
      const owner = ownerIn(await requireRecentSession(deps, request), request);
      await deleteClient(deps, { client_id: request.params.client_id, ...owner });
      return reply.code(204).send();
    },
  );

  app.post('/v1/oauth/clients/check', { config: { operation: operations.check } }, async (request) => {
    await requireSession(deps, request);
    const view = viewOf(deps, request, request.queryParameters.ui_locales ?? 'en');
    const withUserMessages = ({ path, message, userMessage }: ReturnType<typeof checkDraft>[number]) => ({
      path,
      message: userMessage ? view.plain(userMessage.key, userMessage.values) : message,
    });
    return { fields: checkDraft(request.body).map(withUserMessages) };
  });

  app.get<ClientRoute>(
    '/v1/oauth/clients/:client_id/activity',
    { config: { operation: operations.activity } },
    async (request) => {
      const { user_id } = await requireSession(deps, request);
      return clientActivity(deps, request.params.client_id, user_id);
    },
  );

  await secretRoutes(app, deps);
}

async function secretRoutes(app: FastifyInstance, deps: Deps) {
  app.get<ClientRoute>(
    '/v1/oauth/clients/:client_id/secrets',
    { config: { operation: operations.listSecrets } },
    async (request) => {
      const { user_id } = await requireSession(deps, request);
      return { secrets: await listSecrets(deps, request.params.client_id, user_id) };
    },
  );

  app.post<ClientRoute>(
    '/v1/oauth/clients/:client_id/secrets',
    { config: { operation: operations.addSecret } },
    async (request) => {
      const owner = ownerIn(await requireRecentSession(deps, request), request);
      await findOwnClient(deps, request.params.client_id, owner.owner_user_id);
      readNoBody(request.body);
      const { secret, client_secret } = await addSecret(deps, { client_id: request.params.client_id, ...owner });
      return { ...secret, client_secret };
    },
  );

  app.delete<SecretRoute>(
    '/v1/oauth/clients/:client_id/secrets/:secret_id',
    { config: { operation: operations.retireSecret } },
    async (request) => {
      const owner = ownerIn(await requireRecentSession(deps, request), request);
      await findOwnClient(deps, request.params.client_id, owner.owner_user_id);
      const overlapSeconds = readOverlap(request.queryParameters.overlap_seconds);
      return retireSecret(deps, { ...request.params, ...owner, overlapSeconds });
    },
  );
}

type Owner = { owner_user_id: string; caller: Caller };

const ownerOf = async (deps: Deps, request: FastifyRequest): Promise<Owner> =>
  ownerIn(await requireSession(deps, request), request);

const ownerIn = ({ user_id }: Session, request: FastifyRequest): Owner => ({
  owner_user_id: user_id,
  caller: { actor: `user:${user_id}`, address: request.ip },
});

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { administratorCaller } from '../../../authentication/sessions/session.ts';
import { reviewedRecord } from '../../../clients/client.ts';
import { editClient } from '../../../clients/edit-client.ts';
import { addSecret, listSecrets, readOverlap, retireSecret } from '../../../clients/manage-secrets.ts';
import { readClientEdit } from '../../../clients/registration.ts';
import type { Deps } from '../../../oauth/deps.ts';
import { readNoBody } from '../../../platform/http/no-body.ts';
import { readQuery } from '../../../platform/http/query.ts';
import * as operations from '../operations.ts';

type ClientRoute = { Params: { client_id: string } };
type SecretRoute = { Params: { client_id: string; secret_id: string } };

/** What owners do with their clients, for clients without an owner: first-party, or left behind. */
export async function ownerlessClientRoutes(app: FastifyInstance, deps: Deps) {
  const targetOf = async (request: FastifyRequest<ClientRoute>) => ({
    client_id: request.params.client_id,
    owner_user_id: null,
    caller: await administratorCaller(deps, request),
  });

  app.patch<ClientRoute>(
    '/v1/admin/clients/:client_id',
    { config: { operation: operations.edit } },
    async (request) => {
      return reviewedRecord(await editClient(deps, await targetOf(request), readClientEdit(request.body)));
    },
  );

  app.get<ClientRoute>(
    '/v1/admin/clients/:client_id/secrets',
    { config: { operation: operations.listSecrets } },
    async (request) => {
      const { client_id } = await targetOf(request);
      return { secrets: await listSecrets(deps, client_id, null) };
    },
  );

  app.post<ClientRoute>(
    '/v1/admin/clients/:client_id/secrets',
    { config: { operation: operations.addSecret } },
    async (request) => {
      const target = await targetOf(request);
      readNoBody(request.body);
      const { secret, client_secret } = await addSecret(deps, target);
      return { ...secret, client_secret };
    },
  );

  app.delete<SecretRoute>(
    '/v1/admin/clients/:client_id/secrets/:secret_id',
    { config: { operation: operations.retireSecret } },
    async (request) => {
      const target = await targetOf(request);
      const overlapSeconds = readOverlap(readQuery(request).overlap_seconds);
      return retireSecret(deps, { ...target, secret_id: request.params.secret_id, overlapSeconds });
    },
  );
}

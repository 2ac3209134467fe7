import type { FastifyInstance, FastifyRequest } from 'fastify';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import { listedRecords } from '../../clients/assess-risks.ts';
import { type Client, reviewedRecord } from '../../clients/client.ts';
import { changePolicy } from '../../clients/client-policy.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { findClients, listings } from '../../clients/find-clients.ts';
import { clientReview, reviewRecord } from '../../clients/read-review.ts';
import { approveClient, reinstateClient, rejectClient, suspendClient } from '../../clients/review-client.ts';
import type { Deps } from '../../oauth/deps.ts';
import { jsonBody } from '../../platform/http/json-body.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import { readChoice, readLimit, readQuery } from '../../platform/http/query.ts';
import { ReasonBody } from '../operation-parts.ts';
import * as operations from './operations.ts';
import { ownerlessClientRoutes } from './ownerless/routes.ts';

type ClientRoute = { Params: { client_id: string } };
const readApproval = jsonBody(operations.ApprovalBody);
const readPolicy = jsonBody(operations.PolicyBody);
const readReasonBody = jsonBody(ReasonBody);
const readRejection = jsonBody(operations.RejectionBody);

/** The review of clients, and what stops them. */
export async function adminClientRoutes(app: FastifyInstance, deps: Deps) {
  const targetOf = async (request: FastifyRequest<ClientRoute>) => ({
    client_id: request.params.client_id,
    caller: await administratorCaller(deps, request),
  });

  app.get('/v1/admin/clients', { config: { operation: operations.list } }, async (request) => {
    await administratorCaller(deps, request);
    const query = readQuery(request);
    const { clients, next = null } = await findClients(deps, {
      listing: readChoice(query, 'status', listings),
      query: query.query,
      after: query.after,
      limit: readLimit(query),
    });
    return { clients: await listedRecords(deps, clients), next };
  });

  app.get<ClientRoute>('/v1/admin/clients/:client_id', { config: { operation: operations.read } }, async (request) => {
    const { client_id } = await targetOf(request);
    return reviewRecord(await clientReview(deps, client_id));
  });

  app.delete<ClientRoute>(
    '/v1/admin/clients/:client_id',
    { config: { operation: operations.remove } },
    async (request, reply) => {
      await deleteClient(deps, await targetOf(request));
      return reply.code(204).send();
    },
  );

  /** @param act what is done to the client, by its id and for whom. */
  const step =
    (act: (target: Awaited<ReturnType<typeof targetOf>>, body: unknown) => Promise<Client>) =>
    async (request: FastifyRequest<ClientRoute>) => {
      return reviewedRecord(await act(await targetOf(request), request.body));
    };

  app.post<ClientRoute>(
    '/v1/admin/clients/:client_id/approve',
    { config: { operation: operations.approve } },
    step((target, body) => approveClient(deps, target, readApproval(body))),
  );

  app.post<ClientRoute>(
    '/v1/admin/clients/:client_id/reject',
    { config: { operation: operations.reject } },
    step((target, body) => {
      const { reason, revision } = readRejection(body);
      return rejectClient(deps, target, reason, revision);
    }),
  );

  app.post<ClientRoute>(
    '/v1/admin/clients/:client_id/suspend',
    { config: { operation: operations.suspend } },
    step((target, body) => suspendClient(deps, target, readReasonBody(body).reason)),
  );

  app.post<ClientRoute>(
    '/v1/admin/clients/:client_id/reinstate',
    { config: { operation: operations.reinstate } },
    step((target, body) => {
      readNoBody(body);
      return reinstateClient(deps, target);
    }),
  );

  app.patch<ClientRoute>(
    '/v1/admin/clients/:client_id/policy',
    { config: { operation: operations.changePolicy } },
    step((target, body) => changePolicy(deps, target, readPolicy(body))),
  );

  await ownerlessClientRoutes(app, deps);
}

import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../app/deps.ts';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import { jsonBody } from '../../platform/http/json-body.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import { readChoice, readLimit, readQuery } from '../../platform/http/query.ts';
import { allWebhooks, deliveriesTo, deliveryStates } from '../../webhooks/list-webhooks.ts';
import { createWebhook, removeWebhook, replay } from '../../webhooks/manage-webhook.ts';
import { replayDead } from '../../webhooks/replay-dead.ts';
import { disable, enable, rotateSecret, sendTest } from '../../webhooks/tend-webhook.ts';
import {
  CreateBody,
  create,
  deliveries,
  disableOne,
  enableOne,
  list,
  remove,
  replayAll,
  replayOne,
  rotate,
  testOne,
} from './operations.ts';

type OneWebhook = { Params: { webhook_id: string } };
type OneDelivery = { Params: { webhook_id: string; delivery_id: string } };
const readCreation = jsonBody(CreateBody);

/** Who is told of events, and what became of it. */
export async function adminWebhookRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/admin/webhooks', { config: { operation: list } }, async (request) => {
    await administratorCaller(deps, request);
    return { webhooks: await allWebhooks(deps) };
  });

  app.post('/v1/admin/webhooks', { config: { operation: create } }, async (request) => {
    const caller = await administratorCaller(deps, request);
    return createWebhook(deps, caller, readCreation(request.body));
  });

  app.delete<OneWebhook>(
    '/v1/admin/webhooks/:webhook_id',
    { config: { operation: remove } },
    async (request, reply) => {
      await removeWebhook(deps, await administratorCaller(deps, request), request.params.webhook_id);
      return reply.code(204).send();
    },
  );

  const steps = { enable: [enable, enableOne], disable: [disable, disableOne], test: [sendTest, testOne] } as const;
  for (const [name, [step, operation]] of Object.entries(steps)) {
    app.post<OneWebhook>(`/v1/admin/webhooks/:webhook_id/${name}`, { config: { operation } }, async (request) => {
      const caller = await administratorCaller(deps, request);
      readNoBody(request.body);
      await step(deps, caller, request.params.webhook_id);
      return { webhook_id: request.params.webhook_id };
    });
  }

  app.post<OneWebhook>(
    '/v1/admin/webhooks/:webhook_id/rotate-secret',
    { config: { operation: rotate } },
    async (request) => {
      const caller = await administratorCaller(deps, request);
      readNoBody(request.body);
      return rotateSecret(deps, caller, request.params.webhook_id);
    },
  );

  app.get<OneWebhook>(
    '/v1/admin/webhooks/:webhook_id/deliveries',
    { config: { operation: deliveries } },
    async (request) => {
      await administratorCaller(deps, request);
      const query = readQuery(request);
      return deliveriesTo(deps, request.params.webhook_id, {
        state: readChoice(query, 'state', deliveryStates),
        after: query.after,
        limit: readLimit(query),
      });
    },
  );

  app.post<OneWebhook>(
    '/v1/admin/webhooks/:webhook_id/deliveries/replay',
    { config: { operation: replayAll } },
    async (request) => {
      const caller = await administratorCaller(deps, request);
      readNoBody(request.body);
      return replayDead(deps, caller, request.params.webhook_id);
    },
  );

  app.post<OneDelivery>(
    '/v1/admin/webhooks/:webhook_id/deliveries/:delivery_id/replay',
    { config: { operation: replayOne } },
    async (request) => {
      const caller = await administratorCaller(deps, request);
      readNoBody(request.body);
      await replay(deps, caller, request.params);
      return { delivery_id: request.params.delivery_id };
    },
  );
}

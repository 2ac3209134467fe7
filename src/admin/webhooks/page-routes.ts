import type { FastifyInstance } from 'fastify';
import { administratorAt, answerForm, problemOf } from '../../authentication/sessions/administrator.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { readChoice } from '../../platform/http/query.ts';
import type { Html } from '../../platform/pages/html.ts';
import { sendPage } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { eventTypes } from '../../webhooks/event-types.ts';
import {
  deliveryStates,
  findDeliveries,
  webhooksWithDead,
  webhookWithDeliveries,
} from '../../webhooks/list-webhooks.ts';
import { createWebhook, removeWebhook, replay, requireWebhook } from '../../webhooks/manage-webhook.ts';
import { replayDead } from '../../webhooks/replay-dead.ts';
import { disable, enable, rotateSecret, sendTest } from '../../webhooks/tend-webhook.ts';
import { chosen } from '../parts.ts';
import { deliveriesPage } from './deliveries-page.ts';
import { webhookPage, webhookSecretPage, webhooksPage } from './page.ts';

const list = '/admin/webhooks';
const one = `${list}/:webhook_id`;
type One = { Params: { webhook_id: string } };
const config = { page: true, form: one };
/** The others have a page of their own. */
const deliveriesShown = 25;

/** Who is told of what happens here, and whether it has arrived. */
export async function webhookPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get(list, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorAt(deps, request);
    return sendPage(reply, view, webhooksPage(view, await webhooksWithDead(deps), { query }));
  });

  app.post(list, { config: { page: true, form: list } }, async (request, reply) => {
    const { view, caller } = await administratorAt(deps, request);
    const form = readForm(request.body);
    try {
      const wanted = { url: form.url ?? '', event_types: chosen(form, 'event:', eventTypes) };
      return sendPage(reply, view, webhookSecretPage(view, await createWebhook(deps, caller, wanted)));
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      return sendPage(
        reply,
        view,
        webhooksPage(view, await webhooksWithDead(deps), { problem: problemOf(view, error), form }),
        400,
      );
    }
  });

  app.get<One>(one, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorAt(deps, request);
    return sendPage(reply, view, await shown(deps, view, request.params.webhook_id, { query }));
  });

  app.get<One>(`${one}/deliveries`, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorAt(deps, request);
    const { webhook_id, url } = await requireWebhook(deps, request.params.webhook_id);
    const state = readChoice(query, 'state', deliveryStates);
    const page = await findDeliveries(deps, webhook_id, { state, after: query.after });
    return sendPage(reply, view, deliveriesPage(view, { webhook_id, url, state, page }));
  });

  app.post<One>(`${one}/replay`, { config }, async (request, reply) => {
    const { view, caller } = await administratorAt(deps, request);
    const { webhook_id } = request.params;
    const { delivery_id = '' } = readForm(request.body);
    return answerForm(reply, view, {
      act: async () => {
        await replay(deps, caller, { webhook_id, delivery_id });
        return `${list}/${webhook_id}?done=replayed`;
      },
      again: (problem) => shown(deps, view, webhook_id, { problem }),
    });
  });

  const steps = {
    enable: [enable, 'enabled'],
    disable: [disable, 'disabled'],
    test: [sendTest, 'tested'],
    'replay-all': [replayDead, 'replayed_all'],
  } as const;
  for (const [name, [step, done]] of Object.entries(steps)) {
    app.post<One>(`${one}/${name}`, { config }, async (request, reply) => {
      const { view, caller } = await administratorAt(deps, request);
      const { webhook_id } = request.params;
      return answerForm(reply, view, {
        act: async () => {
          await step(deps, caller, webhook_id);
          return `${list}/${webhook_id}?done=${done}`;
        },
        again: (problem) => shown(deps, view, webhook_id, { problem }),
      });
    });
  }

  app.post<One>(`${one}/rotate-secret`, { config }, async (request, reply) => {
    const { view, caller } = await administratorAt(deps, request);
    return sendPage(reply, view, webhookSecretPage(view, await rotateSecret(deps, caller, request.params.webhook_id)));
  });

  app.post<One>(`${one}/delete`, { config: { page: true, form: list } }, async (request, reply) => {
    const { caller } = await administratorAt(deps, request);
    await removeWebhook(deps, caller, request.params.webhook_id);
    return reply.redirect(`${list}?done=deleted`, 303);
  });
}

async function shown(deps: Deps, view: View, webhook_id: string, told: { problem?: Html | false; query?: Parameters }) {
  const { webhook, ...rest } = await webhookWithDeliveries(deps, webhook_id, deliveriesShown);
  return webhookPage(view, webhook, { ...told, ...rest });
}

import type { FastifyInstance } from 'fastify';
import { administratorPage } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { readChoice } from '../../platform/http/parameters.ts';
import { pagesFor, type Refused } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { eventTypes } from '../../webhooks/event-types.ts';
import {
  deliveryStates,
  findDeliveries,
  webhooksWithDead,
  webhookWithDeliveries,
} from '../../webhooks/list-webhooks.ts';
import { requireWebhook } from '../../webhooks/manage-webhook.ts';
import { checkedNames, explains } from '../components.ts';
import * as operations from './operations.ts';
import { deliveriesPage, webhookPage, webhookSecretPage, webhooksPage } from './page.ts';

const list = '/admin/webhooks';
const one = `${list}/:webhook_id` as const;
/** The others have a page of their own. */
const deliveriesShown = 25;

/** Webhooks, and what became of their deliveries. */
export async function webhookPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, administratorPage);

  pages.show(list, async ({ view, query }) => webhooksPage(view, await webhooksWithDead(deps), { query }));

  pages.run(operations.createWebhookOperation, {
    page: list,
    input: (form) => ({ body: { url: form.url ?? '', event_types: checkedNames(form, 'event:', eventTypes) } }),
    done: (made, { view }) => webhookSecretPage(view, made),
    redraw: async ({ view }, { problem, form }) => webhooksPage(view, await webhooksWithDead(deps), { problem, form }),
  });

  pages.show(one, ({ view, webhook_id, query }) => webhookWith(view, webhook_id, { query }));

  pages.show(`${one}/deliveries`, async ({ view, webhook_id, query }) => {
    const { url } = await requireWebhook(deps, webhook_id);
    const state = readChoice(query, 'state', deliveryStates);
    const page = await findDeliveries(deps, webhook_id, { state, after: query.after });
    return deliveriesPage(view, { webhook_id, url, state, page });
  });

  const onPage = {
    page: one,
    explains,
    redraw: ({ view, webhook_id }: { view: View; webhook_id: string }, { problem }: Refused) =>
      webhookWith(view, webhook_id, { problem }),
  };
  pages.run(operations.enableWebhook, { done: `${one}?done=enabled`, ...onPage });
  pages.run(operations.disableWebhook, { done: `${one}?done=disabled`, ...onPage });
  pages.run(operations.testWebhook, { done: `${one}?done=tested`, ...onPage });
  pages.run(operations.replayDeadDeliveries, {
    path: `${one}/replay-all`,
    done: `${one}?done=replayed_all`,
    ...onPage,
  });
  pages.run(operations.replayDelivery, {
    path: `${one}/replay`,
    input: ({ delivery_id = '' }) => ({ delivery_id }),
    done: `${one}?done=replayed`,
    ...onPage,
  });
  pages.run(operations.rotateWebhookSecret, { done: (made, { view }) => webhookSecretPage(view, made), ...onPage });
  pages.run(operations.deleteWebhook, { path: `${one}/delete`, done: `${list}?done=deleted`, page: list });

  async function webhookWith(
    view: View,
    webhook_id: string,
    shown: Pick<Parameters<typeof webhookPage>[2], 'problem' | 'query'>,
  ) {
    const { webhook, ...rest } = await webhookWithDeliveries(deps, webhook_id, deliveriesShown);
    return webhookPage(view, webhook, { ...shown, ...rest });
  }
}

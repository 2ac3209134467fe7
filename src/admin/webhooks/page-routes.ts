import type { FastifyInstance } from 'fastify';
import { deliveryStates } from '../../deliveries/queue.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { readChoice } from '../../platform/http/parameters.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import {
  countDeliveries,
  findDeliveries,
  findDelivery,
  requireWebhook,
  webhooksWithDead,
  webhookWithDeliveries,
} from '../../webhooks/list-webhooks.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { deliveriesPage, deliveryPage } from './delivery-page.ts';
import { chosenEvents } from './event-groups.ts';
import { webhookOperations as operations } from './operations.ts';
import { editWebhookPage, webhookPage, webhookSecretPage, webhooksPage } from './page.ts';
import { webhooksPath } from './page-parts.ts';

const one = `${webhooksPath}/:webhook_id` as const;
/** The others have a page of their own. */
const deliveriesShown = 25;

/** Webhooks, and what became of their deliveries. */
export async function webhookPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'webhooks:read');

  const all = async ({ view }: { view: View }, shown: Shown) => webhooksPage(view, await webhooksWithDead(deps), shown);
  pages.show(webhooksPath, (context) => all(context, context));
  pages.run(operations.create, {
    page: webhooksPath,
    input: (form) => ({ body: termsOf(form) }),
    done: (made, { view }) => webhookSecretPage(view, made),
    redraw: all,
  });

  const editor = async ({ view, webhook_id }: { view: View; webhook_id: string }, shown: Shown) =>
    editWebhookPage(view, await requireWebhook(deps, webhook_id), shown);
  pages.show(`${one}/edit`, (context) => editor(context, context));
  pages.run(operations.edit, {
    path: `${one}/edit`,
    page: `${one}/edit`,
    input: (form) => ({ body: termsOf(form) }),
    done: doneOrUnchanged(one, 'edited'),
    redraw: editor,
  });

  pages.show(`${one}/deliveries/:delivery_id`, async ({ view, webhook_id, delivery_id }) =>
    deliveryPage(view, await requireWebhook(deps, webhook_id), await findDelivery(deps, webhook_id, delivery_id)),
  );
  pages.show(`${one}/deliveries`, async ({ view, webhook_id, query }) => {
    const webhook = await requireWebhook(deps, webhook_id);
    const state = readChoice(query, 'state', deliveryStates);
    const [found, counts] = await Promise.all([
      findDeliveries(deps, webhook_id, { state, after: query.after }),
      countDeliveries(deps, webhook_id),
    ]);
    return deliveriesPage(view, webhook, state, found, counts);
  });

  const redraw = async ({ view, webhook_id }: { view: View; webhook_id: string }, shown: Shown) =>
    webhookPage(view, await webhookWithDeliveries(deps, webhook_id, deliveriesShown), shown);
  pages.show(one, (context) => redraw(context, context));

  const onPage = { page: one, explains, redraw };
  pages.run(operations.enable, { done: `${one}?done=enabled`, ...onPage });
  pages.run(operations.disable, { done: `${one}?done=disabled`, ...onPage });
  pages.run(operations.test, { done: `${one}?done=tested`, ...onPage });
  pages.run(operations.replayDead, {
    path: `${one}/replay-all`,
    done: ({ replayed }, { webhook_id }) =>
      `${webhooksPath}/${webhook_id}?done=${replayed > 0 ? 'replayed_all' : 'replayed_none'}`,
    ...onPage,
  });
  pages.run(operations.replayDelivery, {
    path: `${one}/replay`,
    input: ({ delivery_id = '' }) => ({ delivery_id }),
    done: `${one}?done=replayed`,
    ...onPage,
  });
  pages.run(operations.rotateSecret, {
    // A field that was emptied is no number: it must not become an overlap of 0.
    input: ({ overlap_seconds: typed }) => ({
      body: { overlap_seconds: typed === undefined ? undefined : Number(typed || Number.NaN) },
    }),
    done: (made, { view }) => webhookSecretPage(view, made),
    ...onPage,
  });
  pages.run(operations.delete, { path: `${one}/delete`, done: `${webhooksPath}?done=deleted`, page: webhooksPath });
}

const termsOf = (form: Parameters) => ({
  name: form.name?.trim() ?? '',
  url: form.url ?? '',
  event_types: chosenEvents(form),
});

import type { Deps } from '../audit/deps.ts';
import { cutPage, decodeCursor } from '../platform/db/slices.ts';
import { deliveryRecord, requireWebhook, webhookRecord } from './manage-webhook.ts';
import {
  countDeadDeliveries,
  countDeadOf,
  type Delivery,
  type DeliveryState,
  listDeliveries,
  listWebhooks,
} from './store.ts';

export type { Delivery, DeliveryState } from './store.ts';

type ReadDeps = Pick<Deps, 'db'>;

/** Who is told of what, oldest first, never with a secret. */
export const allWebhooks = async (deps: ReadDeps) => (await listWebhooks(deps.db)).map(webhookRecord);

/** Each with the number of its deliveries that were given up. */
export async function webhooksWithDead(deps: ReadDeps) {
  const [webhooks, dead] = await Promise.all([allWebhooks(deps), countDeadDeliveries(deps.db)]);
  return webhooks.map((webhook) => ({ ...webhook, dead: dead.get(webhook.webhook_id) ?? 0 }));
}

/** How many deliveries were given up in all, and how many webhooks are off, whoever switched them off. */
export async function webhookProblems(deps: ReadDeps): Promise<{ dead: number; off: number }> {
  const [webhooks, dead] = await Promise.all([listWebhooks(deps.db), countDeadDeliveries(deps.db)]);
  return {
    dead: [...dead.values()].reduce((sum, count) => sum + count, 0),
    off: webhooks.filter(({ disabled_at }) => disabled_at !== null).length,
  };
}

export const deliveryStates = ['waiting', 'delivered', 'dead'] as const satisfies DeliveryState[];

export type DeliverySearch = { state?: DeliveryState; after?: string; limit?: number };
export type DeliveryPage = {
  deliveries: Delivery[];
  /** For `after`; undefined on the last page. */
  next: string | undefined;
};

/**
 * What became of the deliveries to one of them, a page at a time, newest first.
 * @param search.state those alone; all without it.
 * @param search.after what the page before gave as `next`.
 * @throws {RequestError} `not_found`; `invalid_request` for an `after` that no page has given.
 */
export async function findDeliveries(
  deps: ReadDeps,
  webhook_id: string,
  { state, after, limit = 50 }: DeliverySearch = {},
): Promise<DeliveryPage> {
  await requireWebhook(deps, webhook_id);
  const place = decodeCursor('after', after);
  const found = await listDeliveries(deps.db, webhook_id, limit + 1, {
    state,
    after: place && { created_at: place.at, delivery_id: place.id },
  });
  const { rows: deliveries, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.delivery_id }));
  return { deliveries, next };
}

/** As programs are told it. */
export async function deliveriesTo(deps: ReadDeps, webhook_id: string, search: DeliverySearch) {
  const { deliveries, next } = await findDeliveries(deps, webhook_id, search);
  return { deliveries: deliveries.map(deliveryRecord), next: next ?? null };
}

/** One with its newest deliveries, and apart from them those that were given up. @throws {RequestError} `not_found`. */
export async function webhookWithDeliveries(deps: ReadDeps, webhook_id: string, limit: number) {
  const webhook = webhookRecord(await requireWebhook(deps, webhook_id));
  const [latest, dead, deadInAll] = await Promise.all([
    findDeliveries(deps, webhook_id, { limit }),
    findDeliveries(deps, webhook_id, { state: 'dead', limit }),
    countDeadOf(deps.db, webhook_id),
  ]);
  return { webhook, latest, dead, deadInAll };
}

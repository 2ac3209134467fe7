import type { Deps } from '../deps.ts';
import { deliveryRecord, requireWebhook, webhookRecord } from './manage-webhook.ts';
import { countDeadDeliveries, listDeadDeliveries, listDeliveries, listWebhooks } from './store.ts';

type ReadDeps = Pick<Deps, 'db'>;

/** Who is told of what, oldest first, never with a secret. */
export const allWebhooks = async (deps: ReadDeps) => (await listWebhooks(deps.db)).map(webhookRecord);

/** Each with the number of its deliveries that were given up. */
export async function webhooksWithDead(deps: ReadDeps) {
  const [webhooks, dead] = await Promise.all([allWebhooks(deps), countDeadDeliveries(deps.db)]);
  return webhooks.map((webhook) => ({ ...webhook, dead: dead.get(webhook.webhook_id) ?? 0 }));
}

/** How many deliveries were given up in all. */
export const countDead = async (deps: ReadDeps): Promise<number> =>
  [...(await countDeadDeliveries(deps.db)).values()].reduce((sum, count) => sum + count, 0);

/** What became of the newest deliveries to one of them. @throws {RequestError} `not_found`. */
export async function deliveriesTo(deps: ReadDeps, webhook_id: string, limit: number) {
  await requireWebhook(deps, webhook_id);
  return (await listDeliveries(deps.db, webhook_id, limit)).map(deliveryRecord);
}

/** One with its newest deliveries, and apart from them those that were given up. @throws {RequestError} `not_found`. */
export async function webhookWithDeliveries(deps: ReadDeps, webhook_id: string, limit: number) {
  const webhook = webhookRecord(await requireWebhook(deps, webhook_id));
  const [deliveries, dead] = await Promise.all([
    listDeliveries(deps.db, webhook_id, limit),
    listDeadDeliveries(deps.db, webhook_id, limit),
  ]);
  return { webhook, deliveries, dead };
}

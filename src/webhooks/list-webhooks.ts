import type { Deps } from '../audit/deps.ts';
import { type DeliverySearch, stateOf } from '../deliveries/queue.ts';
import { findInAll } from '../platform/db/parts.ts';
import { notFound } from '../platform/errors.ts';
import type { WebhookId } from '../platform/ids.ts';
import { attemptsOf } from './attempts.ts';
import {
  countDeadDeliveries,
  findWebhook,
  listWebhooks,
  nextAttempts,
  type Webhook,
  webhookDeliveries,
} from './store.ts';

type ReadDeps = Pick<Deps, 'db'>;

/** @throws {RequestError} `not_found`. */
export async function requireWebhook({ db }: ReadDeps, webhook_id: WebhookId): Promise<Webhook> {
  const webhook = await findWebhook(db, webhook_id);
  if (!webhook) throw notFound();
  return webhook;
}

/** Oldest first, without secrets. */
export const allWebhooks = ({ db }: ReadDeps) => listWebhooks(db);

/** Its name, or else the host. */
export const nameOfWebhook = ({ name, url, webhook_id }: Pick<Webhook, 'name' | 'url' | 'webhook_id'>): string =>
  name ?? URL.parse(url)?.host ?? webhook_id;

/** Each with the number of its dead deliveries, up to {@link maxDeadCounted}, and when one that fails is tried next. */
export async function webhooksWithDead({ db }: ReadDeps) {
  const [webhooks, dead, next] = await Promise.all([listWebhooks(db), countDeadDeliveries(db), nextAttempts(db)]);
  return webhooks.map((webhook) => ({
    ...webhook,
    dead: dead.get(webhook.webhook_id) ?? 0,
    next_attempt_at: next.get(webhook.webhook_id) ?? null,
  }));
}

/** Whether an enabled webhook fails. */
export const isFailing = ({ failing_since, disabled_at }: Webhook): boolean =>
  failing_since !== null && disabled_at === null;

/**
 * The deliveries of a webhook, without payloads and answers. Newest first.
 * @throws {RequestError} `not_found`; `invalid_request` for an `after` that no page has given.
 */
export async function findDeliveries({ db }: ReadDeps, webhook_id: string, search?: DeliverySearch) {
  await requireWebhook({ db }, webhook_id);
  const { deliveries, next } = await webhookDeliveries.page(db, webhook_id, search);
  return {
    deliveries: deliveries.map(({ payload: _, response_body: __, webhook_id: ___, attempt_log: ____, ...one }) => one),
    next,
  };
}

/** How many are in each state. */
export const countDeliveries = ({ db }: ReadDeps, webhook_id: string) => webhookDeliveries.counts(db, webhook_id);

/** With its payload, and the beginning of the answer to the latest attempt. @throws {RequestError} `not_found`. */
export async function findDelivery({ db }: ReadDeps, webhook_id: string, delivery_id: string) {
  const delivery = await findInAll(db, (part) => webhookDeliveries.find(part, webhook_id, delivery_id));
  if (!delivery) throw notFound();
  const { attempt_log, ...shown } = delivery;
  return { ...shown, state: stateOf(delivery), attempt_list: attemptsOf({ attempt_log }) };
}

/** A webhook with its newest deliveries, and its newest dead ones. @throws {RequestError} `not_found`. */
export async function webhookWithDeliveries({ db }: ReadDeps, webhook_id: string, limit: number) {
  const webhook = await requireWebhook({ db }, webhook_id);
  const [latest, dead, counts, next] = await Promise.all([
    findDeliveries({ db }, webhook_id, { limit }),
    findDeliveries({ db }, webhook_id, { state: 'dead', limit }),
    countDeadDeliveries(db, webhook_id),
    nextAttempts(db),
  ]);
  const next_attempt_at = next.get(webhook.webhook_id) ?? null;
  return { webhook: { ...webhook, next_attempt_at }, latest, dead, deadInAll: counts.get(webhook_id) ?? 0 };
}

import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import { resendDelivery } from '../deliveries/resend.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { inOrder } from '../platform/db/db.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import type { DeliveryId, WebhookId } from '../platform/ids.ts';
import { requireWebhook } from './list-webhooks.ts';
import { countDeadDeliveries, lockWebhook, replayDeadDeliveries, webhookDeliveries } from './store.ts';

/**
 * Sends a delivery once more, whether it had failed or succeeded: a receiver may have lost what it took. It keeps its id and
 * that of its event, by which a receiver recognizes the repeat.
 * One that waits after a failure is tried at once.
 * @throws {RequestError} `not_found`; `invalid_state` if it is due already, or the webhook disabled.
 */
export async function replay(
  deps: StoreDeps,
  caller: Caller,
  { webhook_id, delivery_id }: { webhook_id: WebhookId; delivery_id: DeliveryId },
): Promise<{ delivery_id: DeliveryId }> {
  await requireEnabled(deps, webhook_id);
  return resendDelivery(deps, caller, webhookDeliveries, {
    receiver_id: webhook_id,
    delivery_id,
    from: ['dead', 'delivered'],
    event: { action: 'webhook.replayed' },
    lock: lockWebhook(webhook_id),
  });
}

/** Of a part of the store. One statement updates them all, and this many take a fraction of a second. */
export const maxReplayed = 10_000;

/**
 * Sends the dead deliveries of a webhook once more, the oldest `maxReplayed`, and as many that wait after a failure at once.
 * Without any, nothing is changed or logged.
 * @returns how many wait again, and how many are still dead, up to `maxDeadCounted`.
 * @throws {RequestError} `not_found`; `invalid_state` when the webhook is disabled.
 */
export async function replayDead(deps: StoreDeps, caller: Caller, webhook_id: WebhookId) {
  await requireEnabled(deps, webhook_id);
  const at = now(deps);
  const { statement } = auditEvent({ action: 'webhook.replayed', ...caller, target: webhook_id }, at);
  let replayed = 0;
  for (const part of deps.db.parts) {
    const deliveries = mustChange(replayDeadDeliveries(webhook_id, maxReplayed, at));
    const done = await inOrder(
      { in: deps.db.shared, lock: lockWebhook(webhook_id), run: {} },
      { in: part, run: { deliveries, event: replayed === 0 ? statement : undefined } },
    );
    if (done.ok) replayed += done.results.deliveries.changes;
  }
  return { replayed, dead: (await countDeadDeliveries(deps.db, webhook_id)).get(webhook_id) ?? 0 };
}

async function requireEnabled(deps: Pick<Deps, 'db'>, webhook_id: WebhookId): Promise<void> {
  const { disabled_at } = await requireWebhook(deps, webhook_id);
  if (disabled_at !== null)
    throw refusal('invalid_state', { key: 'webhooks.is_off' }, { details: { current_status: 'disabled' } });
}

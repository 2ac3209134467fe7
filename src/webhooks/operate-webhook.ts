import { failUnless } from '../accounts/one-time-links/store.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import type { Condition } from '../audit/store.ts';
import { now } from '../platform/clock.ts';
import { type Statement, UniqueViolation } from '../platform/db/db.ts';
import { invalidState, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { newSecret, requireWebhook } from './manage-webhook.ts';
import {
  disableWebhook,
  enableWebhook,
  insertDelivery,
  isDisabled,
  isEnabled,
  isWebhook,
  lockWebhook,
  replaceSecret,
} from './store.ts';

type WebhookDeps = Pick<Deps, 'db' | 'clock'>;

/** Tells it nothing any more until it is enabled. @throws {RequestError} `not_found`; `invalid_state` if it is off. */
export const disable = (deps: WebhookDeps, caller: Caller, webhook_id: string): Promise<void> =>
  changeWebhook(deps, caller, webhook_id, 'webhook.disabled', isEnabled(webhook_id), (_, at) => [
    disableWebhook(webhook_id, at, isEnabled(webhook_id)),
  ]);

/** @throws {RequestError} `not_found`; `invalid_state` if it is on. */
export const enable = (deps: WebhookDeps, caller: Caller, webhook_id: string): Promise<void> =>
  changeWebhook(deps, caller, webhook_id, 'webhook.enabled', isDisabled(webhook_id), () => [enableWebhook(webhook_id)]);

/** Plans a delivery of type `webhook.test`, which says nothing. @throws {RequestError} as `disable`. */
export const sendTest = (deps: WebhookDeps, caller: Caller, webhook_id: string): Promise<void> =>
  changeWebhook(deps, caller, webhook_id, 'webhook.tested', isEnabled(webhook_id), (event_id, at) => {
    const event_type = 'webhook.test';
    const payload = JSON.stringify({
      type: event_type,
      timestamp: new Date(at * 1000).toISOString(),
      data: { event_id, target: webhook_id },
    });
    return [insertDelivery({ delivery_id: newId('msg'), webhook_id, event_id, event_type, payload }, at)];
  });

/**
 * From now on everything is signed with another secret, also what waits already.
 * @returns the secret: this is the only time that anybody sees it.
 * @throws {RequestError} `not_found`.
 */
export async function rotateSecret(deps: Pick<Deps, 'db' | 'clock' | 'vault'>, caller: Caller, webhook_id: string) {
  const secret = newSecret();
  const sealed = deps.vault.seal(`webhook:${webhook_id}`, secret);
  await changeWebhook(deps, caller, webhook_id, 'webhook.secret_rotated', isWebhook(webhook_id), () => [
    replaceSecret(webhook_id, sealed),
  ]);
  return { webhook_id, secret };
}

async function changeWebhook(
  deps: WebhookDeps,
  caller: Caller,
  webhook_id: string,
  action: string,
  condition: Condition,
  change: (event_id: string, at: number) => Statement[],
): Promise<void> {
  await requireWebhook(deps, webhook_id);
  const at = now(deps);
  const { event_id, statement } = auditEvent({ action, ...caller, target: webhook_id }, at);
  try {
    await deps.db.batch([
      lockWebhook(webhook_id),
      failUnless(condition, event_id, at),
      ...change(event_id, at),
      statement,
    ]);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    const { disabled_at } = await requireWebhook(deps, webhook_id);
    if (action === 'webhook.secret_rotated') throw notFound();
    throw invalidState(disabled_at === null ? 'enabled' : 'disabled');
  }
}

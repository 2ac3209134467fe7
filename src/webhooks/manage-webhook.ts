import { randomBytes } from 'node:crypto';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import type { AuditRow } from '../audit/read-log.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { SecretDeps } from '../platform/deps.ts';
import { type FieldProblem, fieldProblem, invalidFields, invalidState, notFound, refusal } from '../platform/errors.ts';
import type { MessageKey } from '../platform/i18n/translate.ts';
import { type DeliveryId, newId, type WebhookId } from '../platform/ids.ts';
import { subnetList } from '../platform/ip-address.ts';
import { eventTypes, isEventType, payloadOf } from './event-types.ts';
import {
  countDeadOf,
  type Delivery,
  type DeliveryState,
  deleteDeletedWebhook,
  deleteDeliveriesOf,
  deletedWebhooks,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  findDelivery,
  findWebhook,
  insertDelivery,
  insertWebhook,
  isEnabled,
  lockWebhook,
  planDeliveries,
  replaceSecret,
  replayDeadDeliveries,
  replayDelivery,
  type Webhook,
  webhookExists,
} from './store.ts';
import { isAllowedAddress, mayDeliver } from './target.ts';

type ManageDeps = Pick<Deps, 'db' | 'clock'>;

/** A webhook as administrators see it; its secret was shown once. */
export const webhookRecord = ({ webhook_id, url, event_types, created_at, disabled_at }: Webhook) => ({
  webhook_id,
  url,
  event_types,
  created_at,
  disabled_at,
});

/** A delivery without its payload, which is in the audit log. */
export const deliveryRecord = ({ payload: _, webhook_id: __, ...delivery }: Delivery) => ({
  ...delivery,
  state: stateOf(delivery),
});

function stateOf({ delivered_at, dead_at }: Pick<Delivery, 'delivered_at' | 'dead_at'>): DeliveryState {
  if (delivered_at !== null) return 'delivered';
  return dead_at === null ? 'waiting' : 'dead';
}

/**
 * @returns the webhook and its signing secret (Standard Webhooks `whsec_…`): it is shown this once.
 * @throws {RequestError} `invalid_request` with a problem for each field.
 */
export async function createWebhook(
  deps: SecretDeps,
  caller: Caller,
  wanted: { url: string; event_types: readonly string[] },
) {
  const problems: FieldProblem[] = [];
  const urlProblem = targetProblem(deps, wanted.url);
  if (urlProblem) problems.push(fieldProblem('url', { key: urlProblem }));
  const names = [...new Set(wanted.event_types)];
  const event_types = names.filter(isEventType);
  if (names.length === 0 || event_types.length < names.length) {
    // For programs: the form of the page lists them.
    const message = `Must be one or more of: ${eventTypes.join(', ')}.`;
    problems.push({ path: 'event_types', message, userMessage: { key: 'problem.webhook.events' } });
  }
  if (problems.length > 0) throw invalidFields(problems);
  const at = now(deps);
  const webhook_id = newId('wh');
  const secret = newWebhookSecret();
  const webhook = {
    webhook_id,
    url: wanted.url,
    event_types,
    secret_sealed: deps.vault.seal(`webhook:${webhook_id}`, secret),
    created_at: at,
  };
  const { statement } = auditEvent(
    {
      action: 'webhook.created',
      ...caller,
      target: webhook_id,
      after: { origin: originOf(wanted.url), event_types },
    },
    at,
  );
  await deps.db.change({ run: { webhook: insertWebhook(webhook), event: statement } });
  return { ...webhookRecord({ ...webhook, disabled_at: null }), secret };
}

/** For the audit log, which is kept for long and read by many: the path of a webhook is often its password. */
const originOf = (url: string): string => new URL(url).origin;

/** It is gone with the answer; deliveries beyond one slice are deleted by a job. @throws {RequestError} `not_found`. */
export async function removeWebhook(deps: ManageDeps, caller: Caller, webhook_id: WebhookId): Promise<void> {
  const webhook = await requireWebhook(deps, webhook_id);
  const at = now(deps);
  const event = {
    action: 'webhook.deleted',
    ...caller,
    target: webhook_id,
    before: { origin: originOf(webhook.url) },
  } as const;
  const done = await deps.db.change({
    lock: lockWebhook(webhook_id),
    require: { exists: webhookExists(webhook_id) },
    run: { webhook: deleteWebhook(webhook_id, at), event: auditEvent(event, at).statement },
  });
  if (!done.ok) throw notFound();
}

/** Deletes the deliveries of deleted webhooks, in slices, and then their rows. */
export async function finishWebhookDeletions({ db }: { db: Db }, signal?: AbortSignal): Promise<void> {
  for (const { webhook_id } of await deletedWebhooks(db)) {
    const isDone = await inSlices(async (rows) => (await deleteDeliveriesOf(db, webhook_id, rows)).changes, signal);
    if (!isDone) return;
    await deleteDeletedWebhook(db, webhook_id);
  }
}

/** Its events are not delivered until it is enabled. @throws {RequestError} `not_found`; `invalid_state` if it is disabled. */
export async function disable(deps: ManageDeps, caller: Caller, webhook_id: WebhookId): Promise<void> {
  await requireWebhook(deps, webhook_id);
  const at = now(deps);
  const { statement } = auditEvent({ action: 'webhook.disabled', ...caller, target: webhook_id }, at);
  const webhook = mustChange(disableWebhook(webhook_id, at));
  const done = await deps.db.change({ run: { webhook, event: statement } });
  if (!done.ok) throw await stateRefusal(deps, webhook_id);
}

/** @throws {RequestError} `not_found`; `invalid_state` if it is enabled. */
export async function enable(deps: ManageDeps, caller: Caller, webhook_id: WebhookId): Promise<void> {
  await requireWebhook(deps, webhook_id);
  const { statement } = auditEvent({ action: 'webhook.enabled', ...caller, target: webhook_id }, now(deps));
  const webhook = mustChange(enableWebhook(webhook_id));
  const done = await deps.db.change({ run: { webhook, event: statement } });
  if (!done.ok) throw await stateRefusal(deps, webhook_id);
}

/** Plans a delivery of type `webhook.test` without further data. @throws {RequestError} as `disable`. */
export async function sendTest(deps: ManageDeps, caller: Caller, webhook_id: WebhookId): Promise<void> {
  await requireWebhook(deps, webhook_id);
  const at = now(deps);
  const event_type = 'webhook.test';
  const { event_id, statement } = auditEvent({ action: 'webhook.tested', ...caller, target: webhook_id }, at);
  const payload = JSON.stringify({
    type: event_type,
    timestamp: new Date(at * 1000).toISOString(),
    data: { event_id, target: webhook_id },
  });
  const done = await deps.db.change({
    lock: lockWebhook(webhook_id),
    require: { enabled: isEnabled(webhook_id) },
    run: {
      delivery: insertDelivery({ delivery_id: newId('msg'), webhook_id, event_id, event_type, payload }, at),
      event: statement,
    },
  });
  if (!done.ok) throw await stateRefusal(deps, webhook_id);
}

async function stateRefusal(deps: Pick<Deps, 'db'>, webhook_id: WebhookId) {
  const { disabled_at } = await requireWebhook(deps, webhook_id);
  return invalidState(disabled_at === null ? 'enabled' : 'disabled');
}

/**
 * From now on everything is signed with another secret, also deliveries that are waiting.
 * @returns the secret: it is shown this once.
 * @throws {RequestError} `not_found`.
 */
export async function rotateSecret(deps: ManageDeps & Pick<Deps, 'vault'>, caller: Caller, webhook_id: WebhookId) {
  await requireWebhook(deps, webhook_id);
  const secret = newWebhookSecret();
  const webhook = mustChange(replaceSecret(webhook_id, deps.vault.seal(`webhook:${webhook_id}`, secret)));
  const { statement } = auditEvent({ action: 'webhook.secret_rotated', ...caller, target: webhook_id }, now(deps));
  const done = await deps.db.change({ run: { webhook, event: statement } });
  if (!done.ok) throw notFound();
  return { webhook_id, secret };
}

/** Sends a dead delivery once more. @throws {RequestError} `not_found`; `invalid_state` if it is not dead. */
export async function replay(
  deps: ManageDeps,
  caller: Caller,
  { webhook_id, delivery_id }: { webhook_id: WebhookId; delivery_id: DeliveryId },
): Promise<void> {
  const delivery = await findDelivery(deps.db, webhook_id, delivery_id);
  if (!delivery) throw notFound();
  await requireEnabled(deps, webhook_id);
  const at = now(deps);
  const { statement } = auditEvent({ action: 'webhook.replayed', ...caller, target: delivery_id }, at);
  const done = await deps.db.change({
    lock: lockWebhook(webhook_id),
    run: { delivery: mustChange(replayDelivery(delivery_id, at)), event: statement },
  });
  if (!done.ok) throw invalidState(stateOf({ ...delivery, dead_at: null }));
}

/** One statement holds the store meanwhile, and this many rows take it a fraction of a second. */
export const maxReplayed = 10_000;

/**
 * Sends the dead deliveries of one webhook once more, the oldest first. Without any, nothing is changed or logged.
 * @returns how many wait again, and how many are still dead: above `maxReplayed` it takes another call.
 * @throws {RequestError} `not_found`; `invalid_state` when the webhook is disabled.
 */
export async function replayDead(
  deps: ManageDeps,
  caller: Caller,
  webhook_id: WebhookId,
): Promise<{ replayed: number; dead: number }> {
  await requireEnabled(deps, webhook_id);
  const at = now(deps);
  const { statement } = auditEvent({ action: 'webhook.replayed', ...caller, target: webhook_id }, at);
  const done = await deps.db.change({
    lock: lockWebhook(webhook_id),
    run: { deliveries: mustChange(replayDeadDeliveries(webhook_id, maxReplayed, at)), event: statement },
  });
  const replayed = done.ok ? done.results.deliveries.changes : 0;
  return { replayed, dead: await countDeadOf(deps.db, webhook_id) };
}

/** Standard Webhooks: 32 random bytes. */
const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export async function requireWebhook(deps: Pick<Deps, 'db'>, webhook_id: WebhookId): Promise<Webhook> {
  const webhook = await findWebhook(deps.db, webhook_id);
  if (!webhook) throw notFound();
  return webhook;
}

/** @throws {RequestError} `not_found`; `invalid_state` when it is disabled. */
export async function requireEnabled(deps: Pick<Deps, 'db'>, webhook_id: WebhookId): Promise<void> {
  const { disabled_at } = await requireWebhook(deps, webhook_id);
  if (disabled_at !== null)
    throw refusal('invalid_state', { key: 'webhooks.is_off' }, { details: { current_status: 'disabled' } });
}

/** For the change that seals an event: a delivery for each webhook that wants it. */
export const deliveriesOf =
  (deps: Pick<Deps, 'clock'>) =>
  (event: AuditRow): Sql[] =>
    isEventType(event.action)
      ? [
          planDeliveries(
            {
              event_id: event.event_id,
              event_type: event.action,
              payload: payloadOf(event),
              delivery_id: newId('msg'),
            },
            now(deps),
          ),
        ]
      : [];

/** The name is judged again at each connection, by the addresses that it then has. */
function targetProblem({ config }: Pick<Deps, 'config'>, url: string): MessageKey | undefined {
  if (url.length > 2000 || !URL.canParse(url)) return 'problem.webhook.url.absolute';
  const { protocol, hostname, username, password, hash } = new URL(url);
  const allowed = subnetList(config.webhookInternal);
  if (username || password || hash) return 'problem.webhook.url.userinfo';
  if (protocol !== 'https:' && !(protocol === 'http:' && config.webhookInternal.length > 0))
    return 'problem.webhook.url.https';
  const isLiteral = /^[\d.]+$|^\[/.test(hostname);
  if (isLiteral && !isAllowedAddress(hostname, allowed)) return 'problem.webhook.url.internal';
  if (isLiteral && !mayDeliver(protocol, hostname, allowed)) return 'problem.webhook.url.clear';
  return undefined;
}

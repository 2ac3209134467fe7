import { randomBytes } from 'node:crypto';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import type { AuditRow } from '../audit/statements.ts';
import { now } from '../platform/clock.ts';
import { type Change, mustChange, type Requirements, type Writes } from '../platform/db/change.ts';
import type { Db } from '../platform/db/db.ts';
import { workIn } from '../platform/db/parts.ts';
import { inSlices } from '../platform/db/slices.ts';
import type { Sql } from '../platform/db/sql.ts';
import { tables } from '../platform/db/tables.ts';
import type { SecretDeps, StoreDeps } from '../platform/deps.ts';
import type { Edited } from '../platform/edited.ts';
import { fieldProblem, invalidFields, invalidState } from '../platform/errors.ts';
import { type EventId, newId, type WebhookId } from '../platform/ids.ts';
import { isEventType, payloadOf } from './event-types.ts';
import { requireWebhook } from './list-webhooks.ts';
import {
  deleteDeletedWebhook,
  deleteDeliveriesOf,
  deletedWebhooks,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  insertDelivery,
  insertWebhook,
  isDeletableAtOnce,
  isEnabled,
  lockWebhook,
  planDeliveries,
  replaceSecret,
  sealedSecretOf,
  updateWebhook,
  type Webhook,
  webhookExists,
} from './store.ts';
import { isSameTerms, originOf, readTerms, recordedTerms, type Terms, type WantedTerms } from './terms.ts';

/**
 * @param wanted.secret left out: a new one.
 * @returns the webhook and its signing secret, which is not readable afterwards.
 * @throws {RequestError} `invalid_request` with a problem for each field.
 */
export async function createWebhook(
  deps: SecretDeps,
  caller: Caller,
  wanted: { name?: string; url: string; event_types: readonly string[]; secret?: string | undefined },
) {
  const { name, url, event_types } = readTerms(deps, { ...wanted, name: wanted.name ?? '' });
  const at = now(deps);
  const webhook_id = newId('wh');
  const { secret, secret_sealed } = newSecret(deps, webhook_id, wanted.secret);
  const webhook = {
    webhook_id,
    name,
    url,
    event_types,
    created_at: at,
    disabled_at: null,
    disabled_reason: null,
    failing_since: null,
  };
  const after = recordedTerms(webhook);
  const { statement } = auditEvent({ action: 'webhook.created', ...caller, target: webhook_id, after }, at);
  await deps.db.shared.change({ run: { webhook: insertWebhook({ ...webhook, secret_sealed }), event: statement } });
  return { ...webhook, secret };
}

/**
 * What is left out stays as it is; an empty name removes it. Deliveries that are waiting go to the new URL. An edit that
 * differs in nothing changes and records nothing.
 * @throws {RequestError} `not_found`; `invalid_request` with a problem for each field.
 */
export async function editWebhook(
  deps: StoreDeps & Pick<Deps, 'config'>,
  caller: Caller,
  webhook_id: WebhookId,
  wanted: Partial<WantedTerms>,
): Promise<Edited<Webhook>> {
  const webhook = await requireWebhook(deps, webhook_id);
  const given = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
  const read = readTerms(deps, { ...webhook, name: webhook.name ?? '', ...given }, Object.keys(given));
  // Only what is given is written: another edit at the same time keeps the rest.
  const to: Partial<Terms> = Object.fromEntries(Object.entries(read).filter(([member]) => member in given));
  const terms = { ...webhook, ...to };
  if (isSameTerms(webhook, terms)) return { after: webhook, isChanged: false };
  const event = { before: recordedTerms(webhook), after: recordedTerms(terms) };
  await change(deps, { action: 'webhook.edited', ...caller, target: webhook_id, ...event }, () => ({
    run: { webhook: mustChange(updateWebhook(webhook_id, to)) },
  }));
  return { after: terms, isChanged: true };
}

/** Seconds. */
export const longestSecretOverlap = 86_400;

/** Standard Webhooks: 32 random bytes. */
function newSecret(
  { vault }: Pick<Deps, 'vault'>,
  webhook_id: WebhookId,
  secret = `whsec_${randomBytes(32).toString('base64')}`,
) {
  return { secret, secret_sealed: vault.seal(tables.webhooks.sealed.secret_sealed(webhook_id), secret) };
}

/**
 * Changes one webhook, with an event about it.
 * @param make the change, and the requirements that it has.
 * @throws {RequestError} `not_found`; `invalid_state` if the change is refused.
 */
async function change(
  deps: StoreDeps,
  event: Pick<Parameters<typeof auditEvent>[0], 'action' | 'before' | 'after'> & { target: WebhookId } & Caller,
  make: (at: number, event_id: EventId) => Change<Requirements, Writes>,
): Promise<{ webhook_id: WebhookId }> {
  const at = now(deps);
  const { event_id, statement } = auditEvent(event, at);
  const { run, ...conditions } = make(at, event_id);
  const done = await deps.db.shared.change({ ...conditions, run: { ...run, event: statement } });
  if (done.ok) return { webhook_id: event.target };
  const { disabled_at } = await requireWebhook(deps, event.target);
  throw invalidState(disabled_at === null ? 'enabled' : 'disabled');
}

/** Takes effect at once; deliveries beyond one slice are deleted by a job. @throws {RequestError} `not_found`. */
export async function removeWebhook(deps: StoreDeps, caller: Caller, webhook_id: WebhookId): Promise<void> {
  const { url } = await requireWebhook(deps, webhook_id);
  const before = { origin: originOf(url) };
  const isAtOnce = await isDeletableAtOnce(deps.db, webhook_id);
  await change(deps, { action: 'webhook.deleted', ...caller, target: webhook_id, before }, (at) => ({
    lock: lockWebhook(webhook_id),
    require: { exists: webhookExists(webhook_id) },
    run: { webhook: deleteWebhook(webhook_id, isAtOnce, at) },
  }));
}

/** Deletes the deliveries of deleted webhooks, in slices, and then their rows. @returns false if the signal ended it before all was done. */
export async function finishWebhookDeletions({ db }: { db: Db }, signal?: AbortSignal): Promise<boolean> {
  for (const { webhook_id } of await deletedWebhooks(db)) {
    const done = await workIn(db.parts, (part) =>
      inSlices(async (rows) => (await deleteDeliveriesOf(part, webhook_id, rows)).changes, signal),
    );
    if (done.includes(false)) return false;
    await deleteDeletedWebhook(db, webhook_id);
  }
  return true;
}

/** Its events are not delivered until it is enabled. @throws {RequestError} `not_found`; `invalid_state` if disabled. */
export const disable = (deps: StoreDeps, caller: Caller, webhook_id: WebhookId) =>
  change(deps, { action: 'webhook.disabled', ...caller, target: webhook_id }, (at) => ({
    run: { webhook: mustChange(disableWebhook(webhook_id, at)) },
  }));

/** @throws {RequestError} `not_found`; `invalid_state` if enabled. */
export const enable = (deps: StoreDeps, caller: Caller, webhook_id: WebhookId) =>
  change(deps, { action: 'webhook.enabled', ...caller, target: webhook_id }, () => ({
    run: { webhook: mustChange(enableWebhook(webhook_id)) },
  }));

/** Whether it signs with this secret now. */
export async function isSignedWith(
  { db, vault }: Pick<Deps, 'db' | 'vault'>,
  webhook_id: WebhookId,
  secret: string,
): Promise<boolean> {
  const found = await sealedSecretOf(db, webhook_id);
  return (
    found !== undefined && vault.open(tables.webhooks.sealed.secret_sealed(webhook_id), found.secret_sealed) === secret
  );
}

/** Plans a delivery of type `webhook.test`. @throws {RequestError} `not_found`; `invalid_state` if disabled. */
export const sendTest = (deps: StoreDeps, caller: Caller, webhook_id: WebhookId) =>
  change(deps, { action: 'webhook.tested', ...caller, target: webhook_id }, (at, event_id) => {
    const type = 'webhook.test';
    const timestamp = new Date(at * 1000).toISOString();
    const payload = JSON.stringify({ type, timestamp, data: { event_id, target: webhook_id } });
    const delivery = { delivery_id: newId('msg'), webhook_id, event_id, event_type: type, payload };
    return {
      lock: lockWebhook(webhook_id),
      require: { enabled: isEnabled(webhook_id) },
      run: { delivery: insertDelivery(delivery, at) },
    };
  });

/**
 * Signs all deliveries with another secret from now on, also those that are waiting. The present one signs beside it for a
 * while, so that a receiver can be given the new one at any time of it (Standard Webhooks); the one before that has ended.
 * @param overlap_seconds 0, for a secret that has leaked, to a day. @param given the secret; left out: a random one.
 * @returns the secret, which is not readable afterwards.
 * @throws {RequestError} `not_found`; `invalid_request` for another overlap.
 */
export async function rotateSecret(
  deps: StoreDeps & Pick<Deps, 'vault'>,
  caller: Caller,
  webhook_id: WebhookId,
  overlap_seconds: number = longestSecretOverlap,
  given?: string,
) {
  if (!(Number.isInteger(overlap_seconds) && overlap_seconds >= 0 && overlap_seconds <= longestSecretOverlap)) {
    const userMessage = { key: 'problem.service.overlap', values: { max: longestSecretOverlap } } as const;
    throw invalidFields([fieldProblem('overlap_seconds', userMessage)]);
  }
  const { secret, secret_sealed } = newSecret(deps, webhook_id, given);
  const previous_expires_at = now(deps) + overlap_seconds;
  const until = overlap_seconds === 0 ? undefined : previous_expires_at;
  const event = {
    action: 'webhook.secret_rotated',
    ...caller,
    target: webhook_id,
    after: { overlap_seconds },
  } as const;
  await change(deps, event, () => ({
    run: { webhook: mustChange(replaceSecret(webhook_id, secret_sealed, until)) },
  }));
  return { webhook_id, secret, previous_expires_at };
}

/** For the change that seals an event: a delivery for each webhook that wants it. */
export const deliveriesOf =
  (deps: Pick<Deps, 'clock'>) =>
  (event: AuditRow): Sql[] => {
    if (!isEventType(event.action)) return [];
    const { event_id, action: event_type } = event;
    return [planDeliveries({ delivery_id: newId('msg'), event_id, event_type, payload: payloadOf(event) }, now(deps))];
  };

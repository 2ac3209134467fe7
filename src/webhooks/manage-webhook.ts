import { randomBytes } from 'node:crypto';
import { failUnless } from '../accounts/one-time-links/store.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import type { AuditRow } from '../audit/store.ts';
import { now } from '../platform/clock.ts';
import { type Statement, UniqueViolation } from '../platform/db/db.ts';
import type { SecretDeps } from '../platform/deps.ts';
import { type FieldProblem, fieldProblem, invalidFields, invalidState, notFound, refusal } from '../platform/errors.ts';
import type { MessageKey } from '../platform/i18n/translate.ts';
import { newId } from '../platform/ids.ts';
import { subnetList } from '../platform/ip-address.ts';
import { type EventType, eventTypes, isEventType, payloadOf } from './event-types.ts';
import {
  type Delivery,
  type DeliveryState,
  deleteWebhook,
  findDelivery,
  findWebhook,
  insertWebhook,
  isDead,
  isWebhook,
  lockWebhook,
  planDeliveries,
  replayDelivery,
  type Webhook,
} from './store.ts';
import { isAllowedAddress, mayDeliver } from './target.ts';

/** A webhook as administrators see it; its secret was shown once. */
export const webhookRecord = ({ webhook_id, url, event_types, created_at, disabled_at }: Webhook) => ({
  webhook_id,
  url,
  event_types: JSON.parse(event_types) as EventType[],
  created_at,
  disabled_at,
});

/** What became of one delivery, without what it said: that is in the audit log. */
export const deliveryRecord = ({ payload: _, webhook_id: __, ...delivery }: Delivery) => ({
  ...delivery,
  state: stateOf(delivery),
});

function stateOf({ delivered_at, dead_at }: Pick<Delivery, 'delivered_at' | 'dead_at'>): DeliveryState {
  if (delivered_at !== null) return 'delivered';
  return dead_at === null ? 'waiting' : 'dead';
}

/**
 * @returns the webhook and its signing secret (Standard Webhooks `whsec_…`): this is the only time that anybody sees it.
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
  const types = [...new Set(wanted.event_types)];
  if (types.length === 0 || !types.every(isEventType)) {
    // A program is told the names, which a page has in its form.
    const message = `Must be one or more of: ${eventTypes.join(', ')}.`;
    problems.push({ path: 'event_types', message, userMessage: { key: 'problem.webhook.events' } });
  }
  if (problems.length > 0) throw invalidFields(problems);
  const at = now(deps);
  const webhook_id = newId('wh');
  const secret = newSecret();
  const webhook = {
    webhook_id,
    url: wanted.url,
    event_types: JSON.stringify(types),
    secret_sealed: deps.vault.seal(`webhook:${webhook_id}`, secret),
    created_at: at,
  };
  const { statement } = auditEvent(
    {
      action: 'webhook.created',
      ...caller,
      target: webhook_id,
      after: { origin: originOf(wanted.url), event_types: types },
    },
    at,
  );
  await deps.db.batch([insertWebhook(webhook), statement]);
  return { ...webhookRecord({ ...webhook, disabled_at: null }), secret };
}

/** The log is kept for long and read by many, and the path of a hook is often its password. */
const originOf = (url: string): string => new URL(url).origin;

/** It is gone with the answer; deliveries beyond one slice are deleted by a job. @throws {RequestError} `not_found`. */
export async function removeWebhook(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  webhook_id: string,
): Promise<void> {
  const webhook = await requireWebhook(deps, webhook_id);
  const at = now(deps);
  const event = {
    action: 'webhook.deleted',
    ...caller,
    target: webhook_id,
    before: { origin: originOf(webhook.url) },
  } as const;
  const { event_id, statement } = auditEvent(event, at);
  try {
    await deps.db.batch([
      lockWebhook(webhook_id),
      failUnless(isWebhook(webhook_id), event_id, at),
      ...deleteWebhook(webhook_id, at),
      statement,
    ]);
  } catch (error) {
    if (error instanceof UniqueViolation) throw notFound(); // somebody else was quicker
    throw error;
  }
}

/** Standard Webhooks: 32 random bytes. */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export async function requireWebhook(deps: Pick<Deps, 'db'>, webhook_id: string): Promise<Webhook> {
  const webhook = await findWebhook(deps.db, webhook_id);
  if (!webhook) throw notFound();
  return webhook;
}

/** Sends a delivery that was given up once more. @throws {RequestError} `not_found`; `invalid_state` if it is not dead. */
export async function replay(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  { webhook_id, delivery_id }: { webhook_id: string; delivery_id: string },
): Promise<void> {
  const delivery = await findDelivery(deps.db, webhook_id, delivery_id);
  if (!delivery) throw notFound();
  await requireEnabled(deps, webhook_id);
  const at = now(deps);
  const { event_id, statement } = auditEvent({ action: 'webhook.replayed', ...caller, target: delivery_id }, at);
  try {
    await deps.db.batch([
      lockWebhook(webhook_id),
      failUnless(isDead(delivery_id), event_id, at),
      replayDelivery(delivery_id, at),
      statement,
    ]);
  } catch (error) {
    if (error instanceof UniqueViolation) throw invalidState(stateOf({ ...delivery, dead_at: null }));
    throw error;
  }
}

/** To one that is off nothing is sent, however often. @throws {RequestError} `not_found`; `invalid_state` when off. */
export async function requireEnabled(deps: Pick<Deps, 'db'>, webhook_id: string): Promise<void> {
  const { disabled_at } = await requireWebhook(deps, webhook_id);
  if (disabled_at !== null)
    throw refusal('invalid_state', { key: 'webhooks.is_off' }, { details: { current_status: 'disabled' } });
}

/** For the sealing of an event: a delivery for everybody who wants to hear of it. */
export const deliveriesOf =
  (deps: Pick<Deps, 'clock'>) =>
  (event: AuditRow): Statement[] =>
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

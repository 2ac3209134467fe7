import { createHmac } from 'node:crypto';
import { auditEvent, requestIdOf } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import type { DeliveryKind } from '../deliveries/kind.ts';
import { type Answer, type Attempt, openPoster, unexpectedStatus } from '../deliveries/poster.ts';
import { isResent } from '../deliveries/queue.ts';
import { type DeliverySender, openDeliverySender } from '../deliveries/sender.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { inOrder, type Part } from '../platform/db/db.ts';
import { tables } from '../platform/db/tables.ts';
import { withAttempt } from './attempts.ts';
import {
  claimDelivery,
  type DueDelivery,
  disableWebhook,
  dueDeliveries,
  dueWebhooks,
  hasOnlyFailed,
  isEnabled,
  keepAnswer,
  lockWebhook,
  markFailing,
  markWell,
  webhookDeliveries,
} from './store.ts';

type SendDeps = Pick<Deps, 'db' | 'clock' | 'log' | 'outbound' | 'tracer' | 'vault'>;
type Post = ReturnType<typeof openPoster>;

export const webhookKind: DeliveryKind<SendDeps, 'deliver webhooks'> = {
  kind: 'webhook',
  job: 'deliver webhooks',
  queue: webhookDeliveries,
  open: openWebhookSender,
};

/** Posts deliveries to their webhooks. */
function openWebhookSender(deps: SendDeps): DeliverySender {
  const { db } = deps;
  const post = openPoster(deps, 'webhook', { readsBody: true });
  return openDeliverySender<DueDelivery>(deps, {
    kind: 'webhook',
    targets: async (...page) => (await dueWebhooks(...page)).map(({ webhook_id }) => webhook_id),
    due: dueDeliveries,
    claim: claimDelivery,
    post: (delivery) => postDelivery(deps, post, delivery),
    async delivered(part, delivery, at, answer) {
      const kept = keepAnswer(answer, withAttempt(delivery, { at, answer }));
      await webhookDeliveries.markDelivered(part, delivery.delivery_id, at, kept);
      if (delivery.failing_since !== null) await markWell(db, delivery.webhook_id);
    },
    async failed(part, delivery, problem, nextAttemptAt, answer) {
      const kept = keepAnswer(answer, withAttempt(delivery, { at: now(deps), answer, problem }));
      await webhookDeliveries.markFailed(part, delivery, problem, nextAttemptAt, kept);
      if (delivery.failing_since === null) await markFailing(db, delivery.webhook_id, now(deps));
    },
    giveUp: (part, delivery, problem, answer) => giveUp(deps, part, delivery, problem, answer),
  });
}

/** In the audit log and for operators. */
const reasons = {
  gone: 'The receiver responded with 410: it is gone for good.',
  failing: 'No delivery has succeeded for days.',
} as const;

/**
 * Marks the delivery dead. A webhook whose receiver is gone is disabled with it, and one without a success since the delivery
 * was planned, days ago; the latter never by one that was sent again: a receiver may well refuse what it already has, and
 * successes of that time may have been deleted.
 */
async function giveUp(deps: SendDeps, part: Part, delivery: DueDelivery, problem: string, answer: Answer) {
  const { webhook_id, delivery_id, created_at } = delivery;
  const at = now(deps);
  const why = isGone(answer.status) ? 'gone' : 'failing';
  const reason = reasons[why];
  const { statement } = auditEvent({ action: 'webhook.disabled', actor: 'system', target: webhook_id, reason }, at);
  const kept = keepAnswer(answer, withAttempt(delivery, { at, answer, problem }));
  const dead = webhookDeliveries.markDead(delivery_id, problem, at, kept);
  const isOpen = why === 'gone' ? isEnabled(webhook_id) : hasOnlyFailed(webhook_id, created_at);
  const others = why === 'gone' ? [] : deps.db.parts.filter((one) => one !== part);
  const isDisabled =
    (why === 'gone' || !isResent(delivery)) &&
    (await Promise.all(others.map((one) => one.holds(isOpen)))).every((holds) => holds) &&
    (
      await inOrder(
        { in: part, require: { open: isOpen }, run: { dead } },
        {
          in: deps.db.shared,
          lock: lockWebhook(webhook_id),
          run: { webhook: mustChange(disableWebhook(webhook_id, at, why)), event: statement },
        },
      )
    ).ok;
  if (!isDisabled) await part.run(dead);
  if (delivery.failing_since === null) await markFailing(deps.db, webhook_id, at);
  deps.log.warn({ webhook_id, delivery_id, problem }, 'a webhook delivery has failed; an administrator can resend it');
  if (isDisabled) deps.log.error({ webhook_id, reason }, 'a webhook was disabled');
}

/** Standard Webhooks: 410 is how a receiver says that it takes no event any more. */
const isGone = (status: number | null): boolean => status === 410;

/** Those that are the same with each attempt; `webhook-timestamp` and `webhook-signature` are made for each. */
export const headersOf = (delivery_id: string) => ({
  'content-type': 'application/json',
  'user-agent': 'Signet-Webhooks/1',
  'webhook-id': delivery_id,
});

/** It was taken when the answer is a 2xx. */
async function postDelivery(
  deps: SendDeps,
  post: Post,
  { url, delivery_id, event_id, webhook_id, payload, secret_sealed, previous_secret_sealed }: DueDelivery,
): Promise<Attempt> {
  const secret = secretOf(deps, webhook_id, secret_sealed);
  if (secret === undefined) {
    const problem = { message: 'Its secret cannot be decrypted: rotate it.', isSilent: true };
    return { problem, answer: { status: null, body: null, milliseconds: 0 } };
  }
  const previous = previous_secret_sealed === null ? undefined : secretOf(deps, webhook_id, previous_secret_sealed);
  const timestamp = String(now(deps));
  const signed = `${delivery_id}.${timestamp}.${payload}`;
  const headers = {
    ...headersOf(delivery_id),
    'webhook-timestamp': timestamp,
    'webhook-signature': [secret, previous].flatMap((one) => (one === undefined ? [] : [sign(one, signed)])).join(' '),
  };
  return post({ url, headers, body: payload, request_id: requestIdOf(event_id) }, (status) =>
    status >= 200 && status < 300 ? undefined : { ...unexpectedStatus(status), isFinal: isGone(status) },
  );
}

function secretOf(deps: SendDeps, webhook_id: string, sealed: string): string | undefined {
  try {
    return deps.vault.open(tables.webhooks.sealed.secret_sealed(webhook_id), sealed);
  } catch (error) {
    deps.log.error({ err: error, webhook_id }, 'the secret of a webhook cannot be decrypted');
    return undefined;
  }
}

/** Standard Webhooks: `v1,` and the base64 of an HMAC-SHA-256 under the secret's bytes. */
const sign = (secret: string, text: string): string =>
  `v1,${createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
    .update(text)
    .digest('base64')}`;

import { createHmac } from 'node:crypto';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { auditEvent } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import { isIpAddress, subnetList } from '../platform/ip-address.ts';
import { hostResolver, type Resolve } from './resolve-host.ts';
import {
  claimDelivery,
  type DueDelivery,
  disableWebhook,
  dueDeliveries,
  dueWebhooks,
  hasOnlyFailed,
  lockWebhook,
  markDead,
  markDelivered,
  markFailed,
} from './store.ts';
import { forbiddenTarget, guardedLookup, InternalTarget, mayDeliver } from './target.ts';

export { purgeDead, purgeDelivered, purgeUndeliverable } from './store.ts';

/** How long a target may take for its answer. */
const deliveryTimeoutMs = 10_000;

/** A failed delivery, in words for an administrator; `isSilent`: there was no answer, and another delivery would get none. */
type Problem = { message: string; isSilent: boolean };

/** Seconds until the next attempt, by attempts made: three days in all, then the delivery is dead until it is replayed. */
const retryAfterSeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400, 86_400];
/** No other node tries within the time that an attempt may take; one does if this node dies. */
const claimSeconds = deliveryTimeoutMs / 1000 + 20;
/** Concurrent deliveries to one target. */
const maxConcurrent = 5;
/** This node leaves a target alone for this long after no answer at all. */
const backoffSeconds = 30;

type OpenDeps = Pick<Deps, 'db' | 'clock' | 'config' | 'log' | 'vault'>;
type SendDeps = OpenDeps & { resolve: Resolve };

/** Posts deliveries to their webhooks. */
export type WebhookSender = {
  /**
   * Posts what is due, to each webhook in a lane of its own, so that a slow or dead one delays no other. Any node may do
   * so at any time; one that dies after posting posts again. A lane that is still running is not started twice.
   * @returns when every lane has ended.
   */
  deliver(): Promise<void>;
  /** Resolves when every delivery under way has ended. Call after the last {@link deliver}. */
  close(): Promise<void>;
};

export function openWebhookSender(openDeps: OpenDeps): WebhookSender {
  const deps: SendDeps = { ...openDeps, resolve: hostResolver(openDeps) };
  const lanes = new Map<string, Promise<void>>();
  const restUntil = new Map<string, number>();
  const delivering = new Set<Promise<void>>();

  async function deliver(): Promise<void> {
    for (const [webhook_id, until] of restUntil) if (until <= now(deps)) restUntil.delete(webhook_id);
    for (const { webhook_id } of await dueWebhooks(deps.db, now(deps))) {
      if (lanes.has(webhook_id) || restUntil.has(webhook_id)) continue;
      const lane = deliverTo(deps, webhook_id)
        .then((isSilent) => {
          if (isSilent) restUntil.set(webhook_id, now(deps) + backoffSeconds);
        })
        .catch((error: unknown) => deps.log.error({ err: error, webhook_id }, 'deliveries of a webhook failed'))
        .finally(() => lanes.delete(webhook_id));
      lanes.set(webhook_id, lane);
    }
    await Promise.all(lanes.values());
  }

  return {
    deliver() {
      const delivery = deliver().finally(() => delivering.delete(delivery));
      delivering.add(delivery);
      return delivery;
    },
    close: async () => void (await Promise.allSettled(delivering)),
  };
}

/** A few at a time until nothing is due. @returns true if the target does not answer. */
async function deliverTo(deps: SendDeps, webhook_id: string): Promise<boolean> {
  for (;;) {
    const due = await dueDeliveries(deps.db, webhook_id, now(deps), maxConcurrent);
    const outcomes = await Promise.all(due.map((delivery) => attempt(deps, delivery)));
    if (outcomes.includes('silent')) return true;
    if (outcomes.every((outcome) => outcome === 'not ours')) return false; // also when nothing was due
  }
}

async function attempt(deps: SendDeps, delivery: DueDelivery): Promise<'silent' | 'answered' | 'not ours'> {
  const claimed = await claimDelivery(deps.db, delivery, { now: now(deps), until: now(deps) + claimSeconds });
  if (!claimed) return 'not ours';
  const retryAfter = retryAfterSeconds[delivery.attempts];
  const problem = await post(deps, delivery);
  if (problem === undefined) await markDelivered(deps.db, delivery.delivery_id, now(deps));
  else if (retryAfter === undefined) await giveUp(deps, delivery, problem.message);
  else await markFailed(deps.db, delivery, problem.message, now(deps) + retryAfter);
  return problem?.isSilent ? 'silent' : 'answered';
}

/** Marks the delivery dead. A webhook without a success since it was planned, days ago, is disabled with it. */
async function giveUp(deps: SendDeps, { webhook_id, delivery_id, created_at }: DueDelivery, problem: string) {
  const at = now(deps);
  const reason = 'No delivery has succeeded for days.';
  const { statement } = auditEvent({ action: 'webhook.disabled', actor: 'system', target: webhook_id, reason }, at);
  const dead = markDead(delivery_id, problem, at);
  const disabled = await deps.db.change({
    lock: lockWebhook(webhook_id),
    require: { failing: hasOnlyFailed(webhook_id, created_at) },
    run: { dead, webhook: disableWebhook(webhook_id, at), event: statement },
  });
  if (!disabled.ok) await deps.db.run(dead);
  deps.log.warn({ webhook_id, delivery_id, problem }, 'a webhook delivery has failed; an administrator can resend it');
  if (disabled.ok) deps.log.error({ webhook_id }, 'a webhook was disabled: no delivery has succeeded for days');
}

/** @returns undefined when it was taken with a 2xx. */
async function post(
  deps: SendDeps,
  { url, delivery_id, webhook_id, payload, secret_sealed }: DueDelivery,
): Promise<Problem | undefined> {
  const secret = secretOf(deps, webhook_id, secret_sealed);
  if (secret === undefined) return { message: 'Its secret cannot be decrypted: rotate it.', isSilent: true };
  const timestamp = String(now(deps));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(payload)),
    'user-agent': 'Signet-Webhooks/1',
    'webhook-id': delivery_id,
    'webhook-timestamp': timestamp,
    'webhook-signature': sign(secret, `${delivery_id}.${timestamp}.${payload}`),
  };
  try {
    const status = await send(deps, new URL(url), headers, payload);
    return status >= 200 && status < 300
      ? undefined
      : { message: `The receiver responded with ${status}.`, isSilent: false };
  } catch (error) {
    if (error instanceof InternalTarget) return { message: error.message, isSilent: true };
    const { code = 'no response' } = error as NodeJS.ErrnoException;
    return { message: `The receiver could not be reached: ${code}.`, isSilent: true };
  }
}

function secretOf(deps: SendDeps, webhook_id: string, sealed: string): string | undefined {
  try {
    return deps.vault.open(`webhook:${webhook_id}`, sealed);
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

/** @returns the status. Redirects are not followed, and of the body nothing is read. */
async function send(deps: SendDeps, url: URL, headers: Record<string, string>, body: string): Promise<number> {
  const allowed = subnetList(deps.config.webhookInternal);
  if (isIpAddress(url.hostname) && !mayDeliver(url.protocol, url.hostname, allowed))
    throw forbiddenTarget(url.protocol);
  const lookup = guardedLookup(deps.resolve, url.protocol, allowed);
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(deliveryTimeoutMs);
    const sent = request(url, { method: 'POST', headers, signal, lookup, agent: false }, (answer) => {
      answer.resume();
      answer.destroy();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('close', () => reject(new Error('The connection was closed without a response.'))); // after all else
    sent.end(body);
  });
}

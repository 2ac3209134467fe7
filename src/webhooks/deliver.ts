import type { Deps } from '../app/deps.ts';
import { auditEvent } from '../audit/audit.ts';
import { eventWasKept } from '../audit/store.ts';
import { now } from '../platform/clock.ts';
import type { Db } from '../platform/db/db.ts';
import { patienceMs, post } from './post.ts';
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

/** Seconds until the next attempt, by attempts made: three days in all, then it is dead and an administrator's. */
const retryAfterSeconds = [5, 30, 120, 600, 3600, 10_800, 21_600, 43_200, 86_400, 86_400];
/** Nobody else tries within the time that an attempt may take, and somebody does if this node dies. */
const claimSeconds = patienceMs / 1000 + 20;
/** So many at once to one target. */
const abreast = 5;
/** A target that did not answer at all is left alone this long by this node. */
const restSeconds = 30;

type Lanes = { running: Map<string, Promise<void>>; restUntil: Map<string, number> };
const lanesByDb = new WeakMap<Db, Lanes>();

/**
 * Posts what is due, to each webhook in a lane of its own: one that is slow or dead holds up nobody else. Any node may do
 * so at any time; a node that dies after posting posts again. A lane that is still at it is not started twice.
 * @returns when every lane has come to its end. Whoever has other things to do does not wait for it.
 */
export async function deliverWebhooks(deps: Deps): Promise<void> {
  const lanes: Lanes = lanesByDb.get(deps.db) ?? { running: new Map(), restUntil: new Map() };
  lanesByDb.set(deps.db, lanes);
  const { running, restUntil } = lanes;
  for (const [webhook_id, until] of restUntil) if (until <= now(deps)) restUntil.delete(webhook_id);
  for (const { webhook_id } of await dueWebhooks(deps.db, now(deps))) {
    if (running.has(webhook_id) || restUntil.has(webhook_id)) continue;
    const lane = deliverTo(deps, webhook_id)
      .then((isSilent) => {
        if (isSilent) restUntil.set(webhook_id, now(deps) + restSeconds);
      })
      .catch((error: unknown) => deps.log.error({ err: error, webhook_id }, 'deliveries of a webhook failed'))
      .finally(() => running.delete(webhook_id));
    running.set(webhook_id, lane);
  }
  await Promise.all(running.values());
}

/** A few at a time until nothing is due. @returns true if the target does not answer. */
async function deliverTo(deps: Deps, webhook_id: string): Promise<boolean> {
  for (;;) {
    const due = await dueDeliveries(deps.db, webhook_id, now(deps), abreast);
    const outcomes = await Promise.all(due.map((delivery) => attempt(deps, delivery)));
    if (outcomes.includes('silent')) return true;
    if (outcomes.every((outcome) => outcome === 'not ours')) return false; // also when nothing was due
  }
}

async function attempt(deps: Deps, delivery: DueDelivery): Promise<'silent' | 'answered' | 'not ours'> {
  const claimed = await claimDelivery(deps.db, delivery, { now: now(deps), until: now(deps) + claimSeconds });
  if (!claimed) return 'not ours';
  const retryAfter = retryAfterSeconds[delivery.attempts];
  const problem = await post(deps, delivery);
  if (problem === undefined) await markDelivered(deps.db, delivery.delivery_id, now(deps));
  else if (retryAfter === undefined) await giveUp(deps, delivery, problem.told);
  else await markFailed(deps.db, delivery, problem.told, now(deps) + retryAfter);
  return problem?.isSilent ? 'silent' : 'answered';
}

/** A webhook to which nothing has come through since this delivery was planned, days ago, is switched off with it. */
async function giveUp(deps: Deps, { webhook_id, delivery_id, created_at }: DueDelivery, problem: string) {
  const at = now(deps);
  const { event_id, statement } = auditEvent(
    {
      action: 'webhook.disabled',
      actor: 'system',
      target: webhook_id,
      reason: 'Nothing has come through for days.',
      onlyIf: hasOnlyFailed(webhook_id, created_at),
    },
    at,
  );
  const [, , , disabled] = await deps.db.batch([
    lockWebhook(webhook_id),
    markDead(delivery_id, problem, at),
    statement,
    disableWebhook(webhook_id, at, eventWasKept(event_id)),
  ]);
  deps.log.warn({ webhook_id, delivery_id, problem }, 'a delivery was given up; an administrator can send it again');
  if (disabled?.changes === 1)
    deps.log.error({ webhook_id }, 'a webhook was switched off: nothing has come through for days');
}

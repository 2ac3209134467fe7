import { auditEvent, type Caller } from '../audit/audit.ts';
import type { Deps } from '../audit/deps.ts';
import { now } from '../platform/clock.ts';
import { requireEnabled } from './manage-webhook.ts';
import { countDeadOf, hasDead, lockWebhook, replayDeadDeliveries } from './store.ts';

/** One statement has the store for itself meanwhile, and this many take it a fraction of a second. */
export const maxReplayed = 10_000;

/**
 * Sends what was given up for one webhook once more, the oldest first. Whoever asks again when nothing is left changes
 * nothing, and the log tells nothing.
 * @returns how many wait again, and how many are still given up: above `maxReplayed` it takes another time.
 * @throws {RequestError} `not_found`; `invalid_state` when the webhook is off.
 */
export async function replayDead(
  deps: Pick<Deps, 'db' | 'clock'>,
  caller: Caller,
  webhook_id: string,
): Promise<{ replayed: number; dead: number }> {
  await requireEnabled(deps, webhook_id);
  const at = now(deps);
  const event = { action: 'webhook.replayed', ...caller, target: webhook_id, onlyIf: hasDead(webhook_id) } as const;
  const [, , replayed] = await deps.db.batch([
    lockWebhook(webhook_id),
    auditEvent(event, at).statement, // before the change: afterwards nothing may be left to tell it by
    replayDeadDeliveries(webhook_id, maxReplayed, at),
  ]);
  return { replayed: replayed?.changes ?? 0, dead: await countDeadOf(deps.db, webhook_id) };
}

import type { AuditAction } from '../audit/actions.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import { inOrder } from '../platform/db/db.ts';
import { findInAll } from '../platform/db/parts.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { StoreDeps } from '../platform/deps.ts';
import { invalidState, notFound } from '../platform/errors.ts';
import type { DeliveryId } from '../platform/ids.ts';
import { type DeliveryQueue, type EndState, stateOf } from './queue.ts';

type Resend = {
  receiver_id: string;
  delivery_id: DeliveryId;
  /** The ends after which it may be sent again; while it waits after a failure it always may. */
  from: readonly EndState[];
  /** What the audit log says of it. */
  event: { action: AuditAction; after?: Readonly<Record<string, unknown>> };
  /** The shared row of the receiver, where other changes of it compete. */
  lock?: Sql;
};

/** Sends a delivery now, under the same id. @throws {RequestError} `not_found`; `invalid_state` in another state. */
export async function resendDelivery(
  deps: StoreDeps,
  caller: Caller,
  queue: DeliveryQueue,
  { receiver_id, delivery_id, from, event, lock }: Resend,
): Promise<{ delivery_id: DeliveryId }> {
  const found = await findInAll(deps.db, async (part) => {
    const delivery = await queue.find(part, receiver_id, delivery_id);
    return delivery && { part, delivery };
  });
  if (!found) throw notFound();
  const { part, delivery } = found;
  const at = now(deps);
  const { delivered_at } = delivery;
  const before = delivered_at === null ? undefined : { delivered_at };
  const { statement } = auditEvent({ ...event, before, ...caller, target: delivery_id }, at);
  const done = await inOrder(
    { in: deps.db.shared, lock: lock && [lock], run: {} },
    { in: part, run: { delivery: mustChange(queue.replay(delivery_id, from, at)), event: statement } },
  );
  if (!done.ok) throw invalidState(stateOf((await queue.find(part, receiver_id, delivery_id)) ?? delivery));
  return { delivery_id };
}

import { auditEvent, type Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { type DeliveryState, stateOf } from '../../platform/db/delivery-queue.ts';
import { cutPage, decodeCursor } from '../../platform/db/slices.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { invalidState, notFound } from '../../platform/errors.ts';
import type { ClientId, DeliveryId } from '../../platform/ids.ts';
import { findLogout, type LogoutDelivery, listLogouts, replayLogout } from '../grants/logout-deliveries.store.ts';

export { type DeliveryState, deliveryStates } from '../../platform/db/delivery-queue.ts';

/** As the owner of the client reads it: the user is identified as the client knows them. */
const logoutRecord = ({ client_id: _, user_id: sub, session_id: sid, ...delivery }: LogoutDelivery) => ({
  ...delivery,
  sub,
  sid,
  state: stateOf(delivery),
});
export type LogoutRecord = ReturnType<typeof logoutRecord>;

type LogoutSearch = { state?: DeliveryState; after?: string; limit?: number };

/**
 * The logout tokens for a client, newest first. The caller has checked that the client is the user's.
 * @param search.state all without it.
 * @param search.after `next` of the previous page.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function findLogoutDeliveries(
  { db }: Pick<StoreDeps, 'db'>,
  client_id: ClientId,
  { state, after, limit = 50 }: LogoutSearch = {},
) {
  const found = await listLogouts(db, client_id, limit + 1, { state, after: decodeCursor('after', after) });
  const { rows, next } = cutPage(found, limit, (last) => ({ at: last.created_at, id: last.delivery_id }));
  return { deliveries: rows.map(logoutRecord), next: next ?? null };
}

/** Sends a dead one once more. @throws {RequestError} `not_found`; `invalid_state` if it is not dead. */
export async function resendLogout(
  deps: StoreDeps,
  caller: Caller,
  { client_id, delivery_id }: { client_id: ClientId; delivery_id: DeliveryId },
): Promise<{ delivery_id: DeliveryId }> {
  const delivery = await findLogout(deps.db, client_id, delivery_id);
  if (!delivery) throw notFound();
  const at = now(deps);
  const after = { client_id };
  const { statement } = auditEvent({ action: 'logout.replayed', ...caller, target: delivery_id, after }, at);
  const done = await deps.db.change({
    run: { delivery: mustChange(replayLogout(delivery_id, at)), event: statement },
  });
  if (!done.ok) throw invalidState(stateOf({ ...delivery, dead_at: null }));
  return { delivery_id };
}

import type { Caller } from '../../audit/audit.ts';
import type { Client } from '../../clients/client.ts';
import type { DeliverySearch } from '../../deliveries/queue.ts';
import { resendDelivery } from '../../deliveries/resend.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { ClientId, DeliveryId } from '../../platform/ids.ts';
import { logoutDeliveries } from '../grants/logout-deliveries.store.ts';

export type LogoutPage = Awaited<ReturnType<typeof findLogoutDeliveries>>;

/**
 * The logout tokens for a client, newest first. The user is identified as the client knows them. The caller has checked that
 * the client is there, and theirs.
 * @throws {RequestError} `invalid_request` for an `after` that no page has given.
 */
export async function findLogoutDeliveries(
  { db }: Pick<StoreDeps, 'db'>,
  client_id: ClientId,
  search?: DeliverySearch,
) {
  const { deliveries, next } = await logoutDeliveries.page(db, client_id, search);
  return {
    deliveries: deliveries.map(({ client_id: _, user_id: sub, session_id: sid, ...one }) => ({ ...one, sub, sid })),
    next,
  };
}

/** How many are in each state. */
export const countLogoutDeliveries = ({ db }: Pick<StoreDeps, 'db'>, client_id: ClientId) =>
  logoutDeliveries.counts(db, client_id);

/**
 * Sends a dead one once more.
 * @throws {RequestError} `not_found`; `invalid_state` if it is not dead, or the client has no URI that it could be sent to.
 */
export async function resendLogout(
  deps: StoreDeps,
  caller: Caller,
  { client_id, backchannel_logout_uri }: Client,
  delivery_id: DeliveryId,
): Promise<{ delivery_id: DeliveryId }> {
  if (backchannel_logout_uri === null) {
    const details = { current_status: 'no_backchannel_logout_uri' };
    throw refusal('invalid_state', { key: 'logouts.no_uri' }, { details });
  }
  const event = { action: 'logout.replayed', after: { client_id } } as const;
  return resendDelivery(deps, caller, logoutDeliveries, { receiver_id: client_id, delivery_id, from: ['dead'], event });
}

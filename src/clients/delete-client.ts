import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { inOrder } from '../platform/db/db.ts';
import { notFound, refusal } from '../platform/errors.ts';
import { type ClientDeps, loggedState } from './change-client.ts';
import type { Client } from './client.ts';
import type { Deps } from './deps.ts';
import { findAnyClient, requireOwnClient } from './find-clients.ts';
import * as store from './store.ts';

/**
 * Deletes the client, its secrets, its grants and the consents that users gave to it; its tokens are inactive from then
 * on. A suspended one can be deleted by an administrator only, and is remembered for reviewers: its owner must not hide
 * the suspension from the next review by a deletion. A client with a back-channel logout URI is notified of every session
 * that ends with this.
 *
 * @param target.owner_user_id whose client it must be; left out for administrators and the command line.
 * @throws notFound for an unknown client, for one of another user, and for the second of two deletions; invalidState for
 * an owner's suspended one.
 */
export async function deleteClient(
  deps: ClientDeps & Pick<Deps, 'grants'>,
  { client_id, owner_user_id, caller }: { client_id: string; owner_user_id?: string; caller: Caller },
): Promise<void> {
  const requireDeletable = (client: Client) => {
    if (owner_user_id === undefined) return;
    requireOwnClient(client, owner_user_id);
    if (client.status === 'suspended') {
      const details = { current_status: client.status };
      throw refusal('invalid_state', { key: 'clients.suspended_stays' }, { details });
    }
  };
  const seen = await findAnyClient(deps, client_id);
  requireDeletable(seen);
  const at = now(deps);
  const event = auditEvent({ action: 'client.deleted', ...caller, target: client_id, before: loggedState(seen) }, at);
  const unless = owner_user_id === undefined ? undefined : 'suspended';
  const { shared, parts } = deps.db;
  // In several parts no foreign key deletes what belongs to it, but a job.
  const isAtOnce = parts.length === 1 && (await store.isDeletableAtOnce(deps.db, client_id));
  const { client, suspension, gone } = store.deleteClient(client_id, {
    event_id: event.event_id,
    unless,
    isAtOnce,
    now: at,
  });
  // For all others, the deletion of the rows is enough.
  const grants =
    seen.backchannel_logout_uri === null ? undefined : deps.grants.revokeOfClient(client_id, 'client_suspended', at);
  const recent = deps.grants.rememberDeletedOf({ client_id }, at);
  const deletion = { suspension, gone, event: event.statement };
  const inParts = { in: parts, run: { recent, grants: grants?.inEachPart } }; // what is remembered is of grants that have not ended
  // In several parts it is deleted first, so that no token ends of a client that stays; jobs end what is cut off then.
  const done = await (parts.length === 1
    ? inOrder({ in: shared, run: { client } }, inParts, { in: shared, run: { epoch: grants?.shared, ...deletion } })
    : inOrder({ in: shared, run: { client, ...deletion } }, inParts));
  deps.clients.forget(client_id);
  if (done.ok) return;
  requireDeletable(await findAnyClient(deps, client_id)); // it may have been suspended meanwhile
  throw notFound();
}

import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { inSlices } from '../../platform/db/slices.ts';
import { type ClientDeps, loggedState } from '../change-client.ts';
import { deleteUnreviewedClient, unreviewedClients } from '../store.ts';

const keptSeconds = 7 * 86_400;

/**
 * Deletes clients that came by themselves and that were not reviewed within seven days, counted from when a user asked for it. They
 * never had a user. Safe on every node at any time. @returns false if the signal ended it before all was done.
 */
export function deleteUnreviewed(deps: ClientDeps, signal?: AbortSignal): Promise<boolean> {
  const before = now(deps) - keptSeconds;
  return inSlices(async (rows) => {
    const clients = await unreviewedClients(deps.db, before, rows);
    for (const client of clients) {
      const { client_id } = client;
      const reason = 'Nobody has reviewed it within seven days.';
      const event = auditEvent(
        { action: 'client.deleted', actor: 'system', target: client_id, reason, before: loggedState(client) },
        now(deps),
      );
      const { gone, deletion } = deleteUnreviewedClient(client_id, event.event_id, before);
      await deps.db.shared.change({ run: { gone: mustChange(gone), deletion, event: event.statement } });
      deps.clients.forget(client_id);
    }
    return clients.length;
  }, signal);
}

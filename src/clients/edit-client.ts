import type { Deps } from '../platform/deps.ts';
import { rateLimited, staleRevision } from '../platform/errors.ts';
import type { Limits } from '../platform/limits/limit-settings.ts';
import {
  type ClientChange,
  type ClientDeps,
  changeOwnClient,
  type OwnTarget,
  reviewRetrySeconds,
  sameJson,
} from './change-client.ts';
import { type Client, type ReviewedFields, reviewedFields } from './client.ts';
import { hasTooManyPending } from './find-clients.ts';
import type { ClientEdit } from './registration.ts';

/**
 * The owner changes what an administrator reviews (decisions §11). While nobody has approved the client, the change is
 * made and the client waits for review again; once it has been approved, the change waits and the reviewed revision
 * serves, so that nobody can have a harmless client approved and then give it another redirect URI.
 *
 * @returns the client as it is now; unchanged if the edit says what is already so.
 * @throws staleRevision if the edit names another revision; rateLimited also when it would let one more client wait for
 * review than may; whatever {@link changeOwnClient} throws.
 */
export async function editClient(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget,
  edit: ClientEdit,
): Promise<Client> {
  return changeOwnClient(deps, target, async (client) => {
    if (edit.revision !== undefined && edit.revision !== client.revision) throw staleRevision(client.revision);
    const wasReviewed = client.status === 'approved' || client.status === 'suspended';
    if (wasReviewed) return stageChange(client, edit.fields);
    const change = makeChange(client, edit.fields, deps.config.limits);
    // Asked here so that a refusal does not count as a change. Of two at once it is decided when they are written.
    if (change && client.status === 'rejected' && client.owner_user_id !== null) {
      if (await hasTooManyPending(deps, client.owner_user_id)) throw rateLimited(reviewRetrySeconds);
    }
    return change;
  });
}

function makeChange(
  client: Client,
  edit: Partial<ReviewedFields>,
  { pendingClients }: Limits,
): ClientChange | undefined {
  const fields = fieldsThatDiffer(client, edit);
  if (Object.keys(fields).length === 0) return undefined;
  return {
    action: 'client.edited',
    to: { ...fields, status: 'pending_review', status_reason: null, revision: client.revision + 1 },
    maxPending: pendingClients,
  };
}

/** Edits add up: one that comes while another waits replaces its fields, and one that undoes it leaves nothing. */
function stageChange(client: Client, edit: Partial<ReviewedFields>): ClientChange | undefined {
  const fields = fieldsThatDiffer(client, { ...client.pending_change, ...edit });
  const pending_change = Object.keys(fields).length === 0 ? null : fields;
  if (sameJson(pending_change, client.pending_change)) return undefined;
  return {
    action: pending_change === null ? 'client.change_withdrawn' : 'client.change_requested',
    to: { pending_change, revision: client.revision + 1 },
  };
}

function fieldsThatDiffer(client: Client, wanted: Partial<ReviewedFields>): Partial<ReviewedFields> {
  const differing = reviewedFields.filter(
    (field) => wanted[field] !== undefined && !sameJson(wanted[field], client[field]),
  );
  return Object.fromEntries(differing.map((field) => [field, wanted[field]]));
}

import type { Caller } from '../audit/audit.ts';
import type { Deps } from '../deps.ts';
import { staleRevision } from '../errors.ts';
import { type ClientChange, type ClientDeps, changeClient, sameJson } from './change-client.ts';
import { type Client, type ReviewedFields, reviewedFields } from './client.ts';
import { refuseUnlessOwn, takeChange } from './own-change.ts';
import type { ClientEdit } from './registration.ts';

/**
 * The owner changes what an administrator reviews (decisions §11). While nobody has approved the client, the change is
 * made and the client waits for review again; once it has been approved, the change waits and the reviewed revision
 * serves, so that nobody can have a harmless client approved and then give it another redirect URI.
 *
 * @returns the client as it is now; unchanged if the edit says what is already so.
 * @param target.owner_user_id whose client it must be; null: nobody's, for administrators and the command line.
 * @throws notFound for a client of somebody else; staleRevision if the edit names another revision; rateLimited.
 */
export async function editClient(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: { client_id: string; owner_user_id: string | null; caller: Caller },
  edit: ClientEdit,
): Promise<Client> {
  await takeChange(deps, target.owner_user_id);
  return changeClient(deps, target, (client) => {
    refuseUnlessOwn(client, target);
    if (edit.revision !== undefined && edit.revision !== client.revision) throw staleRevision(client.revision);
    const wasReviewed = client.status === 'approved' || client.status === 'suspended';
    return wasReviewed ? stageChange(client, edit.fields) : makeChange(client, edit.fields);
  });
}

function makeChange(client: Client, edit: Partial<ReviewedFields>): ClientChange | undefined {
  const fields = fieldsThatDiffer(client, edit);
  if (Object.keys(fields).length === 0) return undefined;
  return {
    action: 'client.edited',
    to: { ...fields, status: 'pending_review', status_reason: null, revision: client.revision + 1 },
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

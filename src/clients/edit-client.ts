import type { Caller } from '../audit/audit.ts';
import { notFound, staleRevision } from '../errors.ts';
import { type ClientChange, type ClientDeps, changeClient, sameJson } from './change-client.ts';
import type { Client, ReviewedFields } from './client.ts';
import type { ClientEdit } from './registration.ts';

/**
 * The owner changes what an administrator reviews (decisions §11). While nobody has approved the client, the change is
 * made and the client waits for review again; once it has been approved, the change waits and the reviewed revision
 * serves, so that nobody can have a harmless client approved and then give it another redirect URI.
 *
 * @returns the client as it is now; unchanged if the edit says what is already so.
 * @throws notFound for a client of somebody else; staleRevision if the edit names another revision.
 */
export const editClient = (
  deps: ClientDeps,
  target: { client_id: string; owner_user_id: string; caller: Caller },
  edit: ClientEdit,
): Promise<Client> =>
  changeClient(deps, target, (client) => {
    if (client.owner_user_id !== target.owner_user_id) throw notFound();
    if (edit.revision !== undefined && edit.revision !== client.revision) throw staleRevision(client.revision);
    const wasReviewed = client.status === 'approved' || client.status === 'suspended';
    return wasReviewed ? stageChange(client, edit.fields) : makeChange(client, edit.fields);
  });

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

const reviewedFields = [
  'name',
  'redirect_uris',
  'allowed_scopes',
  'logo_url',
  'homepage_url',
  'id_token_signed_response_alg',
] as const satisfies readonly (keyof ReviewedFields)[];

function fieldsThatDiffer(client: Client, wanted: Partial<ReviewedFields>): Partial<ReviewedFields> {
  const differing = reviewedFields.filter(
    (field) => wanted[field] !== undefined && !sameJson(wanted[field], client[field]),
  );
  return Object.fromEntries(differing.map((field) => [field, wanted[field]]));
}

import type { Deps } from '../platform/deps.ts';
import { staleRevision } from '../platform/errors.ts';
import {
  type ClientChange,
  type ClientDeps,
  changeOwnClient,
  type OwnTarget,
  sameJson,
  tooManyPending,
} from './change-client.ts';
import { type Client, pick, proposalOf, type ReviewedFields, reviewedFields } from './client.ts';
import { hasTooManyPending } from './find-clients.ts';
import { type ClientEdit, requireConsistent } from './registration.ts';
import { requireKnownScopes } from './scopes.ts';

/**
 * The owner changes what an administrator reviews (decisions §11). Until the client is approved, the change takes effect
 * and the client is submitted for review again. Afterwards the change is staged and the approved revision stays in effect:
 * otherwise an owner could have a harmless client approved and then give it another redirect URI. A client that was rejected is
 * submitted again by every edit, also by one that changes no field: what was wrong may have been its home page.
 *
 * @returns the client as it is now; of the revision that it had if the edit changes nothing.
 * @throws staleRevision if the edit names another revision; invalidFields if fields contradict each other, or name a scope that does not exist; rateLimited also when it would submit one more client for
 * review than is allowed; whatever {@link changeOwnClient} throws.
 */
export async function editClient(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: OwnTarget,
  { revision, fields, note_to_reviewer: note }: ClientEdit,
): Promise<Client> {
  const maxPending = deps.config.limits.pendingClients;
  return changeOwnClient(deps, target, async (client) => {
    if (revision !== undefined && revision !== client.revision) throw staleRevision(client.revision);
    requireConsistent({ ...proposalOf(client), ...fields });
    const kept = [...client.allowed_scopes, ...proposalOf(client).allowed_scopes];
    if (fields.allowed_scopes) await requireKnownScopes(deps, fields.allowed_scopes, kept);
    if (client.status === 'approved' || client.status === 'suspended') return stageChange(client, fields, note);
    const to = fieldsThatDiffer(client, fields);
    const isSaid = note !== undefined && note !== client.note_to_reviewer;
    if (Object.keys(to).length === 0 && !isSaid && client.status !== 'rejected') return undefined;
    // Checked here so that a refusal does not count as a change. A race is decided when the change is written.
    if (client.status === 'rejected' && client.owner_user_id !== null) {
      if (await hasTooManyPending(deps, client.owner_user_id)) throw tooManyPending();
    }
    return {
      action: 'client.edited',
      ...said(note),
      to: {
        ...to,
        ...(isSaid && { note_to_reviewer: note }),
        status: 'pending_review',
        status_reason: null,
        revision: client.revision + 1,
      },
      maxPending,
    };
  });
}

/** Edits add up: one that comes while another is staged replaces its fields, and one that undoes it leaves nothing. */
function stageChange(client: Client, edit: Partial<ReviewedFields>, note?: string | null): ClientChange | undefined {
  const fields = fieldsThatDiffer(client, { ...client.pending_change, ...edit });
  const pending_change = Object.keys(fields).length === 0 ? null : fields;
  const isSaid = pending_change !== null && note !== undefined && note !== client.note_to_reviewer;
  if (sameJson(pending_change, client.pending_change) && !isSaid) return undefined;
  if (pending_change === null) return withdrawal(client);
  return {
    action: 'client.change_requested',
    ...said(note),
    to: { pending_change, ...(isSaid && { note_to_reviewer: note }), revision: client.revision + 1 },
  };
}

/** In the log, a note is the reason of the edit. */
const said = (note: string | null | undefined) => (note ? { reason: note } : {});

const withdrawal = ({ revision }: Client): ClientChange => ({
  action: 'client.change_withdrawn',
  to: { pending_change: null, note_to_reviewer: null, revision: revision + 1 },
});

/** The approved revision stays as it is. @returns the client; unchanged if no change is pending. */
export const withdrawChange = (deps: ClientDeps & Pick<Deps, 'config'>, target: OwnTarget): Promise<Client> =>
  changeOwnClient(deps, target, (client) => (client.pending_change === null ? undefined : withdrawal(client)));

function fieldsThatDiffer(client: Client, edit: Partial<ReviewedFields>): Partial<ReviewedFields> {
  const differing = reviewedFields.filter(
    (field) => edit[field] !== undefined && !sameJson(edit[field], client[field]),
  );
  return pick({ ...client, ...edit }, differing);
}

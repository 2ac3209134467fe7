import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Statement } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { staleRevision } from '../errors.ts';
import type { Client } from './client.ts';
import { findAnyClient } from './list-clients.ts';
import { clientCarries, deleteClient, updateClient } from './store.ts';

export type ClientDeps = Pick<Deps, 'db' | 'clock' | 'clients'>;

/** What a rule decides about the client that it was shown. */
export type ClientChange = {
  /** For the audit log, `client.…`. */
  action: string;
  reason?: string;
  to: Partial<Client> | 'gone';
  /** Statements of the same batch. */
  also?: readonly Statement[];
};

/** Each lost race means that somebody else's change was kept, so this many in a row is a fight and not bad luck. */
const mostAttempts = 5;

/**
 * The one way in which a registered client changes: read, decide, and write if it is still what was read. A client is
 * known by the event that made it so, which makes the update a compare-and-swap. Whoever loses a race decides again
 * about what it has become, and so finds the same refusal as somebody who came a minute later.
 *
 * @param decide throws the refusal; returns undefined if there is nothing to change.
 * @returns the client as it is now.
 * @throws notFound; staleRevision after losing too many races; whatever `decide` throws.
 */
export async function changeClient(
  deps: ClientDeps,
  target: { client_id: string; caller: Caller },
  decide: (client: Client) => ClientChange | undefined,
): Promise<Client> {
  let seen = await findAnyClient(deps, target.client_id);
  for (let attempt = 0; attempt < mostAttempts; attempt++) {
    const change = decide(seen);
    if (change === undefined) return seen;
    const changed = await tryChange(deps, target.caller, seen, change);
    if (changed !== undefined) return changed;
    seen = await findAnyClient(deps, target.client_id);
  }
  throw staleRevision(seen.revision);
}

/** @returns undefined if the client is not what was seen any more; then nothing was written. */
async function tryChange(
  deps: ClientDeps,
  caller: Caller,
  seen: Client,
  change: ClientChange,
): Promise<Client | undefined> {
  const at = now(deps);
  const isGone = change.to === 'gone';
  const to = change.to === 'gone' ? {} : change.to;
  const event = auditEvent(
    {
      action: change.action,
      ...caller,
      target: seen.client_id,
      reason: change.reason,
      ...(isGone ? { before: loggedState(seen) } : difference(seen, { ...seen, ...to })),
      onlyIf: clientCarries(seen.client_id),
    },
    at,
  );
  const changed: Client = { ...seen, ...to, event_id: event.event_id, updated_at: at };
  const batch = [updateClient(changed, seen), event.statement, ...(change.also ?? [])];
  // The event asks whether the row carries its id, so a row that goes is marked first, and goes last.
  if (isGone) batch.push(deleteClient(seen.client_id, event.event_id));
  const [updated] = await deps.db.batch(batch);
  if (updated?.changes !== 1) return undefined;
  deps.clients.forget(seen.client_id);
  return changed;
}

/** What the log keeps of a client. No secret is among them. */
const loggedFields = [
  'owner_user_id',
  'name',
  'client_type',
  'redirect_uris',
  'allowed_scopes',
  'logo_url',
  'homepage_url',
  'id_token_signed_response_alg',
  'refresh_retry_window',
  'consent',
  'status',
  'revision',
  'pending_change',
] as const satisfies readonly (keyof Client)[];

export const loggedState = (client: Pick<Client, (typeof loggedFields)[number]>): Record<string, unknown> =>
  Object.fromEntries(loggedFields.map((field) => [field, client[field]]));

function difference(before: Client, after: Client) {
  const changed = loggedFields.filter((field) => !sameJson(before[field], after[field]));
  const only = (client: Client) => Object.fromEntries(changed.map((field) => [field, client[field]]));
  return { before: only(before), after: only(after) };
}

/** Fields are JSON values whose members always come in one order, so their texts can be compared. */
export const sameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

import { lockUser } from '../accounts/statements.ts';
import type { AuditAction } from '../audit/actions.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange, type Write } from '../platform/db/change.ts';
import { inOrder } from '../platform/db/db.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { LimitDeps } from '../platform/deps.ts';
import { rateLimited, staleRevision } from '../platform/errors.ts';
import { windowLimit } from '../platform/limits/failure-limits.ts';
import { asLogged, type Client, pick, reviewedFields } from './client.ts';
import type { Deps } from './deps.ts';
import { findAnyClient, requireOwnClient } from './find-clients.ts';
import { followLogo } from './logos.ts';
import { lockClientsOf, updateClient } from './store.ts';
import { replaceTerms } from './terms.store.ts';

export type ClientDeps = Pick<Deps, 'db' | 'clock' | 'clients' | 'apis' | 'attributes'>;
export type ClientTarget = { client_id: string; caller: Caller };

/** An owner has too many clients in review. Reviews are made by hand, so a retry is worthwhile in an hour at the earliest. */
export const tooManyPending = () => rateLimited(3600);

export type ClientChange = {
  /** For the audit log, `client.…`. */
  action: AuditAction;
  reason?: string;
  to: Partial<Client>;
  /** For the audit log, besides the fields of the client that differ. Never a secret. */
  after?: Readonly<Record<string, unknown>>;
  /** Statements that are committed with the change. */
  also?: readonly (Sql | Write<never, true>)[];
  /** For a change that submits the client for review: how many of its owner's clients may be in review, with this one. */
  maxPending?: number;
};

/** Each lost race means that another change was kept, so that many in a row are no coincidence. */
const maxAttempts = 5;

/**
 * Changes what a client is registered with: read, decide, and write if it is still what was read. The event of its last
 * change identifies a state of the client, which makes the update a compare-and-swap. After a lost race `decide` runs
 * again with the client as it has become, and so refuses as it would have a minute later.
 *
 * @param decide throws the refusal; returns undefined if there is nothing to change.
 * @returns the client as it is now.
 * @throws notFound; staleRevision after losing too many races; rateLimited for `maxPending`; whatever `decide` throws.
 */
export async function changeClient(
  deps: ClientDeps,
  target: ClientTarget,
  decide: (client: Client) => ClientChange | undefined | Promise<ClientChange | undefined>,
): Promise<Client> {
  let seen = await findAnyClient(deps, target.client_id);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const change = await decide(seen);
    if (change === undefined) return seen;
    const changed = await tryChange(deps, target.caller, seen, change);
    if (changed !== undefined) return changed;
    const found = await findAnyClient(deps, target.client_id);
    // No other change was quicker, so it was the number of clients in review.
    if (found.event_id === seen.event_id && change.maxPending !== undefined) throw tooManyPending();
    seen = found;
  }
  throw staleRevision(seen.revision);
}

/** @returns undefined if the client has changed since it was read; then nothing was written. */
async function tryChange(
  deps: ClientDeps,
  caller: Caller,
  seen: Client,
  { action, reason, to, after, also = [], maxPending }: ClientChange,
): Promise<Client | undefined> {
  const at = now(deps);
  const event = auditEvent(
    { action, ...caller, target: seen.client_id, reason, ...difference(seen, { ...seen, ...to }, after) },
    at,
  );
  const changed: Client = { ...seen, updated_at: at, ...to, event_id: event.event_id };
  const done = await inOrder(maxPending === undefined ? undefined : lockOwner(deps, seen), {
    in: deps.db.shared,
    run: {
      client: mustChange(updateClient(changed, seen, maxPending)),
      terms: changed.name === seen.name ? [] : replaceTerms(changed.client_id, changed.name),
      logo: followLogo(seen, changed, at),
      event: event.statement,
      also,
    },
  });
  if (!done.ok) return undefined;
  deps.clients.forget(seen.client_id);
  return changed;
}

/** Of two concurrent changes that submit clients for review the second then counts the first. */
function lockOwner({ db }: Pick<Deps, 'db'>, client: Client) {
  const { owner_user_id } = client;
  if (owner_user_id === null) return undefined;
  const isApart = db.of(owner_user_id) !== db.shared;
  return { in: db.shared, lock: isApart ? lockClientsOf(owner_user_id, client) : lockUser(owner_user_id), run: {} };
}

/** @param owner_user_id whose client it must be; null: one without an owner, for administrators and the command line. */
export type OwnTarget = ClientTarget & { owner_user_id: string | null };

/**
 * {@link changeClient} for owners: edits, new secrets and retired ones. Each change is a row of the audit log for good,
 * so the changes of one user's clients are limited per hour. A refusal, or a change that changes nothing, writes nothing
 * and does not count. A change is counted before the first attempt to write it, so that concurrent ones cannot exceed the
 * limit.
 * @throws as {@link requireOwnClient}; rateLimited; whatever `decide` throws.
 */
export function changeOwnClient(
  deps: ClientDeps & LimitDeps,
  target: OwnTarget,
  decide: (client: Client) => ClientChange | undefined | Promise<ClientChange | undefined>,
): Promise<Client> {
  let isCounted = target.owner_user_id === null;
  return changeClient(deps, target, async (client) => {
    requireOwnClient(client, target.owner_user_id);
    const change = await decide(client);
    if (change === undefined || isCounted) return change;
    const limit = deps.config.limits.clientChangesPerHour;
    await windowLimit(deps, { name: 'client-change', limit, windowSeconds: 3600 }).take(target.owner_user_id!);
    isCounted = true; // once, also if a lost race runs this again
    return change;
  });
}

/** What the audit log keeps of a client: no secret. */
const loggedFields = [
  'owner_user_id',
  'client_type',
  ...reviewedFields,
  'refresh_retry_window',
  'consent',
  'profile',
  'allowed_groups',
  'visible_groups',
  'logo_id',
  'status',
  'revision',
  'pending_change',
] as const satisfies readonly (keyof Client)[];

type Logged = Pick<Client, (typeof loggedFields)[number]>;

export const loggedState = (client: Logged, fields: readonly (keyof Logged)[] = loggedFields) => {
  const { pending_change, ...state } = pick(client as Client, fields);
  return {
    ...asLogged(state),
    ...(pending_change !== undefined && { pending_change: pending_change && asLogged(pending_change) }),
  };
};

function difference(before: Client, after: Client, besides: ClientChange['after']) {
  const changed = loggedFields.filter((field) => !sameJson(before[field], after[field]));
  return { before: loggedState(before, changed), after: { ...loggedState(after, changed), ...besides } };
}

/** Fields are JSON values whose members always come in one order, so their texts can be compared. */
export const sameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

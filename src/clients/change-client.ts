import { lockUser } from '../accounts/users.ts';
import { auditEvent, type Caller } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { mustChange } from '../platform/db/change.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { LimitDeps } from '../platform/deps.ts';
import { invalidState, notFound, rateLimited, refusal, staleRevision } from '../platform/errors.ts';
import { windowLimit } from '../platform/limits/failure-limits.ts';
import type { Client, ClientStatus } from './client.ts';
import type { Deps } from './deps.ts';
import { findAnyClient } from './find-clients.ts';
import { setClientStatus, submitForReview, updateClient } from './store.ts';

export type ClientDeps = Pick<Deps, 'db' | 'clock' | 'clients'>;
export type ClientTarget = { client_id: string; caller: Caller };

/** Seconds until it is worth asking again whether a client may wait for review: reviewing is done by people. */
export const reviewRetrySeconds = 3600;

/** What a rule decides about the client that it was shown. */
export type ClientChange = {
  /** For the audit log, `client.…`. */
  action: string;
  reason?: string;
  to: Partial<Client>;
  /** For the log, besides the fields of the client that differ. Never a secret. */
  after?: Readonly<Record<string, unknown>>;
  /** Statements that are committed with the change. */
  also?: readonly Sql[];
  /** For a change that lets the client wait for review: how many of its owner's may, this one among them. */
  maxPending?: number;
};

/** Each lost race means that somebody else's change was kept, so this many in a row is a fight and not bad luck. */
const maxAttempts = 5;

/**
 * How what a client is registered with changes: read, decide, and write if it is still what was read. A client is
 * known by the event that made it so, which makes the update a compare-and-swap. Whoever loses a race decides again
 * about what it has become, and so finds the same refusal as somebody who came a minute later.
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
    // Nobody was quicker, so it was the number of those that wait.
    if (found.event_id === seen.event_id && change.maxPending !== undefined) throw rateLimited(reviewRetrySeconds);
    seen = found;
  }
  throw staleRevision(seen.revision);
}

/** A step between two states, whatever else the owner changes meanwhile. */
type StatusChange = { action: string; reason?: string; from: ClientStatus; to: ClientStatus };

/**
 * Takes a client from one state to another. Only the state decides: an owner who edits without pause cannot outrun a
 * suspension, as they could a compare-and-swap of the whole client, and no edit is lost by it.
 *
 * @param also statements that are committed with the change.
 * @returns the client as it is now.
 * @throws notFound; invalidState unless it is in the state `from`; whatever `allow` throws.
 */
export async function changeStatus(
  deps: ClientDeps,
  target: { client_id: string; caller: Caller },
  change: StatusChange,
  { allow, also = [] }: { allow?: (client: Client) => Promise<void>; also?: readonly Sql[] } = {},
): Promise<Client> {
  const { client_id, caller } = target;
  const seen = await findAnyClient(deps, client_id);
  await allow?.(seen);
  if (seen.status !== change.from) throw invalidState(seen.status);
  const at = now(deps);
  const event = auditEvent(
    {
      action: change.action,
      ...caller,
      target: client_id,
      reason: change.reason,
      before: { status: change.from },
      after: { status: change.to },
    },
    at,
  );
  const to = { status: change.to, status_reason: change.reason ?? null, event_id: event.event_id, updated_at: at };
  const done = await deps.db.change({
    run: {
      client: mustChange(setClientStatus({ client_id, from: change.from, ...to })),
      event: event.statement,
      also,
    },
  });
  deps.clients.forget(client_id);
  const client = await findAnyClient(deps, client_id);
  if (!done.ok) throw invalidState(client.status);
  return client;
}

/** @returns undefined if the client is not what was seen any more; then nothing was written. */
async function tryChange(
  deps: ClientDeps,
  caller: Caller,
  seen: Client,
  { to, also = [], maxPending, ...change }: ClientChange,
): Promise<Client | undefined> {
  const at = now(deps);
  const event = auditEvent(
    {
      action: change.action,
      ...caller,
      target: seen.client_id,
      reason: change.reason,
      ...difference(seen, { ...seen, ...to }, change.after),
    },
    at,
  );
  const changed: Client = { ...seen, updated_at: at, ...to, event_id: event.event_id };
  const update =
    maxPending === undefined
      ? updateClient(changed, seen)
      : submitForReview(changed, { event_id: seen.event_id, maxPending });
  const done = await deps.db.change({
    lock: maxPending === undefined ? [] : lockOwner(seen),
    run: { client: mustChange(update), event: event.statement, also },
  });
  if (!done.ok) return undefined;
  deps.clients.forget(seen.client_id);
  return changed;
}

/** Of two changes that submit a client for review the second then counts the first. */
export const lockOwner = ({ owner_user_id }: Pick<Client, 'owner_user_id'>): Sql[] =>
  owner_user_id === null ? [] : [lockUser(owner_user_id)];

/** @param owner_user_id whose client it must be; null: one without an owner, for administrators and the command line. */
export type OwnTarget = ClientTarget & { owner_user_id: string | null };

/**
 * {@link changeClient} for owners: edits, new secrets and retired ones. Each change is a row of the audit log for good,
 * so one person makes only so many in an hour, of all their clients together. What is refused, or says what is already
 * so, has written nothing and does not count: it costs the store what a look costs. What counts is taken before the
 * first attempt to write, so of any number at once no more are made.
 * @throws notFound for a client of somebody else; accessDenied to administrators for one that has an owner; rateLimited;
 * whatever `decide` throws.
 */
export function changeOwnClient(
  deps: ClientDeps & LimitDeps,
  target: OwnTarget,
  decide: (client: Client) => ClientChange | undefined | Promise<ClientChange | undefined>,
): Promise<Client> {
  let isCounted = target.owner_user_id === null;
  return changeClient(deps, target, async (client) => {
    requireOwnClient(client, target);
    const change = await decide(client);
    if (change === undefined || isCounted) return change;
    await changesOf(deps).take(target.owner_user_id!);
    isCounted = true; // also if somebody else changes the client meanwhile, and this has to be decided again
    return change;
  });
}

const changesOf = (deps: LimitDeps) =>
  windowLimit(deps, {
    name: 'client-change',
    limit: deps.config.limits.clientChangesPerHour,
    windowSeconds: 3600,
  });

/**
 * An owner changes what is theirs; administrators and the command line, for whom `owner_user_id` is null, what has
 * no owner.
 * @throws notFound for a client of somebody else; accessDenied to administrators for one that has an owner.
 */
export function requireOwnClient(client: Client, { owner_user_id }: { owner_user_id: string | null }): void {
  if (client.owner_user_id === owner_user_id) return;
  throw owner_user_id === null ? refusal('access_denied', { key: 'clients.has_owner' }) : notFound();
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

function difference(before: Client, after: Client, besides: ClientChange['after'] = {}) {
  const changed = loggedFields.filter((field) => !sameJson(before[field], after[field]));
  const only = (client: Client) => Object.fromEntries(changed.map((field) => [field, client[field]]));
  return { before: only(before), after: { ...only(after), ...besides } };
}

/** Fields are JSON values whose members always come in one order, so their texts can be compared. */
export const sameJson = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

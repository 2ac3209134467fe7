import type { Caller } from '../audit/audit.ts';
import { readReason } from '../audit/reason.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { invalidFields, invalidState, refusal, staleRevision } from '../errors.ts';
import { revokeGrantsOfClient } from '../oauth/grants.store.ts';
import { findRoleGrant } from '../users/store.ts';
import { type ClientDeps, changeClient, changeStatus } from './change-client.ts';
import type { Client, ConsentPolicy, ReviewedFields } from './client.ts';

/**
 * What administrators do with a client (decisions §11). Each refuses with invalidState, which tells the present state,
 * and each is in the audit log exactly once, however many administrators press the button together.
 */
export type ReviewTarget = { client_id: string; caller: Caller };

export type Approval = {
  /** The one that was read. An edit that came in between must be read first. */
  revision: number;
  /** Left out: as it is; `skip` for a client that was never approved. */
  consent?: ConsentPolicy;
  /** Seconds, 0 to 60. Left out: as it is; 0 for a client that was never approved. */
  refresh_retry_window?: number;
  /** Some of the scopes that were asked for. Left out: all of them. */
  allowed_scopes?: readonly string[];
};

type ReviewDeps = ClientDeps & Pick<Deps, 'config'>;

/**
 * A client that waits for review may start logins; a change that waits becomes what serves.
 * @throws staleRevision if the owner edited it since; invalidState if nothing waits; accessDenied for one's own client.
 */
export async function approveClient(deps: ReviewDeps, target: ReviewTarget, approval: Approval): Promise<Client> {
  const retryWindow = approval.refresh_retry_window;
  if (retryWindow !== undefined && !(Number.isInteger(retryWindow) && retryWindow >= 0 && retryWindow <= 60)) {
    throw invalidFields([{ path: 'refresh_retry_window', message: 'Must be a whole number of seconds from 0 to 60.' }]);
  }
  const reviewer = await reviewerOf(deps, target.caller);
  return changeClient(deps, target, (client) => {
    refuseOwn(deps, reviewer, client);
    if (!waitsForReview(client)) throw invalidState(client.status);
    if (client.revision !== approval.revision) throw staleRevision(client.revision);
    return {
      action: client.status === 'approved' ? 'client.change_approved' : 'client.approved',
      to: {
        ...client.pending_change,
        ...narrowedScopes(client, approval.allowed_scopes),
        pending_change: null,
        status: 'approved',
        status_reason: null,
        consent: approval.consent ?? client.consent,
        refresh_retry_window: retryWindow ?? client.refresh_retry_window,
      },
    };
  });
}

/**
 * A client that waits for review becomes `rejected`, until its owner edits it. Of an approved client only the change
 * that waits is turned down: what was reviewed goes on serving.
 * @param revision the one that was read; left out: whichever it is by now.
 * @throws staleRevision if the owner edited it since; invalidState if nothing waits.
 */
export async function rejectClient(
  deps: ClientDeps,
  target: ReviewTarget,
  reason: string,
  revision?: number,
): Promise<Client> {
  const status_reason = readReason(reason);
  return changeClient(deps, target, (client) => {
    if (!waitsForReview(client)) throw invalidState(client.status);
    if (revision !== undefined && revision !== client.revision) throw staleRevision(client.revision);
    return client.status === 'approved'
      ? { action: 'client.change_rejected', reason: status_reason, to: { pending_change: null, status_reason } }
      : { action: 'client.rejected', reason: status_reason, to: { status: 'rejected', status_reason } };
  });
}

/**
 * Stops an approved client, and with it every grant that people gave to it.
 *
 * The grants are revoked by the batch itself and not by whether it won: every way out of `approved` is a suspension or
 * the end of the client, so a suspension that lost its race had nothing left to revoke.
 */
export const suspendClient = async (deps: ClientDeps, target: ReviewTarget, why: string): Promise<Client> =>
  changeStatus(
    deps,
    target,
    { action: 'client.suspended', reason: readReason(why), from: 'approved', to: 'suspended' },
    { also: [revokeGrantsOfClient(target.client_id, 'client_suspended', now(deps))] },
  );

/**
 * A suspended client may start logins again. Its old tokens stay dead: their grants were revoked, and are once more,
 * for the code that another node was writing at the instant of the suspension.
 */
export async function reinstateClient(deps: ReviewDeps, target: ReviewTarget): Promise<Client> {
  const reviewer = await reviewerOf(deps, target.caller);
  return changeStatus(
    deps,
    target,
    { action: 'client.reinstated', from: 'suspended', to: 'approved' },
    {
      allow: (client) => refuseOwn(deps, reviewer, client),
      also: [revokeGrantsOfClient(target.client_id, 'client_suspended', now(deps))],
    },
  );
}

const waitsForReview = (client: Client) =>
  client.status === 'pending_review' || (client.status === 'approved' && client.pending_change !== null);

/** A new administrator reviews nothing of whoever made them one for this long, in which the others read their mail. */
const newAdministratorSeconds = 86_400;

/** Whose clients this reviewer may not let serve: their own, and those of the person who has just made them one. */
type Reviewer = { user_id: string; madeBy: string | undefined } | undefined;

/** The command line is the operator, who may anything. */
async function reviewerOf(deps: ReviewDeps, { actor }: Caller): Promise<Reviewer> {
  if (!actor.startsWith('user:')) return undefined;
  const user_id = actor.slice('user:'.length);
  const grant = await findRoleGrant(deps.db, user_id);
  const isNew = grant?.role_granted_at != null && now(deps) - grant.role_granted_at < newAdministratorSeconds;
  return { user_id, madeBy: isNew ? (grant.role_granted_by ?? undefined) : undefined };
}

/** Two people stand behind every client that may start logins. */
function refuseOwn({ config }: Pick<Deps, 'config'>, reviewer: Reviewer, { owner_user_id }: Client): void {
  if (config.selfApproval || reviewer === undefined || owner_user_id === null) return;
  if (owner_user_id === reviewer.user_id) throw refusal('access_denied', { key: 'clients.own_approval' });
  if (reviewer.madeBy === `user:${owner_user_id}`) throw refusal('access_denied', { key: 'clients.new_administrator' });
}

/** An approval may take scopes away, and never adds one that its owner did not ask for. */
function narrowedScopes(client: Client, wanted: Approval['allowed_scopes']): Partial<ReviewedFields> {
  if (wanted === undefined) return {};
  const asked = client.pending_change?.allowed_scopes ?? client.allowed_scopes;
  const allowed_scopes = asked.filter((scope) => wanted.includes(scope));
  if (allowed_scopes.length === 0 || !wanted.every((scope) => asked.some((one) => one === scope))) {
    throw invalidFields([{ path: 'allowed_scopes', message: 'Must be one or more of the scopes that it asks for.' }]);
  }
  return { allowed_scopes };
}

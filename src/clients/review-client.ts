import type { Caller } from '../audit/audit.ts';
import { readReason } from '../audit/reason.ts';
import { now } from '../clock.ts';
import { invalidFields, invalidState, staleRevision } from '../errors.ts';
import { revokeGrantsOfClient } from '../oauth/grants.store.ts';
import { type ClientDeps, changeClient } from './change-client.ts';
import type { Client, ConsentPolicy } from './client.ts';

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
};

/**
 * A client that waits for review may start logins; a change that waits becomes what serves.
 * @throws staleRevision if the owner edited it since; invalidState if nothing waits.
 */
export async function approveClient(deps: ClientDeps, target: ReviewTarget, approval: Approval): Promise<Client> {
  const retryWindow = approval.refresh_retry_window;
  if (retryWindow !== undefined && !(Number.isInteger(retryWindow) && retryWindow >= 0 && retryWindow <= 60)) {
    throw invalidFields([{ path: 'refresh_retry_window', message: 'Must be a whole number of seconds from 0 to 60.' }]);
  }
  return changeClient(deps, target, (client) => {
    if (!waitsForReview(client)) throw invalidState(client.status);
    if (client.revision !== approval.revision) throw staleRevision(client.revision);
    return {
      action: client.status === 'approved' ? 'client.change_approved' : 'client.approved',
      to: {
        ...client.pending_change,
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
 */
export async function rejectClient(deps: ClientDeps, target: ReviewTarget, reason: string): Promise<Client> {
  const status_reason = readReason(reason);
  return changeClient(deps, target, (client) => {
    if (!waitsForReview(client)) throw invalidState(client.status);
    return client.status === 'approved'
      ? { action: 'client.change_rejected', reason: status_reason, to: { pending_change: null, status_reason } }
      : { action: 'client.rejected', reason: status_reason, to: { status: 'rejected', status_reason } };
  });
}

/**
 * Stops an approved client, and with it every grant that people gave to it.
 *
 * The grants are revoked by the batch itself and not by whether it won: every way out of `approved` is a suspension or
 * the end of the client, so a suspension that lost its race either comes again or had nothing left to revoke.
 */
export async function suspendClient(deps: ClientDeps, target: ReviewTarget, reason: string): Promise<Client> {
  const status_reason = readReason(reason);
  return changeClient(deps, target, (client) => {
    if (client.status !== 'approved') throw invalidState(client.status);
    return {
      action: 'client.suspended',
      reason: status_reason,
      to: { status: 'suspended', status_reason },
      also: [revokeGrantsOfClient(target.client_id, 'client_suspended', now(deps))],
    };
  });
}

/**
 * A suspended client may start logins again. Its old tokens stay dead: their grants were revoked, and are once more,
 * for the code that another node was writing at the instant of the suspension.
 */
export const reinstateClient = (deps: ClientDeps, target: ReviewTarget): Promise<Client> =>
  changeClient(deps, target, (client) => {
    if (client.status !== 'suspended') throw invalidState(client.status);
    return {
      action: 'client.reinstated',
      to: { status: 'approved', status_reason: null },
      also: [revokeGrantsOfClient(target.client_id, 'client_suspended', now(deps))],
    };
  });

const waitsForReview = (client: Client) =>
  client.status === 'pending_review' || (client.status === 'approved' && client.pending_change !== null);

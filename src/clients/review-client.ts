import { type Caller, readReason } from '../audit/audit.ts';
import { now } from '../platform/clock.ts';
import { fieldProblem, invalidFields, invalidState, staleRevision } from '../platform/errors.ts';
import { type ClientDeps, type ClientTarget, changeClient, changeStatus, sameJson } from './change-client.ts';
import {
  type Client,
  type ConsentPolicy,
  needsConsentChoice,
  needsReview,
  proposedFields,
  type ReviewedFields,
} from './client.ts';
import type { Deps } from './deps.ts';
import { refuseSelfApproval } from './reviewer.ts';

/**
 * What administrators do with a client (decisions §11). Each refuses with invalidState, which tells the present state,
 * and each is in the audit log exactly once, however many administrators press the button together.
 */
type ReviewTarget = { client_id: string; caller: Caller };

/** Policy that is left out stays; that of a client that was never approved is `skip` and 0 seconds (decisions §9, §7). */
type Approval = PolicyChange & {
  /** The one that was read. An edit that came in between must be read first. */
  revision: number;
  /** Some of the scopes that were asked for. Left out: all of them. */
  allowed_scopes?: readonly string[];
  /** Refuses an approval that leaves `consent` out, of a client that is not first-party: for forms, without a default. */
  consentMustBeChosen?: boolean;
};

type ReviewDeps = ClientDeps & Pick<Deps, 'config' | 'grants'>;

/**
 * A client that waits for review may start logins; a change that waits becomes what serves.
 * @throws staleRevision if the owner edited it since; invalidState if nothing waits; invalidFields for a policy or
 * scopes that cannot be; accessDenied as {@link refuseSelfApproval} says.
 */
export async function approveClient(deps: ReviewDeps, target: ReviewTarget, approval: Approval): Promise<Client> {
  checkPolicy(approval);
  return changeClient(deps, target, async (client) => {
    await refuseSelfApproval(deps, target.caller.actor, client);
    if (!needsReview(client)) throw invalidState(client.status);
    if (client.revision !== approval.revision) throw staleRevision(client.revision);
    if (approval.consentMustBeChosen && approval.consent === undefined && needsConsentChoice(client)) {
      throw invalidFields([fieldProblem('consent', { key: 'problem.client.consent' })]);
    }
    return {
      action: client.status === 'approved' ? 'client.change_approved' : 'client.approved',
      to: {
        ...client.pending_change,
        ...narrowedScopes(client, approval.allowed_scopes),
        pending_change: null,
        status: 'approved',
        status_reason: null,
        ...policyAfter(client, approval),
      },
    };
  });
}

/**
 * A client that waits for review becomes `rejected`, until its owner edits it. Of an approved client only the change
 * that waits is turned down: what was reviewed goes on serving. The log keeps what was turned down, so that whoever
 * reviews the next version sees what has changed since.
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
    if (!needsReview(client)) throw invalidState(client.status);
    if (revision !== undefined && revision !== client.revision) throw staleRevision(client.revision);
    const after = { rejected: { revision: client.revision, ...proposedFields(client) } };
    return client.status === 'approved'
      ? { action: 'client.change_rejected', reason: status_reason, after, to: { pending_change: null, status_reason } }
      : { action: 'client.rejected', reason: status_reason, after, to: { status: 'rejected', status_reason } };
  });
}

/** Stops an approved client, and with it every grant that users gave to it. */
export const suspendClient = async (
  deps: ClientDeps & Pick<Deps, 'grants'>,
  target: ReviewTarget,
  why: string,
): Promise<Client> =>
  changeStatus(
    deps,
    target,
    { action: 'client.suspended', reason: readReason(why), from: 'approved', to: 'suspended' },
    { also: deps.grants.revokeOfClient(target.client_id, 'client_suspended', now(deps)) },
  );

/**
 * A suspended client may start logins again. Its old tokens stay dead: their grants were revoked, and are once more,
 * for the code that another node was writing at the instant of the suspension.
 */
export async function reinstateClient(deps: ReviewDeps, target: ReviewTarget): Promise<Client> {
  return changeStatus(
    deps,
    target,
    { action: 'client.reinstated', from: 'suspended', to: 'approved' },
    {
      allow: (client) => refuseSelfApproval(deps, target.caller.actor, client),
      also: deps.grants.revokeOfClient(target.client_id, 'client_suspended', now(deps)),
    },
  );
}

/** An approval may take scopes away, and never adds one that its owner did not ask for. */
function narrowedScopes(client: Client, wanted: Approval['allowed_scopes']): Partial<ReviewedFields> {
  if (wanted === undefined) return {};
  const asked = client.pending_change?.allowed_scopes ?? client.allowed_scopes;
  const allowed_scopes = asked.filter((scope) => wanted.includes(scope));
  if (allowed_scopes.length === 0 || !wanted.every((scope) => asked.some((one) => one === scope))) {
    throw invalidFields([fieldProblem('allowed_scopes', { key: 'problem.client.narrowed_scopes' })]);
  }
  return { allowed_scopes };
}

/** What administrators decide about a client beside what its owner asks for. Left out: as it is. */
export type PolicyChange = {
  consent?: ConsentPolicy;
  /** Seconds, 0 to 60. */
  refresh_retry_window?: number;
};

/** @throws invalidFields for a retry window that is none. */
export function checkPolicy({ refresh_retry_window = 0 }: PolicyChange): void {
  if (Number.isInteger(refresh_retry_window) && refresh_retry_window >= 0 && refresh_retry_window <= 60) return;
  throw invalidFields([fieldProblem('refresh_retry_window', { key: 'problem.client.refresh_retry_window' })]);
}

/** The policy of a client after the change. */
export const policyAfter = (client: Client, change: PolicyChange): Required<PolicyChange> => ({
  consent: change.consent ?? client.consent,
  refresh_retry_window: change.refresh_retry_window ?? client.refresh_retry_window,
});

/**
 * Changes the policy of a client that has been approved, suspended ones included. A client that still waits gets its
 * policy with the approval. The revision stays: nothing that its owner asked for is different.
 *
 * @returns the client as it is now; unchanged, and without an audit event, if that is the policy already.
 * @throws notFound; invalidState for a client that was never approved; invalidFields; accessDenied as {@link refuseSelfApproval}
 * says, since whoever may not approve a client may not loosen what its approval decided either.
 */
export async function changePolicy(
  deps: ClientDeps & Pick<Deps, 'config'>,
  target: ClientTarget,
  change: PolicyChange,
): Promise<Client> {
  checkPolicy(change);
  return changeClient(deps, target, async (client) => {
    await refuseSelfApproval(deps, target.caller.actor, client);
    if (client.status !== 'approved' && client.status !== 'suspended') throw invalidState(client.status);
    const to = policyAfter(client, change);
    return sameJson(to, policyAfter(client, {})) ? undefined : { action: 'client.policy_changed', to };
  });
}

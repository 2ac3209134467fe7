import type { Deps } from '../platform/deps.ts';
import { fieldProblem, invalidFields, invalidState } from '../platform/errors.ts';
import { type ClientDeps, type ClientTarget, changeClient, sameJson } from './change-client.ts';
import type { Client, ConsentPolicy } from './client.ts';
import { refuseSelfApproval } from './reviewer.ts';

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

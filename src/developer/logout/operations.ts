import { findOwnClient } from '../../clients/find-clients.ts';
import { deliveryMembers, deliveryQuery } from '../../deliveries/operation-parts.ts';
import type { Deps } from '../../oauth/deps.ts';
import { findLogoutDeliveries, resendLogout } from '../../oauth/logout/deliveries.ts';
import { nullable, operation } from '../../platform/http/operation.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { Type } from '../../platform/schema.ts';
import { clientOwner } from '../owner.ts';

const Delivery = Type.Object({
  ...deliveryMembers,
  delivery_id: Type.String({ description: '`jti` of the logout token.' }),
  sub: Type.String(),
  sid: Type.String(),
});

/** For owners and for administrators. */
export const listPart = {
  method: 'GET',
  summary: 'List the logout tokens that were sent to a client',
  query: deliveryQuery,
  answer: {
    description: 'Newest first.',
    schema: Type.Object({ deliveries: Type.Array(Delivery), next: nullable(Type.String()) }),
  },
  refusals: ['not_found', 'invalid_request'],
} as const;

/** For owners and for administrators. */
export const retryPart = {
  method: 'POST',
  summary: 'Send a failed logout token once more',
  answer: { description: 'Accepted for sending.', schema: Type.Object({ delivery_id: Type.String() }) },
  refusals: ['not_found', 'invalid_state'],
} as const;

const path = '/v1/oauth/clients/:client_id/logout-deliveries' as const;
const shared = { tag: 'Clients', access: clientOwner } as const;
const client_id = 'As issued at registration.';

const list = operation({
  ...shared,
  ...listPart,
  id: 'listLogoutDeliveries',
  description: 'Newest first, with how often each was tried and the last answer.',
  path,
  parameters: { client_id },
  async run(deps: Deps, { owner, client_id, query }) {
    await findOwnClient(deps, client_id, owner.owner_user_id);
    return findLogoutDeliveries(deps, client_id, query);
  },
});

export const retry = operation({
  ...shared,
  ...retryPart,
  id: 'retryLogoutDelivery',
  description: 'One that was given up, or that waits for its next attempt.',
  path: `${path}/:delivery_id/retry`,
  parameters: { client_id, delivery_id: 'As in the list.' },
  refusals: [...retryPart.refusals, 'rate_limited'],
  async run(deps: Deps, { owner, client_id, delivery_id }) {
    const client = await findOwnClient(deps, client_id, owner.owner_user_id);
    const limit = deps.config.limits.logoutResendsPerHour;
    // Each is a row of the audit log for good, and a receiver that refuses at once lets a script resend without end.
    await windowLimit(deps, { name: 'logout-resend', limit, windowSeconds: 3600 }).take(owner.owner_user_id);
    return resendLogout(deps, owner.caller, client, delivery_id);
  },
});

export const logoutOperations = [list, retry];

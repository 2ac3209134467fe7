import Type from 'typebox';
import { findOwnClient } from '../../clients/find-clients.ts';
import type { Deps } from '../../oauth/deps.ts';
import { deliveryStates, findLogoutDeliveries, resendLogout } from '../../oauth/logout/deliveries.ts';
import { nullable, operation, Time } from '../../platform/http/operation.ts';
import { clientOwner } from '../owner.ts';

const path = '/v1/oauth/clients/:client_id/logout-deliveries' as const;
const shared = { tag: 'Clients', access: clientOwner, refusals: ['not_found'] } as const;
const client_id = 'As issued at registration.';

const Delivery = Type.Object({
  delivery_id: Type.String({ description: '`jti` of the logout token.' }),
  sub: Type.String(),
  sid: Type.String(),
  state: Type.Enum([...deliveryStates]),
  created_at: Time,
  attempts: Type.Integer({ minimum: 0 }),
  next_attempt_at: nullable(Time),
  last_error: nullable(Type.String()),
  delivered_at: nullable(Time),
  dead_at: nullable(Time),
});

const list = operation({
  ...shared,
  id: 'listLogoutDeliveries',
  method: 'GET',
  path,
  summary: 'List the logout tokens that were sent to a client',
  parameters: { client_id },
  query: {
    state: Type.Optional(
      Type.Enum([...deliveryStates], { description: 'Only deliveries in this state. Default: all.' }),
    ),
    after: Type.Optional(Type.String({ description: '`next` of the previous page.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
  },
  answer: {
    description: 'Newest first.',
    schema: Type.Object({ deliveries: Type.Array(Delivery), next: nullable(Type.String()) }),
  },
  async run(deps: Deps, { owner, client_id, query }) {
    await findOwnClient(deps, client_id, owner.owner_user_id);
    return findLogoutDeliveries(deps, client_id, query);
  },
});

export const resend = operation({
  ...shared,
  id: 'retryLogoutDelivery',
  method: 'POST',
  path: `${path}/:delivery_id/retry`,
  summary: 'Send a failed logout token once more',
  parameters: { client_id, delivery_id: 'As in the list.' },
  answer: { description: 'Accepted for sending.', schema: Type.Object({ delivery_id: Type.String() }) },
  refusals: ['not_found', 'invalid_state'],
  async run(deps: Deps, { owner, client_id, delivery_id }) {
    await findOwnClient(deps, client_id, owner.owner_user_id);
    return resendLogout(deps, owner.caller, { client_id, delivery_id });
  },
});

export const logoutOperations = [list, resend];

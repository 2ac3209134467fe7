import { findAnyClient } from '../../clients/find-clients.ts';
import { describeDeliveries } from '../../deliveries/operation-parts.ts';
import { listPart, retryPart } from '../../developer/logout/operations.ts';
import { findLogoutDeliveries, resendLogout } from '../../oauth/logout/deliveries.ts';
import { operation } from '../../platform/http/operation.ts';
import { administration, anyClient } from '../operation-parts.ts';

const path = '/v1/admin/clients/:client_id/logout-deliveries' as const;

/** What owners do with the logout tokens for their clients, for any client. */
export const logoutOperations = {
  listLogouts: operation({
    ...administration('clients:read'),
    ...listPart,
    id: 'listClientLogoutDeliveries',
    parameters: anyClient,
    path,
    async run(deps, { client_id, query }) {
      await findAnyClient(deps, client_id);
      return findLogoutDeliveries(deps, client_id, query);
    },
    command: {
      name: 'clients logout-deliveries list',
      summary: 'List the logout tokens sent to a client, newest first.',
      text: (found) => describeDeliveries(found, 'USER', ({ sub }) => sub),
    },
  }),

  retryLogout: operation({
    ...administration('clients:write'),
    ...retryPart,
    id: 'retryClientLogoutDelivery',
    path: `${path}/:delivery_id/retry`,
    parameters: { ...anyClient, delivery_id: 'As in the list.' },
    run: async (deps, { caller, client_id, delivery_id }) =>
      resendLogout(deps, caller, await findAnyClient(deps, client_id), delivery_id),
    command: {
      name: 'clients logout-deliveries retry',
      summary: 'Resend a failed logout token.',
      text: ({ delivery_id }) => `${delivery_id} will be resent within seconds if the server is running.`,
    },
  }),
};

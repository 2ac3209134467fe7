import type { AuthorizationRequests } from '../../authentication/ports.ts';
import { now } from '../../platform/clock.ts';
import type { Deps } from '../deps.ts';
import { findPendingRequest, markAuthenticated } from './store.ts';

/** What signing in may ask and change of the request that waits for it. */
export const authorizationRequests = (deps: Pick<Deps, 'db' | 'clock' | 'clients'>): AuthorizationRequests => ({
  find: (request_id, browser_hash) => findPendingRequest(deps.db, request_id, browser_hash, now(deps)),
  clientName: async (client_id) => (await deps.clients.find(client_id))?.name,
  markAuthenticated,
});

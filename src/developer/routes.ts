import type { FastifyInstance } from 'fastify';
import { findOwnClient } from '../clients/find-clients.ts';
import type { Deps } from '../oauth/deps.ts';
import { addOperations } from '../platform/http/operation.ts';
import { pagesFor } from '../platform/pages/page-routes.ts';
import { clientActivity } from './activity/activity.ts';
import { activityPage } from './activity/page.ts';
import { ownClientOperations } from './api/operations.ts';
import { developerClientRoutes } from './clients/routes.ts';
import { clientOwner } from './owner.ts';
import { developerRegistrationRoutes } from './registration/routes.ts';
import { developerSecretRoutes } from './secrets/routes.ts';

/** The console of people who build on this service, and the same as `/v1/oauth/clients` (specification §4.16, §4.17). */
export async function developerRoutes(app: FastifyInstance, deps: Deps) {
  await developerRegistrationRoutes(app, deps);
  await developerClientRoutes(app, deps);
  await developerSecretRoutes(app, deps);
  await developerActivityRoutes(app, deps);
  addOperations(app, deps, ownClientOperations);
}

/** Recent sign-ins, and what failed and why. */
async function developerActivityRoutes(app: FastifyInstance, deps: Deps) {
  pagesFor(app, deps, clientOwner).show(
    '/developer/clients/:client_id/activity',
    async ({ view, owner, client_id }) => {
      const client = await findOwnClient(deps, client_id, owner.owner_user_id);
      return activityPage(view, client, await clientActivity(deps, client_id, owner.owner_user_id));
    },
  );
}

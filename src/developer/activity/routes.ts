import type { FastifyInstance } from 'fastify';
import { findOwnClient } from '../../clients/find-clients.ts';
import type { Deps } from '../../oauth/deps.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { clientOwner } from '../owner.ts';
import { clientActivity } from './activity.ts';
import { activityPage } from './page.ts';

/** Recent sign-ins, and what failed and why. */
export async function developerActivityRoutes(app: FastifyInstance, deps: Deps) {
  pagesFor(app, deps, clientOwner).show(
    '/developer/clients/:client_id/activity',
    async ({ view, owner, client_id }) => {
      const client = await findOwnClient(deps, client_id, owner.owner_user_id);
      return activityPage(view, client, await clientActivity(deps, client_id, owner.owner_user_id));
    },
  );
}

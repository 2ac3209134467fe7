import type { FastifyInstance } from 'fastify';
import { developerContext } from '../../authentication/sessions/developer.ts';
import { findOwnClient } from '../../clients/find-clients.ts';
import type { Deps } from '../../oauth/deps.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { clientActivity } from './activity.ts';
import { activityPage } from './page.ts';

type ClientRoute = { Params: { client_id: string } };

const path = '/developer/clients/:client_id/activity';

/** Who signed in lately, and what failed and why. */
export async function developerActivityRoutes(app: FastifyInstance, deps: Deps) {
  app.get<ClientRoute>(path, { config: { page: true, form: path } }, async (request, reply) => {
    const { view, owner } = await developerContext(deps, request);
    const client = await findOwnClient(deps, request.params.client_id, owner.owner_user_id);
    const activity = await clientActivity(deps, client.client_id, owner.owner_user_id);
    return sendPage(reply, view, activityPage(view, client, activity));
  });
}

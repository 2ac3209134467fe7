import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireSession } from '../../authentication/sessions/session.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import type { Deps } from '../deps.ts';
import { disconnectApp } from './disconnect-app.ts';
import { listConnectedApps } from './list-connected-apps.ts';
import { endGrants, listGrants } from './operations.ts';
import { connectedAppsPage } from './page.ts';

const path = '/account/apps';
const config = { page: true, form: path } as const;
type AppRoute = { Params: { client_id: string } };

/** What a person has let clients have, to review and to take back (ASVS 10.7.3). */
export async function connectedAppRoutes(app: FastifyInstance, deps: Deps) {
  const disconnect = async (request: FastifyRequest, client_id: string) =>
    disconnectApp(deps, { session: await requireSession(deps, request), client_id, address: request.ip });

  app.get('/v1/me/grants', { config: { operation: listGrants } }, async (request) => {
    const { user_id } = await requireSession(deps, request);
    return { grants: await listConnectedApps(deps, user_id) };
  });

  app.delete<AppRoute>('/v1/me/grants/:client_id', { config: { operation: endGrants } }, async (request, reply) => {
    await disconnect(request, request.params.client_id);
    return reply.code(204).send();
  });

  app.get(path, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    const isDone = request.queryParameters.done === 'yes';
    return sendPage(reply, view, connectedAppsPage(view, await listConnectedApps(deps, session.user_id), isDone));
  });

  app.post(`${path}/disconnect`, { config }, async (request, reply) => {
    await disconnect(request, readForm(request.body).client_id ?? '');
    return reply.redirect(`${path}?done=yes`, 303);
  });
}

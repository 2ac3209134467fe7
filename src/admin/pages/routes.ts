import type { FastifyInstance } from 'fastify';
import { logState } from '../../audit/log-state.ts';
import { countWaiting } from '../../clients/find-clients.ts';
import { now } from '../../clock.ts';
import type { Deps } from '../../deps.ts';
import { administratorAt } from '../../http/administrator.ts';
import { sendPage } from '../../http/page.ts';
import { listKeys } from '../../keys/list-keys.ts';
import { webhookTroubles } from '../../webhooks/list-webhooks.ts';
import { auditPageRoutes } from './audit/routes.ts';
import { clientPageRoutes } from './clients/routes.ts';
import { dashboardPage } from './dashboard-page.ts';
import { keyPageRoutes } from './keys/routes.ts';
import { serviceCredentialPageRoutes } from './service-credentials/routes.ts';
import { userPageRoutes } from './users/routes.ts';
import { webhookPageRoutes } from './webhooks/routes.ts';

/** Administration for people, one line an area. What they do is what `/v1/admin/…` and the command line do. */
export async function adminPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/admin', { config: { page: true } }, async (request, reply) => {
    const { view } = await administratorAt(deps, request);
    const [waiting, webhooks, keys, log] = await Promise.all([
      countWaiting(deps),
      webhookTroubles(deps),
      listKeys(deps),
      logState(deps),
    ]);
    return sendPage(reply, view, dashboardPage(view, { waiting, webhooks, keys, log, now: now(deps) }));
  });
  await clientPageRoutes(app, deps);
  await userPageRoutes(app, deps);
  await serviceCredentialPageRoutes(app, deps);
  await webhookPageRoutes(app, deps);
  await keyPageRoutes(app, deps);
  await auditPageRoutes(app, deps);
}

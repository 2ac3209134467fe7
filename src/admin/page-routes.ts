import type { FastifyInstance } from 'fastify';
import { administratorPage } from '../authentication/sessions/session.ts';
import { countNeedingReview } from '../clients/find-clients.ts';
import type { Deps } from '../oauth/deps.ts';
import { listKeys } from '../oauth/signing-keys/signing-keys.ts';
import { now } from '../platform/clock.ts';
import { pagesFor } from '../platform/pages/page-routes.ts';
import { webhookProblems } from '../webhooks/list-webhooks.ts';
import { auditPageRoutes } from './audit/page-routes.ts';
import { clientPageRoutes } from './clients/page-routes.ts';
import { dashboardPage } from './dashboard-page.ts';
import { keyPageRoutes } from './keys/page-routes.ts';
import { serviceCredentialPageRoutes } from './service-credentials/page-routes.ts';
import { userPageRoutes } from './users/page-routes.ts';
import { webhookPageRoutes } from './webhooks/page-routes.ts';

/** Administration for people, one line an area. What they do is what `/v1/admin/…` and the command line do. */
export async function adminPageRoutes(app: FastifyInstance, deps: Deps) {
  pagesFor(app, deps, administratorPage).show('/admin', async ({ view }) => {
    const [waiting, webhooks, keys, log] = await Promise.all([
      countNeedingReview(deps),
      webhookProblems(deps),
      listKeys(deps),
      deps.auditLog.state(),
    ]);
    return dashboardPage(view, { waiting, webhooks, keys, log, now: now(deps) });
  });
  await clientPageRoutes(app, deps);
  await userPageRoutes(app, deps);
  await serviceCredentialPageRoutes(app, deps);
  await webhookPageRoutes(app, deps);
  await keyPageRoutes(app, deps);
  await auditPageRoutes(app, deps);
}

import type { FastifyInstance } from 'fastify';
import { requireSession } from '../authentication/sessions/session.ts';
import type { Deps } from '../oauth/deps.ts';
import { isBearer } from '../platform/http/bearer.ts';
import { sendPage } from '../platform/pages/page.ts';
import { readWrite } from './entitlement.ts';
import { readEntitlements, write } from './operations.ts';
import { entitlementsPage } from './page.ts';
import { entitlementsOfToken } from './read-entitlements.ts';
import { authenticateService } from './service-credentials/authenticate-service.ts';
import { listEntitlements } from './store.ts';
import { writeEntitlement } from './write-entitlement.ts';

/** Who is entitled to what across products (specification 2.9, 2.10, 4.11, 4.12). */
export async function entitlementRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me/entitlements', { config: { operation: readEntitlements } }, async (request) => {
    const { authorization } = request.headers;
    // Whoever sends a token means its user: a cookie beside it does not count, also when the token is refused.
    if (isBearer(authorization)) return { entitlements: await entitlementsOfToken(deps, authorization) };
    const { user_id } = await requireSession(deps, request);
    return { entitlements: await listEntitlements(deps.db, user_id) };
  });

  app.post('/v1/entitlements', { config: { anySite: true, operation: write } }, async (request) => {
    const presented = { authorization: request.headers.authorization, address: request.ip };
    const credential = await authenticateService(deps, presented, 'entitlements:write');
    return writeEntitlement(deps, { credential, address: request.ip }, readWrite(request.body));
  });

  app.get('/account/entitlements', { config: { page: true } }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    return sendPage(reply, view, entitlementsPage(view, await listEntitlements(deps.db, session.user_id)));
  });
}

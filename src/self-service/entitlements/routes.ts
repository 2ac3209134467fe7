import type { FastifyInstance } from 'fastify';
import { requireSession } from '../../authentication/sessions/session.ts';
import { listEntitlements } from '../../entitlements/read-history.ts';
import type { Deps } from '../../oauth/deps.ts';
import { isBearer } from '../../platform/http/access.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { readEntitlements } from './operations.ts';
import { entitlementsPage } from './page.ts';
import { entitlementsOfToken } from './read-entitlements.ts';

/** What a user is entitled to across products (specification 2.9, 4.11). */
export async function ownEntitlementRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me/entitlements', { config: { operation: readEntitlements } }, async (request) => {
    const { authorization } = request.headers;
    // Whoever sends a token means its user: a cookie beside it does not count, also when the token is refused.
    if (isBearer(authorization)) return { entitlements: await entitlementsOfToken(deps, authorization) };
    const { user_id } = await requireSession(deps, request);
    return { entitlements: await listEntitlements(deps.db, user_id) };
  });

  app.get('/account/entitlements', { config: { page: true } }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    return sendPage(reply, view, entitlementsPage(view, await listEntitlements(deps.db, session.user_id)));
  });
}

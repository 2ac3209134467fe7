import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { sendPage } from '../http/page.ts';
import { viewOf } from '../http/view.ts';
import { requireSession } from '../sessions/session.ts';
import { listEntitlements } from './list-entitlements.ts';
import { readEntitlements } from './operations.ts';
import { entitlementsPage } from './page.ts';

/** Specification §4.11. */
export async function entitlementRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me/entitlements', { config: { operation: readEntitlements } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    const { user_id } = await requireSession(deps, request);
    return { entitlements: await listEntitlements(user_id) };
  });

  app.get('/account/entitlements', { config: { page: true } }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = viewOf(deps, request, session.locale);
    return sendPage(reply, view, entitlementsPage(view, await listEntitlements(session.user_id)));
  });
}

import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { sendPage } from '../http/page.ts';
import { viewOf } from '../http/view.ts';
import { requireSession, type Session } from '../sessions/session.ts';
import { accountPage } from './page.ts';

export async function accountRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me', async (request, reply) => {
    reply.header('cache-control', 'no-store');
    return currentUser(await requireSession(deps, request));
  });

  app.get('/', { config: { page: true } }, async (_request, reply) => reply.redirect('/account', 302));

  app.get('/account', { config: { page: true } }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = viewOf(deps, request, session.locale);
    return sendPage(reply, view, accountPage(view, session));
  });
}

/** Decisions §10. */
const currentUser = (session: Session) => ({
  user_id: session.user_id,
  sub: session.user_id,
  email: session.email,
  email_verified: session.email_verified_at !== null,
  name: session.name,
  picture: session.picture,
  role: session.role,
  locale: session.locale,
  created_at: session.user_created_at,
  updated_at: session.user_updated_at,
  two_factor_enabled: false,
  identities: [],
  session: {
    id: session.session_id,
    created_at: session.session_created_at,
    expires_at: session.expires_at,
    auth_time: session.auth_time,
    amr: session.amr,
    acr: session.acr,
  },
});

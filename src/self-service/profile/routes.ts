import type { FastifyInstance } from 'fastify';
import { requireSession } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { currentUser } from './current-user.ts';
import { editCurrentUser, readCurrentUser } from './operations.ts';
import { profilePage } from './page.ts';
import { changeProfile, readProfileEdit } from './profile.ts';
import { securityOverview } from './security.ts';
import { securityPage } from './security-page.ts';

const config = { page: true, form: '/account' } as const;

/** Who a person is here (specification §4.10), and what they sign in with. */
export async function accountRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/me', { config: { operation: readCurrentUser } }, async (request) => {
    return currentUser(deps, await requireSession(deps, request));
  });

  app.patch('/v1/me', { config: { operation: editCurrentUser } }, async (request) => {
    const session = await requireSession(deps, request);
    return currentUser(deps, await changeProfile(deps, session, readProfileEdit(request.body), request.ip));
  });

  app.get('/', { config: { page: true } }, async (_request, reply) => reply.redirect('/account', 302));

  app.get('/account', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    const { done } = request.queryParameters;
    return sendPage(reply, view, profilePage(view, { session, isDone: done === 'yes' }));
  });

  app.post('/account', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const form = readForm(request.body);
    const typed = { name: form.name ?? '', locale: form.locale ?? '', picture: (form.picture ?? '').trim() };
    try {
      await changeProfile(
        deps,
        session,
        readProfileEdit({
          name: typed.name,
          locale: typed.locale || null,
          picture: typed.picture || null,
        }),
        request.ip,
      );
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      const view = request.view;
      return sendPage(reply, view, profilePage(view, { session, typed, problems: error.problems }), error.status);
    }
    return reply.redirect('/account?done=yes', 303);
  });

  app.get('/account/security', { config: { page: true } }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    return sendPage(reply, view, securityPage(view, await securityOverview(deps, session.user_id)));
  });
}

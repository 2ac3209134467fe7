import type { FastifyInstance, FastifyReply } from 'fastify';
import { isNotLastAdministrator } from '../../accounts/store.ts';
import { requireRecentSession } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import { jsonBody } from '../../platform/http/json-body.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { deleteAccount } from './delete-account.ts';
import { DeletionBody, deleteCurrentUser } from './operations.ts';
import { accountDeletedPage, deleteAccountPage } from './page.ts';

const config = { page: true, form: '/account/delete' } as const;
const readDeletion = jsonBody(DeletionBody);

/** The end of an account, as a page and as JSON. */
export async function userRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/account/delete', { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const view = request.view;
    const isLastAdministrator = !(await deps.db.holds(isNotLastAdministrator(session.user_id)));
    return sendPage(reply, view, deleteAccountPage(view, { email: session.email, isLastAdministrator }));
  });

  app.post('/account/delete', { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { email = '' } = readForm(request.body);
    try {
      await deleteAccount(deps, { session, email, address: request.ip });
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      const view = request.view;
      const form = { email: session.email, isLastAdministrator: false, problems: error.problems };
      return sendPage(reply, view, deleteAccountPage(view, form), 400);
    }
    return clearBrowserCookies(deps, reply).redirect('/account-deleted', 303);
  });

  app.get('/account-deleted', { config }, async (request, reply) => {
    const view = request.view;
    return sendPage(reply, view, accountDeletedPage(view));
  });

  app.delete('/v1/me', { config: { operation: deleteCurrentUser } }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { email } = readDeletion(request.body);
    await deleteAccount(deps, { session, email, address: request.ip });
    return clearBrowserCookies(deps, reply).code(204).send();
  });
}

/** Nothing of the account is left in this browser. */
function clearBrowserCookies(deps: Deps, reply: FastifyReply): FastifyReply {
  const { session, device } = cookieNames(deps.config);
  for (const name of [session, device]) clearCookie(reply, deps.config, name);
  return reply.headers({ 'clear-site-data': '"cache"' });
}

import type { FastifyInstance, FastifyReply } from 'fastify';
import Type from 'typebox';
import { isNotLastAdministrator } from '../../accounts/administrators.ts';
import { recentlySignedIn, requireRecentSession } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { jsonBody } from '../../platform/http/bodies.ts';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { deleteAccount } from './delete-account.ts';
import { accountDeletedPage, deleteAccountPage } from './page.ts';

const DeletionBody = Type.Object(
  { email: Type.String({ description: 'The email address of the account, to confirm the deletion.' }) },
  { additionalProperties: false },
);
const readDeletion = jsonBody(DeletionBody);

const deleteCurrentUser: OperationDescription = {
  id: 'deleteCurrentUser',
  tag: 'Account',
  access: [recentlySignedIn],
  summary: 'Delete your account',
  description:
    'Deletes the account immediately and permanently, with its sessions, grants and factors. Clients that you registered are kept.',
  body: { schema: DeletionBody, example: { email: 'ada@example.com' } },
  answers: { 204: { description: 'It is gone.' } },
  refusals: ['invalid_state'],
};

/** The end of an account, as a page and as JSON. */
export async function userRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, recentlySignedIn);
  pages.show('/account/delete', async ({ view, session: { user_id, email } }) => {
    const isLastAdministrator = !(await deps.db.holds(isNotLastAdministrator(user_id)));
    return deleteAccountPage(view, { email, isLastAdministrator });
  });
  pages.post('/account/delete', {
    page: '/account/delete',
    async act({ session, request, reply }, { email = '' }) {
      await deleteAccount(deps, { session, email, address: request.ip });
      return clearBrowserCookies(deps, reply).redirect('/account-deleted', 303);
    },
    redraw: ({ view, session: { email } }, { refusal: { problems } }) =>
      deleteAccountPage(view, { email, isLastAdministrator: false, problems }),
  });

  app.get('/account-deleted', { config: { page: true } }, async (request, reply) => {
    return sendPage(reply, request.view, accountDeletedPage(request.view));
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

import type { FastifyInstance } from 'fastify';
import { hasAdministratorElsewhere, isNotLastAdministrator } from '../../accounts/statements.ts';
import { recentlySignedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import { addOperations, inCode, operation } from '../../platform/http/operation.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { Type } from '../../platform/schema.ts';
import { deleteAccount } from './delete-account.ts';
import { accountDeletedPage, deleteAccountPage } from './page.ts';

const deleteCurrentUser = operation({
  id: 'deleteCurrentUser',
  method: 'DELETE',
  path: '/v1/me',
  tag: 'Account',
  access: recentlySignedIn,
  summary: 'Delete your account',
  description:
    'Deletes the account immediately and permanently, with its sessions, grants and factors. Clients that you registered are kept.',
  body: Type.Object(
    {
      email: Type.String({
        description: 'The email address of the account, to confirm the deletion.',
        ...inCode({ maxLength: 254 }),
      }),
    },
    { additionalProperties: false },
  ),
  example: { email: 'ada@example.com' },
  answer: { description: 'It is gone.' },
  refusals: ['invalid_state'],
  run: (deps: Deps, { body: { email }, ...requester }) => deleteAccount(deps, requester, email),
  /** Nothing of the account is left in this browser. */
  setHeaders(reply, { config }) {
    const { session, device } = cookieNames(config);
    for (const name of [session, device]) clearCookie(reply, config, name);
  },
});

/** The end of an account, as a page and as JSON. */
export async function userRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [deleteCurrentUser]);
  const pages = pagesFor(app, deps, recentlySignedIn);
  pages.show('/account/delete', async ({ view, session: { user_id, email } }) => {
    const isLastInPart = !(await deps.db.of(user_id).holds(isNotLastAdministrator(user_id)));
    const isLastAdministrator = isLastInPart && !(await hasAdministratorElsewhere(deps.db, user_id));
    return deleteAccountPage(view, { email, isLastAdministrator });
  });
  pages.run(deleteCurrentUser, {
    path: '/account/delete',
    page: '/account/delete',
    input: ({ email = '' }) => ({ body: { email } }),
    done: '/account-deleted',
    redraw: ({ view, session: { email } }, { refusal: { problems } }) =>
      deleteAccountPage(view, { email, isLastAdministrator: false, problems }),
  });

  app.get('/account-deleted', { config: { page: true } }, async ({ view }, reply) =>
    sendPage(reply, view, accountDeletedPage(view)),
  );
}

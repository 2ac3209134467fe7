import type { FastifyInstance } from 'fastify';
import { securityOverview } from '../../authentication/credentials/sign-in-methods.ts';
import { signedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { jsonBody } from '../../platform/http/bodies.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { profilePage } from './page.ts';
import { CurrentUser, changeProfile, currentUser, ProfileBody } from './profile.ts';
import { securityPage } from './security-page.ts';

const readProfile = jsonBody(ProfileBody);
const shared = { tag: 'Account', access: signedIn, path: '/v1/me' } as const;

const getCurrentUser = operation({
  ...shared,
  id: 'getCurrentUser',
  method: 'GET',
  summary: 'Get the signed-in user',
  answer: { description: 'The user, and this session.', schema: CurrentUser },
  run: (deps: Deps, { session }) => currentUser(deps, session),
});

const updateCurrentUser = operation({
  ...shared,
  id: 'updateCurrentUser',
  method: 'PATCH',
  summary: 'Change your name, language or picture',
  body: ProfileBody,
  example: { name: 'Ada Lovelace', locale: 'de', picture: 'https://pictures.example.com/ada.jpg' },
  answer: { description: 'The user after the change.', schema: CurrentUser },
  refusals: ['rate_limited'],
  run: async (deps: Deps, { session, caller, body }) =>
    currentUser(deps, await changeProfile(deps, session, body, caller)),
});

/** A user's own data (specification §4.10), and an overview of what they sign in with. */
export async function accountRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [getCurrentUser, updateCurrentUser]);
  app.get('/', { config: { page: true } }, async (_request, reply) => reply.redirect('/account', 302));

  const pages = pagesFor(app, deps, signedIn);
  pages.show('/account', ({ view, session, query: { done } }) =>
    profilePage(view, { session, isDone: done === 'yes' }),
  );
  pages.post('/account', {
    page: '/account',
    async act({ session, caller }, { name = '', locale, picture = '' }) {
      const edit = readProfile({ name, locale: locale || null, picture: picture.trim() || null });
      await changeProfile(deps, session, edit, caller);
      return '/account?done=yes';
    },
    redraw: ({ view, session }, { refusal: { problems }, form: { name = '', locale = '', picture = '' } }) =>
      profilePage(view, { session, typed: { name, locale, picture: picture.trim() }, problems }),
  });
  pages.show('/account/security', async ({ view, session }) =>
    securityPage(view, await securityOverview(deps, session.user_id)),
  );
}

import type { FastifyInstance } from 'fastify';
import { type Profile, standardClaimNames } from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { attributesIn, editableByPerson } from '../../attributes/fields.ts';
import { securityOverview } from '../../authentication/credentials/sign-in-methods.ts';
import { stopOwnPath, stoppedPage } from '../../authentication/factor-recovery/page.ts';
import { recoveryUnderWay, stopOwnRecovery } from '../../authentication/factor-recovery/stop-recovery.ts';
import { offersPasskey } from '../../authentication/passkeys/routes.ts';
import { localPath } from '../../authentication/sessions/return-target.ts';
import { administratorFactorDue, requiresSecondFactor } from '../../authentication/sessions/second-factor-policy.ts';
import { signedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { jsonBody } from '../../platform/http/bodies.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import { pictureOf } from '../../platform/pages/initials.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { birthdateIn } from './birthdate-fields.ts';
import { profileNotices, profilePage } from './page.ts';
import { CurrentUser, changeProfile, currentUser, ProfileBody } from './profile.ts';
import { securityPage } from './security-page.ts';
import { zoneIn } from './time-zone-field.ts';

const readProfile = jsonBody(ProfileBody);
const shared = { tag: 'Account', access: signedIn, path: '/v1/me' } as const;

const getCurrentUser = operation({
  ...shared,
  id: 'getCurrentUser',
  method: 'GET',
  summary: 'Get the signed-in user',
  description: 'Account, linked identities and the session of the request.',
  answer: { description: 'The user, and this session.', schema: CurrentUser },
  run: (deps: Deps, { session }) => currentUser(deps, session),
});

const updateCurrentUser = operation({
  ...shared,
  id: 'updateCurrentUser',
  method: 'PATCH',
  summary: 'Change your profile',
  description:
    'What is left out stays as it is; null removes. Apps with the scope `profile` receive what is entered, and nothing that is left empty.',
  body: ProfileBody,
  example: { name: 'Ada Lovelace', locale: 'de', picture: 'https://pictures.example.com/ada.jpg' },
  answer: { description: 'The user after the change.', schema: CurrentUser },
  refusals: ['invalid_state', 'rate_limited'],
  run: async (deps: Deps, { session, caller, body }) => {
    await changeProfile(deps, session, body, caller);
    return currentUser(deps, session);
  },
});

/** A user's own data (specification §4.10), and an overview of what they sign in with. */
export async function accountRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [getCurrentUser, updateCurrentUser]);
  app.get('/', { config: { page: true } }, async (_request, reply) => reply.redirect('/account', 302));

  const pages = pagesFor(app, deps, signedIn);
  pages.show('/account', async ({ view, session, request, query: { done } }) =>
    profilePage(view, {
      session,
      user: await requireUser(deps, session.user_id),
      attributes: (await deps.attributes.read()).all,
      done: profileNotices.find((notice) => notice === done),
      offersPasskey: await offersPasskey(deps, request, session),
    }),
  );
  pages.post('/account', {
    page: '/account',
    async act({ session, caller }, form) {
      const filled = (field: keyof Profile) => form[field]?.trim() || null;
      const claims = Object.fromEntries(standardClaimNames.map((claim) => [claim, filled(claim)]));
      // A page that was drawn before an upload must not take it back, and one without the field removes nothing.
      const hasUploaded = pictureOf(deps.config.baseUrl, await requireUser(deps, session.user_id)) !== undefined;
      const hasField = form.picture !== undefined || form.picture_field === 'on';
      const { all } = await deps.attributes.read();
      const attributes = attributesIn(editableByPerson(all), form);
      const edit = readProfile({
        ...claims,
        ...(Object.keys(attributes).length > 0 && { attributes }),
        birthdate: birthdateIn(form),
        zoneinfo: zoneIn(form),
        name: form.name ?? '',
        locale: filled('locale'),
        ...(!hasUploaded && hasField && { picture: filled('picture') }),
      });
      const isChanged = await changeProfile(deps, session, edit, caller);
      return `/account?done=${isChanged ? 'yes' : 'unchanged'}`;
    },
    redraw: async ({ view, session }, { refusal: { problems }, form }) =>
      profilePage(view, {
        session,
        user: await requireUser(deps, session.user_id),
        attributes: (await deps.attributes.read()).all,
        typed: form,
        problems,
      }),
  });
  // The menu of every page leads here, and back.
  pages.post('/account/language', {
    page: '/account',
    async act({ session, caller }, { locale = null, next }) {
      await changeProfile(deps, session, readProfile({ locale }), caller);
      return localPath(next, deps.config.baseUrl) ?? '/account';
    },
  });
  pages.show('/account/security', async ({ view, session }) => {
    const due = await administratorFactorDue(deps, session);
    const administration = due === undefined ? undefined : { due, isDue: now(deps) >= due };
    const [overview, recovery] = await Promise.all([
      securityOverview(deps, session.user_id),
      recoveryUnderWay(deps, session.user_id),
    ]);
    return securityPage(view, overview, { administration, recovery, isFactorRequired: requiresSecondFactor(deps) });
  });
  pages.post(stopOwnPath, {
    page: '/account/security',
    act: async ({ view, session, caller }) =>
      (await stopOwnRecovery(deps, caller, session.user_id)) ? stoppedPage(view) : '/account/security',
  });
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireLink } from '../../accounts/links.ts';
import { attributesIn } from '../../attributes/fields.ts';
import { attributesOfSignUp } from '../../attributes/values.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { agreementOf } from '../../platform/pages/brand.ts';
import { expectCookie, isOfBlockedCookies, requireCookie } from '../../platform/pages/cookie-check.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { formatDay, type View, viewOf } from '../../platform/pages/view.ts';
import { isOfFullQueue } from '../credentials/hash-queue.ts';
import { minCharacters } from '../credentials/password-policy.ts';
import type { Deps } from '../deps.ts';
import { passwordContext } from '../passwords/change-password.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import {
  pathWithoutSignIn,
  type ReturnTarget,
  redirectAfterSignIn,
  resolveReturnTarget,
  returnTargetQuery,
  signInRequestOf,
} from '../sessions/return-target.ts';
import { acceptInvitation, isOfEndedRole, requireInvitation } from './invitation.ts';
import { newAccountPage, newPasswordPage, noResetPage, noSignUpPage, requestPage, sentPage } from './pages.ts';
import { describeOtherMethods, requestPasswordReset, requireResetLink, resetPassword } from './reset-password.ts';
import { acceptSignUp, type LinkRequest, requestSignUp } from './sign-up.ts';

const config = { page: true } as const;
type LinkRoute = { Params: { token: string } };

/**
 * Sign-up, invitation and password reset: a one-time link, whose page asks for a password and ends in a sign-in. Without
 * mail, the links are those that administrators hand out.
 */
export async function accountLinkRoutes(app: FastifyInstance, deps: Deps) {
  const mailWorks = deps.mail.works;
  if (mailWorks) await app.register((signUp) => signUpRoutes(signUp, deps));
  else for (const path of ['/signup', '/signup/:token']) refuse(app, path, noSignUpPage);
  if (mailWorks) addRequestRoutes(app, deps, 'reset', requestPasswordReset);
  else refuse(app, '/reset', noResetPage);
  addLinkRoutes(app, deps, '/reset', openReset);
  addLinkRoutes(app, deps, '/join', openInvitation);
}

/** As long as people may sign up, which an administrator may change at any time. */
async function signUpRoutes(app: FastifyInstance, deps: Deps) {
  app.addHook('preHandler', async (request, reply) => {
    if (!deps.config.signUp) return sendPage(reply, request.view, noSignUpPage(request.view), 404);
  });
  addRequestRoutes(app, deps, 'signup', requestSignUp);
  addLinkRoutes(app, deps, '/signup', openSignUp);
}

function refuse(app: FastifyInstance, path: string, page: (view: View) => Page) {
  const answer = async (request: FastifyRequest, reply: FastifyReply) =>
    sendPage(reply, request.view, page(request.view), 404);
  app.get(path, { config }, answer);
  app.post(path, { config }, answer);
}

/** The pages that ask for an address, and the one that confirms that a link was sent. */
function addRequestRoutes(
  app: FastifyInstance,
  deps: Deps,
  flow: 'signup' | 'reset',
  requestLink: (deps: Deps, request: LinkRequest) => Promise<void>,
) {
  const path = `/${flow}`;
  const contextOf = async (request: FastifyRequest, { request: request_id, next, stay }: Parameters) => {
    const resolved = await resolveReturnTarget(deps, request, { request_id, next });
    return { returnTarget: { ...resolved, stay: stay === '1' }, view: viewOf(deps, request, resolved.ui_locales) };
  };

  app.get(path, { config }, async (request, reply) => {
    const { returnTarget, view } = await contextOf(request, request.queryParameters);
    // Outside of a flow, people reset the password of an account that they are signed in to: mails tell them to.
    const mayGoOn = flow === 'signup' || returnTarget.request_id !== undefined;
    const path = mayGoOn ? await pathWithoutSignIn(deps, request, returnTarget) : undefined;
    return path === undefined
      ? sendPage(reply, view, requestPage(view, flow, returnTarget))
      : reply.redirect(path, 303);
  });

  app.post(path, { config }, async (request, reply) => {
    const form = readForm(request.body);
    const { email = '' } = form;
    const { returnTarget, view } = await contextOf(request, form);
    return answerForm(reply, view, {
      async act() {
        await requestLink(deps, { ...returnTarget, email, locale: view.locale, address: request.ip });
        // Where the page after the redirect names the app; the link in the mail is all that continues to it.
        return `${path}/sent${returnTargetQuery({ request_id: returnTarget.request_id })}`;
      },
      redraw: (_, problem) => requestPage(view, flow, { ...returnTarget, email, problem }),
      explains: ({ problems, status }) => problems.length > 0 || status === 429,
    });
  });

  app.get(`${path}/sent`, { config }, async (request, reply) => {
    const { returnTarget, view } = await contextOf(request, request.queryParameters);
    return sendPage(reply, view, sentPage(view, flow, returnTarget));
  });
}

/** Why the form was refused, in an alert and at its fields. */
type Refused = { problem: Html | false; problems: readonly FieldProblem[] };

type OpenedLink = {
  returnTarget: ReturnTarget;
  view: View;
  draw(form: Parameters, refused?: Refused): Page | Promise<Page>;
  /** Uses the link. @returns the id of its user. */
  accept(form: Parameters): Promise<string>;
};

function addLinkRoutes(
  app: FastifyInstance,
  deps: Deps,
  path: string,
  open: (deps: Deps, request: FastifyRequest, token: string) => Promise<OpenedLink>,
) {
  app.get<LinkRoute>(`${path}/:token`, { config }, async (request, reply) => {
    const { view, draw } = await open(deps, request, request.params.token);
    expectCookie(deps, request, reply);
    return sendPage(reply, view, await draw({}));
  });

  app.post<LinkRoute>(`${path}/:token`, { config }, async (request, reply) => {
    const form = readForm(request.body);
    const { returnTarget, view, draw, accept } = await open(deps, request, request.params.token);
    return answerForm(reply, view, {
      async act() {
        requireCookie(deps, request, reply); // before the link is used up
        const user_id = await accept(form); // the link replaces the password; a reset has ended this browser's session
        const signInRequest = await signInRequestOf(deps, request, returnTarget);
        const outcome = await completeSignIn(deps, { user_id, methods: ['pwd'], secondStep: false }, signInRequest);
        return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : '/signin?stay=1';
      },
      redraw: ({ problems }, problem) => draw(form, { problem, problems }),
      explains: (refusal) =>
        refusal.problems.length > 0 || [isOfFullQueue, isOfBlockedCookies, isOfEndedRole].some((is) => is(refusal)),
    });
  });
}

async function openSignUp(deps: Deps, request: FastifyRequest, token: string): Promise<OpenedLink> {
  const { email, ...link } = await requireLink(deps, token, ['sign_up']);
  const returnTarget = await resolveReturnTarget(deps, request, link);
  const view = viewOf(deps, request, returnTarget.ui_locales);
  const { request_id, endsAt, clientName, clientLogo } = returnTarget;
  const attributes = attributesOfSignUp(await deps.attributes.read());
  return {
    returnTarget,
    view,
    draw(form, refused) {
      const typed = refused && form;
      const account = { token, email, request_id, endsAt, clientName, clientLogo, name: form.name, attributes, typed };
      return newAccountPage(view, { flow: 'signup', ...account, ...refused });
    },
    accept({ name = '', password = '', ...form }) {
      const ownAttributes = attributesIn(attributes, form);
      const agreedTo = agreementOf(view.branding);
      const account = { name, password, locale: view.locale, ownAttributes, agreedTo };
      return acceptSignUp(deps, token, { ...account, address: request.ip });
    },
  };
}

async function openInvitation(deps: Deps, request: FastifyRequest, token: string): Promise<OpenedLink> {
  const invitation = await requireInvitation(deps, token);
  const { email, preferred_username, name: invitedName } = invitation;
  const { view } = request;
  const attributes = attributesOfSignUp(await deps.attributes.read());
  return {
    returnTarget: {},
    view,
    async draw(form, refused) {
      const { role } = refused ? await requireInvitation(deps, token) : invitation;
      const { name = invitedName ?? undefined } = form;
      const account = { token, email, preferred_username, name, role, attributes, typed: refused && form };
      return newAccountPage(view, { flow: 'join', ...account, ...refused });
    },
    accept: ({ name = '', password = '', role, ...form }) =>
      acceptInvitation(deps, token, {
        ...{ name, password, locale: view.locale, address: request.ip },
        ownAttributes: attributesIn(attributes, form),
        agreedTo: agreementOf(view.branding),
        expectsRole: role === 'admin',
      }),
  };
}

async function openReset(deps: Deps, request: FastifyRequest, token: string): Promise<OpenedLink> {
  const { link, user } = await requireResetLink(deps, token);
  const returnTarget = await resolveReturnTarget(deps, request, link);
  const view = viewOf(deps, request, returnTarget.ui_locales, user.locale);
  return {
    returnTarget,
    view,
    async draw(_, refused) {
      const min = minCharacters(await passwordContext(deps, user));
      const others = await describeOtherMethods(deps, user.user_id, (at) => formatDay(view.locale, at));
      const { request_id, endsAt, clientName, clientLogo } = returnTarget;
      const account = { token, email: user.email, min, otherSignInMethods: others };
      return newPasswordPage(view, { ...account, request_id, endsAt, clientName, clientLogo, ...refused });
    },
    accept: ({ password = '' }) => resetPassword(deps, token, { password, address: request.ip }),
  };
}

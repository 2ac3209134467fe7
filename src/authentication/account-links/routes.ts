import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireLink } from '../../accounts/links.ts';
import { readForm } from '../../platform/http/parameters.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { formatDay, type View, viewOf } from '../../platform/pages/view.ts';
import { minCharacters } from '../credentials/password-policy.ts';
import type { Deps } from '../deps.ts';
import { passwordContext } from '../passwords/change-password.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import {
  type ReturnTarget,
  redirectAfterSignIn,
  resolveReturnTarget,
  signInRequestOf,
} from '../sessions/return-target.ts';
import * as drawn from './pages.ts';
import {
  describeSignInMethods,
  otherSignInMethodsOf,
  requestPasswordReset,
  requireResetLink,
  resetPassword,
} from './reset-password.ts';
import { acceptSignUp, type LinkRequest, requestSignUp } from './sign-up.ts';

const config = { page: true } as const;
type LinkRoute = { Params: { token: string } };

/** Sign-up and password reset: both mail a one-time link, whose page asks for a password and ends in a sign-in. */
export async function accountLinkRoutes(app: FastifyInstance, deps: Deps) {
  const { signUp } = deps.config;
  const mailWorks = deps.mail.works;
  if (signUp && mailWorks) {
    addRequestRoutes(app, deps, {
      path: '/signup',
      page: drawn.signUpPage,
      sent: drawn.signUpSentPage,
      request: requestSignUp,
    });
    addSignUpRoutes(app, deps);
  } else refuseAll(app, '/signup', drawn.noSignUpPage);
  if (mailWorks) {
    addRequestRoutes(app, deps, {
      path: '/reset',
      page: drawn.resetPage,
      sent: drawn.resetSentPage,
      request: requestPasswordReset,
    });
    addResetRoutes(app, deps);
  } else refuseAll(app, '/reset', drawn.noResetPage);
}

function refuseAll(app: FastifyInstance, path: string, page: (view: View) => Page) {
  const refuse = async (request: FastifyRequest, reply: FastifyReply) =>
    sendPage(reply, request.view, page(request.view), 404);
  for (const one of [path, `${path}/:token`]) {
    app.get(one, { config }, refuse);
    app.post(one, { config }, refuse);
  }
}

type LinkFlow = {
  path: string;
  page(view: View, form: drawn.EmailForm): Page;
  sent(view: View): Page;
  request(deps: Deps, request: LinkRequest): Promise<void>;
};

/** The pages that ask for an address, and the one that confirms that a link was sent. */
function addRequestRoutes(app: FastifyInstance, deps: Deps, { path, page, sent, request: requestLink }: LinkFlow) {
  const contextOf = async (request: FastifyRequest, parameters: { request?: string; next?: string }) => {
    const { request: request_id, next } = parameters;
    const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
    return { returnTarget, view: viewOf(deps, request, returnTarget.ui_locales) };
  };

  app.get(path, { config }, async (request, reply) => {
    const { returnTarget, view } = await contextOf(request, request.queryParameters);
    return sendPage(reply, view, page(view, returnTarget));
  });

  app.post(path, { config }, async (request, reply) => {
    const { email = '', ...form } = readForm(request.body);
    const { returnTarget, view } = await contextOf(request, form);
    return answerForm(reply, view, {
      async act() {
        await requestLink(deps, { ...returnTarget, email, locale: view.locale, address: request.ip });
        return `${path}/sent`;
      },
      redraw: (_, problem) => page(view, { ...returnTarget, email, problem }),
      explains: ({ problems, status }) => problems.length > 0 || status === 429,
    });
  });

  app.get(`${path}/sent`, { config }, async (request, reply) => sendPage(reply, request.view, sent(request.view)));
}

function addSignUpRoutes(app: FastifyInstance, deps: Deps) {
  const open = async (request: FastifyRequest<LinkRoute>) => {
    const { token } = request.params;
    const { email, ...link } = await requireLink(deps, token, ['sign_up']);
    const returnTarget = await resolveReturnTarget(deps, request, link);
    const view = viewOf(deps, request, returnTarget.ui_locales);
    const draw = (form: { name?: string; problem?: Html | false }) =>
      drawn.newAccountPage(view, { token, email, endsAt: returnTarget.endsAt, ...form });
    return { token, returnTarget, view, draw };
  };

  app.get<LinkRoute>('/signup/:token', { config }, async (request, reply) => {
    const { view, draw } = await open(request);
    return sendPage(reply, view, draw({}));
  });

  app.post<LinkRoute>('/signup/:token', { config }, async (request, reply) => {
    const { name = '', password = '' } = readForm(request.body);
    const { token, returnTarget, view, draw } = await open(request);
    return answerForm(reply, view, {
      async act() {
        const account = { name, password, locale: view.locale, address: request.ip };
        const { user_id } = await acceptSignUp(deps, token, account);
        return signIn(deps, request, reply, { user_id, returnTarget });
      },
      redraw: (_, problem) => draw({ name, problem }),
    });
  });
}

function addResetRoutes(app: FastifyInstance, deps: Deps) {
  const open = async (request: FastifyRequest<LinkRoute>) => {
    const { token } = request.params;
    const { link, user } = await requireResetLink(deps, token);
    const returnTarget = await resolveReturnTarget(deps, request, link);
    const view = viewOf(deps, request, returnTarget.ui_locales, user.locale);
    const draw = async (problem?: Html | false) => {
      const least = minCharacters(await passwordContext(deps, user));
      const day = (at: number) => formatDay(view.locale, at);
      const otherSignInMethods = describeSignInMethods(deps, await otherSignInMethodsOf(deps, user.user_id), day);
      const form = { token, email: user.email, least, endsAt: returnTarget.endsAt, problem, otherSignInMethods };
      return drawn.newPasswordPage(view, form);
    };
    return { token, returnTarget, view, draw };
  };

  app.get<LinkRoute>('/reset/:token', { config }, async (request, reply) => {
    const { view, draw } = await open(request);
    return sendPage(reply, view, await draw());
  });

  app.post<LinkRoute>('/reset/:token', { config }, async (request, reply) => {
    const { password = '' } = readForm(request.body);
    const { token, returnTarget, view, draw } = await open(request);
    return answerForm(reply, view, {
      async act() {
        const user_id = await resetPassword(deps, token, { password, address: request.ip });
        return signIn(deps, request, reply, { user_id, returnTarget });
      },
      redraw: (_, problem) => draw(problem),
    });
  });
}

/** After the link was used: it has replaced the password. A reset has ended every earlier session, this browser's too. */
async function signIn(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { user_id, returnTarget }: { user_id: string; returnTarget: ReturnTarget },
): Promise<FastifyReply | string> {
  const signInRequest = await signInRequestOf(deps, request, returnTarget);
  const outcome = await completeSignIn(deps, { user_id, methods: ['pwd'], secondStep: false }, signInRequest);
  return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : '/signin';
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireLink } from '../../accounts/one-time-links/link.ts';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import type { Deps } from '../deps.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import { redirectAfterSignIn, resolveReturnTarget, signInRequestOf } from '../sessions/return-target.ts';
import { acceptSignUp } from './accept-sign-up.ts';
import { newAccountPage, noSignUpPage, signUpPage, signUpSentPage } from './page.ts';
import { requestSignUp } from './request-sign-up.ts';

const config = { page: true } as const;
type LinkRoute = { Params: { token: string } };

/** People make accounts themselves: an address first, and by the link that it is sent a name and a password. */
export async function signUpRoutes(app: FastifyInstance, deps: Deps) {
  if (!deps.config.signUp || !deps.mail.works) {
    const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
      const view = request.view;
      return sendPage(reply, view, noSignUpPage(view), 404);
    };
    for (const path of ['/signup', '/signup/:token']) {
      app.get(path, { config }, refuse);
      app.post(path, { config }, refuse);
    }
    return;
  }

  app.get('/signup', { config }, async (request, reply) => {
    const { request: request_id, next } = request.queryParameters;
    const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
    const view = viewOf(deps, request, returnTarget.ui_locales);
    return sendPage(reply, view, signUpPage(view, returnTarget));
  });

  app.post('/signup', { config }, async (request, reply) => {
    const { email = '', request: request_id, next } = readForm(request.body);
    const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
    const view = viewOf(deps, request, returnTarget.ui_locales);
    try {
      await requestSignUp(deps, { ...returnTarget, email, locale: view.locale, address: request.ip });
    } catch (error) {
      if (!(error instanceof RequestError) || (error.problems.length === 0 && error.status !== 429)) throw error;
      const { problems, retryAfter } = error;
      if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
      const problem = retryAfter !== undefined && view.t('signin.too_many', { wait: view.duration(retryAfter) });
      return sendPage(reply, view, signUpPage(view, { ...returnTarget, email, problem, problems }), error.status);
    }
    return reply.redirect('/signup/sent', 303);
  });

  app.get('/signup/sent', { config }, async (request, reply) => {
    const view = request.view;
    return sendPage(reply, view, signUpSentPage(view));
  });

  app.get<LinkRoute>('/signup/:token', { config }, async (request, reply) => {
    const { token } = request.params;
    const link = await requireLink(deps, token, ['sign_up']);
    const { endsAt, ui_locales } = await resolveReturnTarget(deps, request, link);
    const view = viewOf(deps, request, ui_locales);
    return sendPage(reply, view, newAccountPage(view, { token, email: link.email, endsAt }));
  });

  app.post<LinkRoute>('/signup/:token', { config }, async (request, reply) => {
    const { token } = request.params;
    const { name = '', password = '' } = readForm(request.body);
    const { email, ...link } = await requireLink(deps, token, ['sign_up']);
    const returnTarget = await resolveReturnTarget(deps, request, link);
    const view = viewOf(deps, request, returnTarget.ui_locales);
    try {
      const { user_id } = await acceptSignUp(deps, token, {
        name,
        password,
        locale: view.locale,
        address: request.ip,
      });
      const signInRequest = await signInRequestOf(deps, request, returnTarget);
      const outcome = await completeSignIn(deps, { user_id, methods: ['pwd'], secondStep: false }, signInRequest);
      return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : reply.redirect('/signin', 303);
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      const form = { token, email, name, endsAt: returnTarget.endsAt, problems: error.problems };
      return sendPage(reply, view, newAccountPage(view, form), 400);
    }
  });
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { formatDay, viewOf } from '../../platform/pages/view.ts';
import { minCharacters } from '../credentials/password-policy.ts';
import type { Deps } from '../deps.ts';
import { passwordContext } from '../passwords/change-password.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import { redirectAfterSignIn, resolveReturnTarget, signInRequestOf } from '../sessions/return-target.ts';
import { describeSignInMethods, otherSignInMethodsOf } from './other-sign-in-methods.ts';
import { newPasswordPage, noResetPage, resetPage, resetSentPage } from './page.ts';
import { requestPasswordReset } from './request-reset.ts';
import { requireResetLink, resetPassword } from './reset-password.ts';

const config = { page: true } as const;
type LinkRoute = { Params: { token: string } };

/** A forgotten password: an address first, and by the link that it is sent a new password. */
export async function recoveryRoutes(app: FastifyInstance, deps: Deps) {
  if (!deps.mail.works) {
    const refuse = async (request: FastifyRequest, reply: FastifyReply) => {
      const view = request.view;
      return sendPage(reply, view, noResetPage(view), 404);
    };
    for (const path of ['/reset', '/reset/:token']) {
      app.get(path, { config }, refuse);
      app.post(path, { config }, refuse);
    }
    return;
  }

  app.get('/reset', { config }, async (request, reply) => {
    const { request: request_id, next } = request.queryParameters;
    const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
    const view = viewOf(deps, request, returnTarget.ui_locales);
    return sendPage(reply, view, resetPage(view, returnTarget));
  });

  app.post('/reset', { config }, async (request, reply) => {
    const { email = '', request: request_id, next } = readForm(request.body);
    const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
    const view = viewOf(deps, request, returnTarget.ui_locales);
    try {
      await requestPasswordReset(deps, { ...returnTarget, email, locale: view.locale, address: request.ip });
    } catch (error) {
      if (!(error instanceof RequestError) || (error.problems.length === 0 && error.status !== 429)) throw error;
      const { problems, retryAfter } = error;
      if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
      const problem = retryAfter !== undefined && view.t('signin.too_many', { wait: view.duration(retryAfter) });
      return sendPage(reply, view, resetPage(view, { ...returnTarget, email, problem, problems }), error.status);
    }
    return reply.redirect('/reset/sent', 303);
  });

  app.get('/reset/sent', { config }, async (request, reply) => {
    const view = request.view;
    return sendPage(reply, view, resetSentPage(view));
  });

  app.get<LinkRoute>('/reset/:token', { config }, async (request, reply) => showLink(deps, request, reply, []));

  app.post<LinkRoute>('/reset/:token', { config }, async (request, reply) => {
    const { token } = request.params;
    const { password = '' } = readForm(request.body);
    const { link } = await requireResetLink(deps, token);
    let user_id: string;
    try {
      user_id = await resetPassword(deps, token, { password, address: request.ip });
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      return showLink(deps, request, reply, error.problems);
    }
    // Only now: a session that this browser had, the reset has just ended with all others.
    const signInRequest = await signInRequestOf(deps, request, await resolveReturnTarget(deps, request, link));
    const outcome = await completeSignIn(deps, { user_id, methods: ['pwd'], secondStep: false }, signInRequest);
    return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : reply.redirect('/signin', 303);
  });
}

async function showLink(
  deps: Deps,
  request: FastifyRequest<LinkRoute>,
  reply: FastifyReply,
  problems: RequestError['problems'],
) {
  const { token } = request.params;
  const { link, user } = await requireResetLink(deps, token);
  const { endsAt, ui_locales } = await resolveReturnTarget(deps, request, link);
  const view = viewOf(deps, request, ui_locales, user.locale);
  const least = minCharacters(await passwordContext(deps, user));
  const day = (at: number) => formatDay(view.locale, at);
  const otherSignInMethods = describeSignInMethods(deps, await otherSignInMethodsOf(deps, user.user_id), day);
  const form = { token, email: user.email, least, endsAt, problems, otherSignInMethods };
  return sendPage(reply, view, newPasswordPage(view, form), problems.length > 0 ? 400 : 200);
}

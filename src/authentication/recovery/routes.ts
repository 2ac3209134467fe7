import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { dayIn, viewOf } from '../../platform/pages/view.ts';
import { leastCharacters } from '../credentials/password-policy.ts';
import type { Deps } from '../deps.ts';
import { passwordContext } from '../passwords/change-password.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import { openGoal, sendOnward, visitOf } from '../sessions/return-target.ts';
import { askReset } from './ask-reset.ts';
import { describeWays, otherWaysOf } from './other-ways.ts';
import { newPasswordPage, noResetPage, resetPage, resetSentPage } from './page.ts';
import { requireResetLink, resetPassword } from './reset-password.ts';

const config = { page: true } as const;
type OneLink = { Params: { token: string } };

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
    const goal = await openGoal(deps, request, { request_id, next });
    const view = viewOf(deps, request, goal.ui_locales);
    return sendPage(reply, view, resetPage(view, goal));
  });

  app.post('/reset', { config }, async (request, reply) => {
    const { email = '', request: request_id, next } = readForm(request.body);
    const goal = await openGoal(deps, request, { request_id, next });
    const view = viewOf(deps, request, goal.ui_locales);
    try {
      await askReset(deps, { ...goal, email, locale: view.locale, address: request.ip });
    } catch (error) {
      if (!(error instanceof RequestError) || (error.problems.length === 0 && error.status !== 429)) throw error;
      const { problems, retryAfter } = error;
      if (retryAfter !== undefined) reply.header('retry-after', retryAfter);
      const problem = retryAfter !== undefined && view.t('signin.too_many', { wait: view.lasting(retryAfter) });
      return sendPage(reply, view, resetPage(view, { ...goal, email, problem, problems }), error.status);
    }
    return reply.redirect('/reset/sent', 303);
  });

  app.get('/reset/sent', { config }, async (request, reply) => {
    const view = request.view;
    return sendPage(reply, view, resetSentPage(view));
  });

  app.get<OneLink>('/reset/:token', { config }, async (request, reply) => showLink(deps, request, reply, []));

  app.post<OneLink>('/reset/:token', { config }, async (request, reply) => {
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
    const visit = await visitOf(deps, request, await openGoal(deps, request, link));
    const outcome = await completeSignIn(deps, { user_id, methods: ['pwd'], secondStep: false }, visit);
    return outcome ? sendOnward(deps, reply, visit, outcome) : reply.redirect('/signin', 303);
  });
}

async function showLink(
  deps: Deps,
  request: FastifyRequest<OneLink>,
  reply: FastifyReply,
  problems: RequestError['problems'],
) {
  const { token } = request.params;
  const { link, user } = await requireResetLink(deps, token);
  const { endsAt, ui_locales } = await openGoal(deps, request, link);
  const view = viewOf(deps, request, ui_locales, user.locale);
  const least = leastCharacters(await passwordContext(deps, user));
  const day = (at: number) => dayIn(view.locale, at);
  const otherWays = describeWays(deps, await otherWaysOf(deps, user.user_id), day);
  const form = { token, email: user.email, least, endsAt, problems, otherWays };
  return sendPage(reply, view, newPasswordPage(view, form), problems.length > 0 ? 400 : 200);
}

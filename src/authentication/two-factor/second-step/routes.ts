import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../../platform/errors.ts';
import { clearCookie, cookie, cookieNames } from '../../../platform/http/cookies.ts';
import { readForm } from '../../../platform/http/parameters.ts';
import type { Renderable } from '../../../platform/pages/html.ts';
import { sendPage } from '../../../platform/pages/page.ts';
import { type View, viewOf } from '../../../platform/pages/view.ts';
import type { Deps } from '../../deps.ts';
import { waitingRequestOf } from '../../sessions/browser.ts';
import { type Goal, goalQuery, sendOnward, visitOf } from '../../sessions/return-target.ts';
import { checkCode } from './check-code.ts';
import { type FoundAttempt, findWaiting } from './find-waiting.ts';
import { type SecondFactorForm, secondFactorPage, signInOverPage } from './page.ts';

const config = { page: true } as const;

/** The page between the first factor and the session (decisions §9). */
export async function secondStepRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/signin/second-factor', { config }, async (request, reply) => {
    const waiting = await waitingSignIn(deps, request);
    if (!waiting) return startAgain(deps, reply);
    const backup = request.queryParameters.backup === '1';
    return sendPage(reply, waiting.view, secondFactorPage(waiting.view, { ...waiting.form, backup }));
  });

  app.post('/signin/second-factor', { config }, async (request, reply) => {
    const { code = '', backup } = readForm(request.body);
    const waiting = await waitingSignIn(deps, request);
    if (!waiting) return startAgain(deps, reply);
    const { view, form, goal, attempt_hash } = waiting;
    const again = (problem: Renderable, status: number) =>
      sendPage(reply, view, secondFactorPage(view, { ...form, problem, backup: backup === '1' }), status);
    const visit = await visitOf(deps, request, goal);
    try {
      const verdict = await checkCode(deps, attempt_hash, code, visit);
      if (verdict.kind === 'passed') return sendOnward(deps, reply, visit, verdict.outcome);
      if (verdict.kind === 'over') return startAgain(deps, reply, goal);
      if (verdict.triesLeft > 0) return again(view.t('second_factor.wrong', verdict), 401);
      clearCookie(reply, deps.config, cookieNames(deps.config).attempt);
      return sendPage(reply, view, signInOverPage(view, goal, deps.config.limits.codesPerSignIn), 401);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.code === 'access_denied' && error.say) return again(view.t(error.say.key, error.say.values), 403);
      if (error.status !== 429) throw error;
      if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
      return again(view.t('signin.too_many', { wait: view.lasting(error.retryAfter ?? 60) }), 429);
    }
  });
}

function startAgain(deps: Deps, reply: FastifyReply, goal: Goal = {}) {
  clearCookie(reply, deps.config, cookieNames(deps.config).attempt);
  return reply.redirect(`/signin${goalQuery(goal)}`, 303);
}

type Waiting = FoundAttempt & { goal: Goal; view: View; form: SecondFactorForm };

/** The sign-in that this browser is in the middle of, and how its page looks. */
export async function waitingSignIn(deps: Deps, request: FastifyRequest): Promise<Waiting | undefined> {
  const found = await findWaiting(deps, cookie(request, cookieNames(deps.config).attempt));
  if (!found) return undefined;
  const { attempt, locale, passkeys } = found;
  const pending = await waitingRequestOf(deps, request, attempt.request_id ?? undefined);
  const goal = { request_id: pending?.request_id, next: attempt.next ?? undefined };
  const form = { ...goal, endsAt: pending?.parameters.redirect_uri, passkeys };
  return { ...found, goal, form, view: viewOf(deps, request, pending?.parameters.ui_locales, locale) };
}

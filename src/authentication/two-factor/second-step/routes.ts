import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../../platform/errors.ts';
import { clearCookie, cookie, cookieNames } from '../../../platform/http/cookies.ts';
import { readForm } from '../../../platform/http/parameters.ts';
import type { Renderable } from '../../../platform/pages/html.ts';
import { sendPage } from '../../../platform/pages/page.ts';
import { type View, viewOf } from '../../../platform/pages/view.ts';
import type { Deps } from '../../deps.ts';
import { waitingRequestOf } from '../../sessions/browser.ts';
import {
  type ReturnTarget,
  redirectAfterSignIn,
  returnTargetQuery,
  signInRequestOf,
} from '../../sessions/return-target.ts';
import { checkCode } from './check-code.ts';
import { currentPendingSignIn, type FoundPendingSignIn } from './find-pending-sign-in.ts';
import { type SecondFactorForm, secondFactorPage, signInEndedPage } from './page.ts';

const config = { page: true } as const;

/** The page between the first factor and the session (decisions §9). */
export async function secondStepRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/signin/second-factor', { config }, async (request, reply) => {
    const waiting = await readPendingSignIn(deps, request);
    if (!waiting) return startAgain(deps, reply);
    const backup = request.queryParameters.backup === '1';
    return sendPage(reply, waiting.view, secondFactorPage(waiting.view, { ...waiting.form, backup }));
  });

  app.post('/signin/second-factor', { config }, async (request, reply) => {
    const { code = '', backup } = readForm(request.body);
    const waiting = await readPendingSignIn(deps, request);
    if (!waiting) return startAgain(deps, reply);
    const { view, form, returnTarget, attempt_hash } = waiting;
    const again = (problem: Renderable, status: number) =>
      sendPage(reply, view, secondFactorPage(view, { ...form, problem, backup: backup === '1' }), status);
    const signInRequest = await signInRequestOf(deps, request, returnTarget);
    try {
      const verdict = await checkCode(deps, attempt_hash, code, signInRequest);
      if (verdict.kind === 'passed') return redirectAfterSignIn(deps, reply, signInRequest, verdict.outcome);
      if (verdict.kind === 'over') return startAgain(deps, reply, returnTarget);
      if (verdict.triesLeft > 0) return again(view.t('second_factor.wrong', verdict), 401);
      clearCookie(reply, deps.config, cookieNames(deps.config).attempt);
      return sendPage(reply, view, signInEndedPage(view, returnTarget, deps.config.limits.codesPerSignIn), 401);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (error.code === 'access_denied' && error.userMessage)
        return again(view.t(error.userMessage.key, error.userMessage.values), 403);
      if (error.status !== 429) throw error;
      if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
      return again(view.t('signin.too_many', { wait: view.duration(error.retryAfter ?? 60) }), 429);
    }
  });
}

function startAgain(deps: Deps, reply: FastifyReply, returnTarget: ReturnTarget = {}) {
  clearCookie(reply, deps.config, cookieNames(deps.config).attempt);
  return reply.redirect(`/signin${returnTargetQuery(returnTarget)}`, 303);
}

type Waiting = FoundPendingSignIn & { returnTarget: ReturnTarget; view: View; form: SecondFactorForm };

/** The sign-in that this browser is in the middle of, and how its page looks. */
export async function readPendingSignIn(deps: Deps, request: FastifyRequest): Promise<Waiting | undefined> {
  const found = await currentPendingSignIn(deps, cookie(request, cookieNames(deps.config).attempt));
  if (!found) return undefined;
  const { attempt, locale, passkeys } = found;
  const pending = await waitingRequestOf(deps, request, attempt.request_id ?? undefined);
  const returnTarget = { request_id: pending?.request_id, next: attempt.next ?? undefined };
  const form = { ...returnTarget, endsAt: pending?.parameters.redirect_uri, passkeys };
  return { ...found, returnTarget, form, view: viewOf(deps, request, pending?.parameters.ui_locales, locale) };
}

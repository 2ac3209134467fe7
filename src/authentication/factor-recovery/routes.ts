import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findUser } from '../../accounts/statements.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { expectCookie, isOfBlockedCookies, requireCookie } from '../../platform/pages/cookie-check.ts';
import { alert } from '../../platform/pages/form.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { isOfFullQueue } from '../credentials/hash-queue.ts';
import type { Deps } from '../deps.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import { redirectAfterSignIn, signInRequestOf } from '../sessions/return-target.ts';
import { readPendingSignIn, recoveryRequestPath, startAgain } from '../two-factor/second-step-routes.ts';
import { setUpPath } from '../two-factor/set-up-page.ts';
import { completeRecovery, requireRecovery } from './complete-recovery.ts';
import { completePage, requestPage, stopPage, stoppedPage } from './page.ts';
import { recoverPath, stopPath } from './recovery-mails.ts';
import { recoveryStateOf, requestRecovery } from './request-recovery.ts';
import { requireRecoveryToStop, stopRecoveryByLink } from './stop-recovery.ts';

const config = { page: true } as const;
type LinkRoute = { Params: { token: string } };

/** Where the sign-in leads that follows: to a new second factor where one is required, and else to where one can be set up. */
const afterwards = `${setUpPath}?next=/account/security`;

/**
 * A user who has the password and lost every second factor: the page on which they ask for its removal, the link that stops it, and,
 * after the wait, the link that does it (decisions §14).
 */
export async function factorRecoveryRoutes(app: FastifyInstance, deps: Deps) {
  app.get(recoveryRequestPath, { config }, async (request, reply) => {
    const pending = await readPendingSignIn(deps, request);
    if (!pending) return startAgain(deps, reply);
    return sendPage(
      reply,
      pending.view,
      requestPage(pending.view, await recoveryStateOf(deps, pending.attempt), pending.form),
    );
  });

  app.post(recoveryRequestPath, { config }, async (request, reply) => {
    const pending = await readPendingSignIn(deps, request);
    if (!pending) return startAgain(deps, reply);
    const { token, attempt } = pending;
    await requestRecovery(deps, { token, attempt, address: request.ip, userAgent: request.headers['user-agent'] });
    return reply.redirect(recoveryRequestPath, 303);
  });

  const openStop = async (request: FastifyRequest, token: string) => {
    const recovery = await requireRecoveryToStop(deps, token);
    const user = await findUser(deps.db, recovery.user_id);
    return { recovery, view: viewOf(deps, request, undefined, user?.locale) };
  };

  app.get<LinkRoute>(`${stopPath}/:token`, { config }, async (request, reply) => {
    const { token } = request.params;
    const { recovery, view } = await openStop(request, token);
    return sendPage(reply, view, stopPage(view, token, recovery));
  });

  app.post<LinkRoute>(`${stopPath}/:token`, { config }, async (request, reply) => {
    const { token } = request.params;
    const { view } = await openStop(request, token);
    await stopRecoveryByLink(deps, token, request.ip);
    return sendPage(reply, view, stoppedPage(view));
  });

  const openLink = async (request: FastifyRequest, token: string) => {
    const { user } = await requireRecovery(deps, token);
    return { form: { token, email: user.email }, view: viewOf(deps, request, undefined, user.locale) };
  };

  app.get<LinkRoute>(`${recoverPath}/:token`, { config }, async (request, reply) => {
    const { form, view } = await openLink(request, request.params.token);
    expectCookie(deps, request, reply);
    return sendPage(reply, view, completePage(view, form));
  });

  app.post<LinkRoute>(`${recoverPath}/:token`, { config }, async (request, reply) => {
    const { password = '' } = readForm(request.body);
    const { token } = request.params;
    const { form, view } = await openLink(request, token);
    return answerForm(reply, view, {
      async act() {
        requireCookie(deps, request, reply); // before the link is used up
        const { deviceToken } = await signInRequestOf(deps, request, {});
        const proof = await completeRecovery(deps, token, { password, address: request.ip, deviceToken });
        if (!proof) return { ...completePage(view, { ...form, problem: alert(view.t('signin.wrong')) }), status: 401 };
        const signInRequest = await signInRequestOf(deps, request, { next: afterwards }); // all sessions have ended
        const outcome = await completeSignIn(deps, proof, signInRequest);
        return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : '/signin?stay=1';
      },
      redraw: (_, problem) => completePage(view, { ...form, problem }),
      explains: (refusal) =>
        [403, 429].includes(refusal.status) || isOfFullQueue(refusal) || isOfBlockedCookies(refusal),
    });
  });
}

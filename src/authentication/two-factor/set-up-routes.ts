import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../../platform/clock.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { alert } from '../../platform/pages/form.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { canHavePasskeys, parseCredential } from '../credentials/webauthn.ts';
import type { Deps } from '../deps.ts';
import { registerPasskey, registrationOptions } from '../passkeys/register-passkey.ts';
import { registrantOf, suggestName } from '../passkeys/routes.ts';
import { twoFactors } from '../sessions/authentication.ts';
import { pendingRequestOf } from '../sessions/browser.ts';
import { resolveReturnTarget, returnPathOf, returnTargetQuery } from '../sessions/return-target.ts';
import { administratorFactorDue, requiresSecondFactor } from '../sessions/second-factor-policy.ts';
import { enrolling } from '../sessions/session.ts';
import { confirmTotp, enrollTotp, pendingEnrollment } from './enroll-totp.ts';
import { newBackupCodesPage } from './page.ts';
import { setUpPage, setUpPath } from './set-up-page.ts';

/**
 * A user without a second factor sets one up on the way to what requires it. The use-cases are those of the account's pages,
 * with their recent sign-in, mails and events. A user who has a factor is asked for that instead, so none is replaced here.
 */
export async function setUpRoutes(app: FastifyInstance, deps: Deps) {
  app.get(setUpPath, { config: { page: true } }, async (request, reply) => {
    const { isDone, next, view, page } = await readStep(deps, request, request.queryParameters);
    return isDone ? reply.redirect(next, 303) : sendPage(reply, view, await page());
  });

  const post = (
    path: string,
    act: (step: Step, form: Parameters, request: FastifyRequest, reply: FastifyReply) => Promise<string | Page>,
  ) =>
    app.post(`${setUpPath}/${path}`, { config: { page: true, form: setUpPath } }, async (request, reply) => {
      const form = readForm(request.body);
      const step = await readStep(deps, request, form);
      return answerForm(reply, step.view, {
        act: async () => (step.isDone ? step.next : act(step, form, request, reply)),
        redraw: (_, problem) => step.page(path === 'confirm' ? 'code' : problem),
        explains: ({ status }) => status === 400 || status === 409,
      });
    });

  post('enroll', async ({ path, user: { session } }) => {
    await enrollTotp(deps, session);
    return path;
  });

  post('confirm', async ({ next, user, view }, { code = '' }) =>
    newBackupCodesPage(view, await confirmTotp(deps, user, code, false), next),
  );

  // What follows asks for the new passkey: nothing has been signed with it yet.
  post('passkey', async ({ next }, { credential, name = '' }, request, reply) => {
    const registrant = await registrantOf(deps, request, reply);
    await registerPasskey(deps, registrant, { credential: parseCredential(credential), name });
    return next;
  });

  app.post(`${setUpPath}/passkey/options`, async (request, reply) =>
    registrationOptions(deps, await registrantOf(deps, request, reply)),
  );
}

type Step = Awaited<ReturnType<typeof readStep>>;

async function readStep(deps: Deps, request: FastifyRequest, { request: request_id, next }: Parameters) {
  const user = await enrolling.authenticate(deps, request);
  const { session } = user;
  const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
  const pending = await pendingRequestOf(deps, request, returnTarget.request_id);
  const view = viewOf(deps, request, returnTarget.ui_locales, session.locale);
  return {
    user,
    view,
    isDone: session.acr === twoFactors,
    next: returnPathOf(returnTarget),
    path: `${setUpPath}${returnTargetQuery(returnTarget)}`,
    /** @param problem `code`: of the code that was typed, the last of which ends the pending secret. */
    async page(problem?: Html | false | 'code') {
      const due = await administratorFactorDue(deps, session);
      const enrollment = await pendingEnrollment(deps, { ...session, locale: view.locale });
      return setUpPage(view, {
        ...returnTarget,
        user_id: session.user_id,
        isRequired: requiresSecondFactor(deps) || (due !== undefined && now(deps) >= due),
        isEssential: pending?.parameters.essential_acrs !== undefined,
        enrollment,
        canHavePasskeys: canHavePasskeys(deps.config),
        suggestedName: suggestName(request),
        codeProblem: problem === 'code' && enrollment && view.t('totp.wrong'),
        problem: problem === 'code' ? !enrollment && alert(view.t('totp.nothing_pending')) : problem,
      });
    },
  };
}

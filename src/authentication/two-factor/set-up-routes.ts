import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../../platform/clock.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { alert } from '../../platform/pages/form.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { canHavePasskeys, parseCredential } from '../credentials/webauthn.ts';
import type { Deps, WaitingRequest } from '../deps.ts';
import { registerPasskey, registrationOptions } from '../passkeys/register-passkey.ts';
import { registrantOf, suggestName } from '../passkeys/routes.ts';
import { twoFactors } from '../sessions/authentication.ts';
import { pendingRequestOf } from '../sessions/browser.ts';
import { resolveReturnTarget, returnPathOf, returnTargetQuery } from '../sessions/return-target.ts';
import { administratorFactorDue, requiresSecondFactor } from '../sessions/second-factor-policy.ts';
import { enrolling } from '../sessions/session.ts';
import type { Session } from '../sessions/store.ts';
import { confirmTotp, enrollTotp, pendingEnrollment } from './enroll-totp.ts';
import { newBackupCodesPage } from './page.ts';
import { type SetUpReason, setUpPage, setUpPath } from './set-up-page.ts';

/**
 * A user without a second factor sets one up on the way to what requires it. The use-cases are those of the account's pages,
 * with their recent sign-in, mails and events. A user who has a factor is asked for that instead, so none is replaced here;
 * where nothing requires one, the browser goes on.
 */
export async function setUpRoutes(app: FastifyInstance, deps: Deps) {
  app.get(setUpPath, { config: { page: true } }, async (request, reply) => {
    const { page, next, view } = await readStep(deps, request, request.queryParameters);
    return page ? sendPage(reply, view, await page()) : reply.redirect(next, 303);
  });

  const post = (
    path: string,
    act: (step: Step, form: Parameters, request: FastifyRequest, reply: FastifyReply) => Promise<string | Page>,
  ) =>
    app.post(`${setUpPath}/${path}`, { config: { page: true, form: setUpPath, formQuery } }, async (request, reply) => {
      const form = readForm(request.body);
      const step = await readStep(deps, request, form);
      const { page, next, view } = step;
      if (!page) return reply.redirect(next, 303);
      return answerForm(reply, view, {
        act: () => act(step, form, request, reply),
        redraw: (_, problem) => page(path === 'confirm' ? 'code' : problem),
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

/** The page of the form is another one for another return target. */
const formQuery = ['request', 'next'];

type Step = Awaited<ReturnType<typeof readStep>>;

async function readStep(deps: Deps, request: FastifyRequest, { request: request_id, next }: Parameters) {
  const user = await enrolling.authenticate(deps, request);
  const { session } = user;
  const returnTarget = await resolveReturnTarget(deps, request, { request_id, next });
  const pending = await pendingRequestOf(deps, request, returnTarget.request_id);
  const view = viewOf(deps, request, returnTarget.ui_locales, session.locale);
  const reason = await reasonFor(deps, session, pending);
  return {
    user,
    view,
    next: returnPathOf(returnTarget),
    path: `${setUpPath}${returnTargetQuery(returnTarget)}`,
    /**
     * Undefined if there is nothing to set up.
     * @param problem `code`: of the code that was typed, the last of which ends the pending secret.
     */
    page:
      reason &&
      (async (problem?: Html | false | 'code') => {
        const enrollment = await pendingEnrollment(deps, { ...session, locale: view.locale });
        return setUpPage(view, {
          ...returnTarget,
          user_id: session.user_id,
          reason,
          enrollment,
          canHavePasskeys: canHavePasskeys(deps.config),
          suggestedName: suggestName(request),
          codeProblem: problem === 'code' && enrollment && view.t('totp.wrong'),
          problem: problem === 'code' ? !enrollment && alert(view.t('totp.nothing_pending')) : problem,
        });
      }),
  };
}

/** @returns undefined where no second factor is required, and for a session that has one. */
async function reasonFor(
  deps: Deps,
  session: Session,
  pending: WaitingRequest | undefined,
): Promise<SetUpReason | undefined> {
  if (session.acr === twoFactors) return undefined;
  if (requiresSecondFactor(deps)) return 'service';
  if (pending) return (await deps.authorizationRequests.requiresTwoFactors(pending)) ? 'client' : undefined;
  const due = await administratorFactorDue(deps, session);
  if (due !== undefined && now(deps) >= due) return 'service';
  return due !== undefined || deps.config.secondFactorFrom !== undefined ? 'soon' : undefined;
}

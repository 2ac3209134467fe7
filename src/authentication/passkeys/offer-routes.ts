import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import { parseCredential } from '../credentials/webauthn.ts';
import type { Deps } from '../deps.ts';
import { twoFactors } from '../sessions/authentication.ts';
import { pendingRequestOf } from '../sessions/browser.ts';
import { cancelForm } from '../sessions/page.ts';
import {
  continuesTo,
  type ForApp,
  offerOnTheWayPath,
  offerSeconds,
  type ReturnTarget,
  resolveReturnTarget,
  returnPathOf,
  returnTargetFields,
} from '../sessions/return-target.ts';
import { requiresSecondFactor } from '../sessions/second-factor-policy.ts';
import { requireFirstFactor } from '../sessions/session.ts';
import { passkeyForm, passkeyScripts } from './page.ts';
import { registerPasskey, registrationOptions } from './register-passkey.ts';
import { isWithoutPasskey, registrantOf, suggestName } from './routes.ts';

/**
 * On the way to an application, once for a browser in some weeks: a user who has just typed a password is offered a passkey on a device
 * that can have one. It blocks no sign-in: the application is one click away, and who needs no offer never sees the page.
 */
export async function passkeyOfferRoutes(app: FastifyInstance, deps: Deps) {
  const readOffer = async (request: FastifyRequest, reply: FastifyReply, { request: request_id }: Parameters) => {
    const session = await requireFirstFactor(deps, request);
    const returnTarget = await resolveReturnTarget(deps, request, { request_id });
    const waiting = await pendingRequestOf(deps, request, returnTarget.request_id);
    const next = returnPathOf(returnTarget);
    // An application that asks for a fresh sign-in or a second factor has its user do enough already, and so has an operator.
    const setsUpLater = requiresSecondFactor(deps) && session.acr !== twoFactors;
    const isOffered =
      waiting !== undefined &&
      !setsUpLater &&
      !(await deps.authorizationRequests.asksSecondFactor(waiting)) &&
      (await isWithoutPasskey(deps, session));
    const view = viewOf(deps, request, returnTarget.ui_locales, session.locale);
    if (isOffered) setCookie(reply, deps.config, cookieNames(deps.config).passkeyOffer, session.user_id, offerSeconds);
    const form = { ...returnTarget, next: undefined, suggestedName: suggestName(request), path: next };
    return {
      next,
      view,
      page: isOffered ? (problem?: Html | false) => offerPage(view, { ...form, problem }) : undefined,
    };
  };

  app.get(offerOnTheWayPath, { config: { page: true } }, async (request, reply) => {
    const { next, view, page } = await readOffer(request, reply, request.queryParameters);
    return page ? sendPage(reply, view, page()) : reply.redirect(next, 303);
  });

  app.post(
    offerOnTheWayPath,
    { config: { page: true, form: offerOnTheWayPath, formQuery: ['request'] } },
    async (request, reply) => {
      const form = readForm(request.body);
      const { credential, name = '' } = form;
      const { next, view, page } = await readOffer(request, reply, form);
      if (!page) return reply.redirect(next, 303);
      return answerForm(reply, view, {
        async act() {
          const registrant = await registrantOf(deps, request, reply);
          await registerPasskey(deps, registrant, { credential: parseCredential(credential), name });
          return next;
        },
        redraw: (_, problem) => page(problem),
        explains: ({ status }) => status === 400 || status === 409,
      });
    },
  );

  app.post(`${offerOnTheWayPath}/options`, async (request, reply) =>
    registrationOptions(deps, await registrantOf(deps, request, reply)),
  );
}

type OfferForm = ReturnTarget &
  ForApp & {
    endsAt: string | undefined;
    suggestedName: string;
    /** Where the application is. */
    path: string;
    problem?: Html | false;
  };

const offerPage = (view: View, form: OfferForm): Page => ({
  title: view.plain('passkey.offer.title'),
  endsAt: form.endsAt,
  scripts: passkeyScripts,
  content: html`<h1>${view.t('passkey.offer.title')}</h1>
${continuesTo(view, form)}
<p>${view.t('passkey.offer')}</p>
${form.problem}
${passkeyForm(view, {
  action: offerOnTheWayPath,
  ceremony: 'create',
  button: view.t('passkey.add'),
  fields: html`${returnTargetFields(form)}${hidden('name', form.suggestedName)}`,
})}
<p class="actions"><a class="button quiet" id="passkey-offer-not" href="${form.path}">${view.t('passkey.offer.no')}</a></p>
${cancelForm(view, form)}`,
});

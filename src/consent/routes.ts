import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { invalidRequest } from '../errors.ts';
import { sendPage } from '../http/page.ts';
import { parseParameters, queryOf, readForm } from '../http/parameters.ts';
import { viewOf } from '../http/view.ts';
import { AuthorizationError } from '../oauth/authorize/authorization-error.ts';
import { authorizeClientAgain } from '../oauth/authorize/authorization-request.ts';
import { refuse } from '../oauth/authorize/authorize.ts';
import { requirePendingRequest } from '../oauth/authorize/browser.ts';
import { currentSession } from '../sessions/session.ts';
import { giveConsent } from './give-consent.ts';
import { consentPage } from './page.ts';
import { registeredBy } from './registered-by.ts';

const config = { page: true } as const;

/** The question whether a client may learn about a person (OIDC Core §3.1.2.4). */
export async function consentRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/consent', { config }, async (request, reply) => {
    const pending = await requirePendingRequest(deps, request, parseParameters(queryOf(request.url)).values.request);
    const session = await currentSession(deps, request);
    if (!session) return reply.redirect(`/signin?request=${pending.request_id}`, 303);
    const { client } = await authorizeClientAgain(deps, pending.parameters); // it may have been suspended meanwhile
    const view = viewOf(deps, request, pending.parameters.ui_locales, session.locale);
    return sendPage(
      reply,
      view,
      consentPage(view, {
        request_id: pending.request_id,
        user_id: session.user_id,
        clientName: client.name,
        registeredBy: await registeredBy(deps, client),
        redirectHost: new URL(pending.parameters.redirect_uri).host,
        email: session.email,
        scope: pending.parameters.scope.split(' '),
        endsAt: pending.parameters.redirect_uri,
      }),
    );
  });

  app.post('/consent', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const pending = await requirePendingRequest(deps, request, form.request);
    const session = await currentSession(deps, request);
    reply.header('cache-control', 'no-store');
    if (!session) return reply.redirect(`/signin?request=${pending.request_id}`, 303);
    // Somebody else has signed in since the page was drawn: they have not been asked.
    if (form.user !== undefined && form.user !== session.user_id) {
      return reply.redirect(`/consent?request=${pending.request_id}`, 303);
    }
    await authorizeClientAgain(deps, pending.parameters);
    if (form.decision === 'allow') {
      await giveConsent(deps, session, pending);
      return reply.redirect(`/oauth/authorize/continue?request=${pending.request_id}`, 303);
    }
    if (form.decision !== 'deny') throw invalidRequest('decision must be allow or deny.');
    const denial = new AuthorizationError('access_denied', 'The person did not allow this.');
    return reply.redirect((await refuse(deps, pending.parameters, denial, pending)).location, 303);
  });
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { currentSession, type Session } from '../../authentication/sessions/session.ts';
import type { Client } from '../../clients/client.ts';
import { registeredBy } from '../../clients/presentation.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { AuthorizationError } from '../authorize/authorization-error.ts';
import { recheckClient } from '../authorize/authorization-request.ts';
import { findStep, redirectWithError } from '../authorize/authorize.ts';
import { requirePendingRequest } from '../authorize/browser.ts';
import type { Deps } from '../deps.ts';
import { consentPage } from './consent-page.ts';
import { giveConsent } from './give-consent.ts';
import type { PendingRequest } from './store.ts';

const config = { page: true } as const;

type Asked = { pending: PendingRequest; client: Client; session: Session };

/** The question whether a client may learn about a person (OIDC Core §3.1.2.4). */
export async function consentRoutes(app: FastifyInstance, deps: Deps) {
  /**
   * Whoever is to be asked now: a request that still wants a sign-in, or has its answer already, is not to be answered
   * here, however somebody came to this address.
   * @returns else the path where the request goes on.
   */
  async function whoIsAsked(request: FastifyRequest, pending: PendingRequest): Promise<Asked | string> {
    const { client } = await recheckClient(deps, pending.parameters); // it may have been suspended meanwhile
    const session = await currentSession(deps, request);
    if (!session) return `/signin?request=${pending.request_id}`;
    try {
      const step = await findStep(deps, pending.parameters, { client, session, pending });
      return step === 'consent' ? { pending, client, session } : onward(pending);
    } catch (error) {
      if (error instanceof AuthorizationError) return onward(pending); // there the client is told
      throw error;
    }
  }

  app.get('/consent', { config }, async (request, reply) => {
    const pending = await requirePendingRequest(deps, request, request.queryParameters.request);
    const asked = await whoIsAsked(request, pending);
    if (typeof asked === 'string') return reply.redirect(asked, 303);
    const { client, session } = asked;
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
    const asked = await whoIsAsked(request, pending);
    if (typeof asked === 'string') return reply.redirect(asked, 303);
    // The answer of another user than the one who is signed in now, or of nobody in particular, is no answer.
    if (form.user !== asked.session.user_id) {
      return reply.redirect(`/consent?request=${pending.request_id}`, 303);
    }
    if (form.decision === 'allow') {
      await giveConsent(deps, asked.session, pending);
      return reply.redirect(onward(pending), 303);
    }
    if (form.decision !== 'deny') throw invalidRequest('decision must be allow or deny.');
    const denial = new AuthorizationError('access_denied', 'The person did not allow this.');
    return reply.redirect((await redirectWithError(deps, pending.parameters, denial, pending)).location, 303);
  });
}

const onward = ({ request_id }: PendingRequest): string => `/oauth/authorize/continue?request=${request_id}`;

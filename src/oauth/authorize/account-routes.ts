import type { FastifyInstance } from 'fastify';
import { returnPathOf } from '../../authentication/sessions/return-target.ts';
import { currentSession } from '../../authentication/sessions/session.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import type { Deps } from '../deps.ts';
import { accountChoicePage } from './account-page.ts';
import { requirePendingRequest } from './browser.ts';
import { selectAccount } from './select-account.ts';

const config = { page: true } as const;

/** The account chooser: `prompt=select_account` (OIDC Core §3.1.2.1). */
export async function accountChoiceRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/signin/account', { config }, async (request, reply) => {
    const { request: request_id } = request.queryParameters;
    const pending = await requirePendingRequest(deps, request, request_id);
    const session = await currentSession(deps, request);
    if (!session) return reply.redirect(`/signin?request=${pending.request_id}`, 303);
    const { client_id, redirect_uri: endsAt } = pending.parameters;
    const clientName = (await deps.clients.find(client_id))?.name ?? '';
    const view = viewOf(deps, request, pending.parameters.ui_locales, session.locale);
    const { user_id, email } = session;
    const choice = { request_id: pending.request_id, clientName, endsAt, user_id, email };
    return sendPage(reply, view, accountChoicePage(view, choice));
  });

  app.post('/signin/account', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const pending = await requirePendingRequest(deps, request, form.request);
    const session = await currentSession(deps, request);
    // "Continue as" names one account; if another one is signed in by now, its user has not been asked.
    if (session && form.user !== session.user_id) {
      return reply.redirect(`/signin/account?request=${pending.request_id}`, 303);
    }
    if (session) await selectAccount(deps, pending, session.user_id);
    return reply.redirect(returnPathOf({ request_id: pending.request_id, next: undefined }), 303);
  });
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { addMissing } from '../../attributes/change-attributes.ts';
import { attributeFields, attributesIn, problemsInFields } from '../../attributes/fields.ts';
import { missingOf } from '../../attributes/values.ts';
import { cancelForm } from '../../authentication/sessions/page.ts';
import { continuesTo } from '../../authentication/sessions/return-target.ts';
import { currentSession } from '../../authentication/sessions/session.ts';
import type { Session } from '../../authentication/statements.ts';
import { appForUsers } from '../../clients/presentation.ts';
import type { FieldProblem } from '../../platform/errors.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { betweenSentences } from '../../platform/i18n/formats.ts';
import { fieldAlert, hidden } from '../../platform/pages/form.ts';
import { html, untrustedEmail } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import type { Deps } from '../deps.ts';
import { findStep } from './authorize.ts';
import { recheckClient } from './authorize-client.ts';
import { continuePath, requirePendingRequest } from './pending-routes.ts';
import type { PendingRequest } from './store.ts';

const page = { page: true } as const;
const path = '/signin/details';

/**
 * Asks for attributes that everyone has to have, however the account was made: by a provider, an import, a directory, or a sign-up from before
 * they were required.
 */
export function detailsRoutes(app: FastifyInstance, deps: Deps): void {
  /** @returns undefined if nothing is asked for now. */
  async function asked(request: FastifyRequest, pending: PendingRequest) {
    const { client } = await recheckClient(deps, pending.parameters, request.ip);
    const session = await currentSession(deps, request);
    const step = await findStep(deps, pending.parameters, { client, session, pending });
    if (!session || step !== 'details') return undefined;
    const missing = missingOf(await deps.attributes.read(), session.attributes);
    const view = viewOf(deps, request, pending.parameters.ui_locales, session.locale);
    const draw = (form?: Parameters, problems: readonly FieldProblem[] = []) =>
      detailsPage(view, { pending, app: appForUsers(client), session, missing, form, problems });
    return { session, missing, view, draw };
  }

  app.get(path, { config: page }, async (request, reply) => {
    const pending = await requirePendingRequest(deps, request, request.queryParameters.request);
    const now = await asked(request, pending);
    return now ? sendPage(reply, now.view, now.draw()) : reply.redirect(continuePath(pending), 303);
  });

  app.post(path, { config: page }, async (request, reply) => {
    const form = readForm(request.body);
    const pending = await requirePendingRequest(deps, request, form.request);
    const now = await asked(request, pending);
    if (!now) return reply.redirect(continuePath(pending), 303);
    // Another user may have signed in since the page was drawn.
    if (form.user !== now.session.user_id) return reply.redirect(`${path}?request=${pending.request_id}`, 303);
    return answerForm(reply, now.view, {
      async act() {
        const { user_id } = now.session;
        const caller = { actor: `user:${user_id}`, address: request.ip } as const;
        await addMissing(deps, now.session, attributesIn(now.missing, form), caller);
        return continuePath(pending);
      },
      redraw: ({ problems }) => now.draw(form, problems),
    });
  });
}

type Details = {
  pending: PendingRequest;
  app: { clientName: string; clientLogo: string | undefined };
  session: Session;
  missing: ReturnType<typeof missingOf>;
  form: Parameters | undefined;
  problems: readonly FieldProblem[];
};

function detailsPage(view: View, { pending, app, session, missing, form, problems: refused }: Details): Page {
  const { request_id, parameters } = pending;
  const problems = problemsInFields(view, missing, refused);
  return {
    title: view.plain('details.title'),
    endsAt: parameters.redirect_uri,
    content: html`<h1>${view.t('details.title')}</h1>
${continuesTo(view, app)}
<p class="soft">${view.t('details.what', { service: view.branding.name })}${betweenSentences(view.locale)}${view.t('details.as', { email: untrustedEmail(session.email) })}</p>
${fieldAlert(view, problems)}
<form method="post" action="${path}">
${hidden('request', request_id)}${hidden('user', session.user_id)}
${attributeFields(view, missing, { stored: null, typed: form, problems })}
<button type="submit" id="details-submit">${view.t('details.submit')}</button>
</form>
${cancelForm(view, { request_id, ...app })}`,
  };
}

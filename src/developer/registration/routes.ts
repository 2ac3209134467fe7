import type { FastifyInstance, FastifyReply } from 'fastify';
import { type DeveloperContext, developerContext } from '../../authentication/sessions/developer.ts';
import { hasTooManyPending } from '../../clients/find-clients.ts';
import { registerClient } from '../../clients/register-client.ts';
import { readRegistration } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import type { Html } from '../../platform/pages/html.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { clientPath } from '../client-status.ts';
import { secretPage } from '../secrets/page.ts';
import { editBodyOf, emptyForm, type FormValues, readFormValues } from './form-values.ts';
import { registrationPage } from './page.ts';

const config = { page: true, form: '/developer/register' } as const;

export async function developerRegistrationRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/developer/register', { config }, async (request, reply) => {
    const { view, owner } = await developerContext(deps, request);
    const refusal = (await hasTooManyPending(deps, owner.owner_user_id))
      ? view.t('developer.limit.pending', { most: deps.config.limits.pendingClients })
      : undefined;
    return sendPage(reply, view, registrationPage(view, { formValues: emptyForm, refusal }));
  });

  app.post('/developer/register', { config }, async (request, reply) => {
    const context = await developerContext(deps, request);
    const formValues = readFormValues(readForm(request.body));
    try {
      const registration = readRegistration({ ...editBodyOf(formValues), client_type: formValues.client_type });
      const { client, client_secret } = await registerClient(deps, context.owner, registration);
      if (client_secret === null) {
        return reply.redirect(`${clientPath(client)}?done=registered`, 303);
      }
      const { baseUrl } = deps.config;
      const shown = { client, client_secret, issuer: baseUrl, reason: 'registered' } as const;
      return sendPage(reply, context.view, secretPage(context.view, shown));
    } catch (error) {
      return showAgain(deps, { error, reply, context, formValues });
    }
  });
}

type Refused = { error: unknown; reply: FastifyReply; context: DeveloperContext; formValues: FormValues };

/** With everything that was typed, and what to do about it. */
async function showAgain(deps: Deps, { error, reply, context: { view, owner }, formValues }: Refused) {
  if (!(error instanceof RequestError)) throw error;
  if (error.code === 'rate_limited') {
    reply.header('retry-after', error.retryAfter ?? 60);
    const refusal: Html = (await hasTooManyPending(deps, owner.owner_user_id))
      ? view.t('developer.limit.pending', { most: deps.config.limits.pendingClients })
      : view.t('developer.limit.hour', { wait: view.duration(error.retryAfter ?? 60) });
    return sendPage(reply, view, registrationPage(view, { formValues, refusal }), error.status);
  }
  if (error.problems.length === 0) throw error;
  return sendPage(reply, view, registrationPage(view, { formValues, problems: error.problems }), error.status);
}

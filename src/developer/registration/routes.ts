import type { FastifyInstance } from 'fastify';
import { hasTooManyPending } from '../../clients/find-clients.ts';
import { registerClient } from '../../clients/register-client.ts';
import { readRegistration } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { clientPath } from '../client-status.ts';
import { clientOwner } from '../owner.ts';
import { secretPage } from '../secrets/page.ts';
import { editBodyOf, emptyForm, readFormValues, registrationPage } from './page.ts';

const path = '/developer/register';

export async function developerRegistrationRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, clientOwner);
  const most = deps.config.limits.pendingClients;

  pages.show(path, async ({ view, owner }) => {
    const refusal = (await hasTooManyPending(deps, owner.owner_user_id))
      ? view.t('developer.limit.pending', { most })
      : undefined;
    return registrationPage(view, { formValues: emptyForm, refusal });
  });

  pages.post(path, {
    page: path,
    async act({ view, owner }, form) {
      const formValues = readFormValues(form);
      const registration = readRegistration({ ...editBodyOf(formValues), client_type: formValues.client_type });
      const { client, client_secret } = await registerClient(deps, owner, registration);
      if (client_secret === null) return `${clientPath(client)}?done=registered`;
      return secretPage(view, { client, client_secret, issuer: deps.config.baseUrl, reason: 'registered' });
    },
    explains: ({ code, problems }) => code === 'rate_limited' || problems.length > 0,
    async redraw({ view, owner }, { refusal: { code, problems, retryAfter = 60 }, form }) {
      const formValues = readFormValues(form);
      if (code !== 'rate_limited') return registrationPage(view, { formValues, problems });
      const refusal = (await hasTooManyPending(deps, owner.owner_user_id))
        ? view.t('developer.limit.pending', { most })
        : view.t('developer.limit.hour', { wait: view.duration(retryAfter) });
      return registrationPage(view, { formValues, refusal });
    },
  });
}

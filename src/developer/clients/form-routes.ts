import type { FastifyInstance } from 'fastify';
import type { Client } from '../../clients/client.ts';
import { editClient, withdrawChange } from '../../clients/edit-client.ts';
import { findOwnClient, hasTooManyPending } from '../../clients/find-clients.ts';
import { kinds } from '../../clients/libraries/library.ts';
import { registerClient } from '../../clients/register-client.ts';
import { readClientEdit, readRegistration } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import type { RequestError } from '../../platform/errors.ts';
import type { Access } from '../../platform/http/access.ts';
import { type PageContext, pagesFor } from '../../platform/pages/page-routes.ts';
import { type ClientArea, clientPath } from '../navigation.ts';
import type { ClientManager } from '../owner.ts';
import { secretPage } from '../secrets/page.ts';
import { choiceIn, choicePage, formFor } from './choice-page.ts';
import { askedFirst, bodyOf, formValuesOf, readFormValues } from './form-values.ts';
import { editPage, registrationPage } from './page.ts';

/** The forms with which clients are registered and edited, for owners and, for clients without one, for administrators. */
export async function clientFormRoutes(
  app: FastifyInstance,
  deps: Deps,
  access: Access<Deps, ClientManager>,
  area: ClientArea,
) {
  const pages = pagesFor(app, deps, access);
  const { registerPath, clientPath: base } = area;
  const maxPending = () => deps.config.limits.pendingClients;
  const isFull = async ({ owner_user_id }: ClientManager['owner']) =>
    owner_user_id !== null && (await hasTooManyPending(deps, owner_user_id));
  const clientOf = ({ client_id, owner }: FormContext): Promise<Client> =>
    findOwnClient(deps, client_id, owner.owner_user_id);

  pages.show(registerPath, async ({ view, owner, query }) => {
    const refusal = (await isFull(owner)) && view.t('developer.limit.pending', { max: maxPending() });
    const choice = choiceIn(query);
    if (choice === undefined) return choicePage(view, area, refusal);
    return registrationPage(
      view,
      area,
      { formValues: formFor(choice), scopes: await deps.scopes.read(), refusal },
      { kind: choice.kind, isWhole: query.settings === 'all' },
    );
  });
  pages.post(registerPath, {
    page: registerPath,
    async act({ view, owner }, form) {
      const registration = readRegistration(bodyOf(readFormValues(form)));
      const { client, client_secret } = await registerClient(deps, owner, registration);
      if (client_secret === null) return `${clientPath(client, area)}?done=registered`;
      return secretPage(view, { area, client, client_secret, issuer: deps.config.baseUrl, reason: 'registered' });
    },
    explains: ({ code, problems }) => code === 'rate_limited' || problems.length > 0,
    async redraw({ view, owner }, { refusal: { code, problems, retryAfter = 60 }, form }) {
      const formValues = readFormValues(form);
      const scopes = await deps.scopes.read();
      // What is wrong behind the form is shown in the one that asks for everything.
      const isWhole = problems.some(({ path }) => !askedFirst.some((name) => path.split('/')[0] === name));
      const asked = { kind: kinds.find((known) => known === form.kind), isWhole };
      if (code !== 'rate_limited') return registrationPage(view, area, { formValues, scopes, problems }, asked);
      const refusal = (await isFull(owner))
        ? view.t('developer.limit.pending', { max: maxPending() })
        : view.t('developer.limit.hour', { wait: view.duration(retryAfter) });
      return registrationPage(view, area, { formValues, scopes, refusal }, asked);
    },
  });

  const editPath = `${base}/edit` as const;
  pages.show(editPath, async (context) => {
    const client = await clientOf(context);
    return editPage(context.view, area, client, { formValues: formValuesOf(client), scopes: await deps.scopes.read() });
  });
  pages.post(editPath, {
    page: editPath,
    async act(context, form) {
      const before = await clientOf(context);
      const { client_type: _, ...edit } = bodyOf(readFormValues(form));
      const revision = Number(form.revision);
      const target = { client_id: before.client_id, ...context.owner };
      const client = await editClient(deps, target, readClientEdit({ ...edit, revision }));
      return `${clientPath(client, area)}?done=${doneBy(before, client, revision)}`;
    },
    explains: ({ code, problems }) => problems.length > 0 || code === 'stale_revision' || code === 'rate_limited',
    async redraw(context, { refusal, form }) {
      const client = await clientOf(context);
      return editPage(context.view, area, client, {
        formValues: readFormValues(form),
        scopes: await deps.scopes.read(),
        problems: refusal.problems,
        refusal: await alertFor(refusal, client, context),
      });
    },
  });

  pages.post(`${base}/withdraw`, {
    page: editPath,
    async act(context) {
      const { client_id, revision } = await clientOf(context);
      const client = await withdrawChange(deps, { client_id, ...context.owner });
      return `${clientPath(client, area)}?done=${client.revision === revision ? 'unchanged' : 'withdrawn'}`;
    },
  });

  /** For a refusal of the edit as a whole, rather than of one of its fields. */
  async function alertFor({ code, retryAfter = 60 }: RequestError, client: Client, { view, owner }: FormContext) {
    if (code === 'stale_revision') return view.t('developer.edit.stale');
    if (code !== 'rate_limited') return undefined;
    return client.status === 'rejected' && (await isFull(owner))
      ? view.t('developer.edit.pending', { max: maxPending() })
      : view.t('signin.too_many', { wait: view.duration(retryAfter) });
  }
}

/** @param revision that the form was about. */
function doneBy(before: Client, after: Client, revision: number) {
  if (after.revision === revision) return 'unchanged';
  if (after.pending_change !== null) return 'staged';
  if (before.pending_change !== null) return 'withdrawn';
  return before.status === 'rejected' ? 'resubmitted' : 'saved';
}

type FormContext = PageContext<ClientManager, ClientArea['clientPath']>;

import type { FastifyInstance } from 'fastify';
import {
  type DeveloperContext,
  developerContext,
  recentDeveloperContext,
} from '../../authentication/sessions/developer.ts';
import { approvedFields, type Client } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { findOwnClient, hasTooManyPending, listOwnClients } from '../../clients/find-clients.ts';
import { readClientEdit } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { normalizeName } from '../../platform/text/visible-text.ts';
import { clientHistory } from '../activity/activity.ts';
import { clientPath } from '../client-status.ts';
import { editBodyOf, formValuesOf, readFormValues } from '../registration/form-values.ts';
import { settingsPage } from '../settings/page.ts';
import { deletePage } from './delete-page.ts';
import { editPage } from './edit-page.ts';
import { clientListPage } from './list-page.ts';
import { clientPage } from './page.ts';

type ClientRoute = { Params: { client_id: string } };

const base = '/developer/clients/:client_id';
const pageOf = (form: string) => ({ config: { page: true, form } }) as const;

/** The list of a person's clients, and the pages of each one. */
export async function developerClientRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/developer', pageOf('/developer'), async (request, reply) => {
    const { view, owner, query } = await developerContext(deps, request);
    const clients = await listOwnClients(deps, owner.owner_user_id);
    return sendPage(reply, view, clientListPage(view, clients, query.done === 'deleted'));
  });

  app.get<ClientRoute>(base, pageOf(base), async (request, reply) => {
    const context = await developerContext(deps, request);
    const client = await clientOf(deps, request.params, context);
    const history = await clientHistory(deps, client.client_id);
    return sendPage(reply, context.view, clientPage(context.view, { client, history, done: context.query.done }));
  });

  app.get<ClientRoute>(`${base}/settings`, pageOf(base), async (request, reply) => {
    const context = await developerContext(deps, request);
    const client = await clientOf(deps, request.params, context);
    return sendPage(reply, context.view, settingsPage(context.view, client, deps.config.baseUrl));
  });

  await editRoutes(app, deps);
  await deleteRoutes(app, deps);
}

async function editRoutes(app: FastifyInstance, deps: Deps) {
  const form = `${base}/edit`;

  app.get<ClientRoute>(form, pageOf(form), async (request, reply) => {
    const context = await developerContext(deps, request);
    const client = await clientOf(deps, request.params, context);
    return sendPage(reply, context.view, editPage(context.view, { client, formValues: formValuesOf(client) }));
  });

  app.post<ClientRoute>(form, pageOf(form), async (request, reply) => {
    const context = await developerContext(deps, request);
    const before = await clientOf(deps, request.params, context);
    const posted = readForm(request.body);
    const formValues = readFormValues(posted);
    const target = { client_id: before.client_id, ...context.owner };
    try {
      const edit = readClientEdit({ ...editBodyOf(formValues), revision: Number(posted.revision) });
      const client = await editClient(deps, target, edit);
      const done = client.pending_change === null ? 'saved' : 'staged';
      return reply.redirect(`${clientPath(client)}?done=${done}`, 303);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      const client = await clientOf(deps, request.params, context);
      const refusal = await alertFor(deps, error, client, context);
      if (refusal === undefined && error.problems.length === 0) throw error;
      if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
      const again = editPage(context.view, { client, formValues, problems: error.problems, refusal });
      return sendPage(reply, context.view, again, error.status);
    }
  });

  app.post<ClientRoute>(`${base}/withdraw`, pageOf(form), async (request, reply) => {
    const context = await developerContext(deps, request);
    const client = await clientOf(deps, request.params, context);
    // A client that nobody has approved has no other values than its own, so there this changes nothing.
    const edit = { fields: approvedFields(client), revision: client.revision };
    await editClient(deps, { client_id: client.client_id, ...context.owner }, edit);
    return reply.redirect(`${clientPath(client)}?done=withdrawn`, 303);
  });
}

/** For a refusal that goes with what was typed, rather than with one of its fields. */
async function alertFor(deps: Deps, error: RequestError, client: Client, { view, owner }: DeveloperContext) {
  if (error.code === 'stale_revision') return view.t('developer.edit.stale');
  if (error.code !== 'rate_limited') return undefined;
  return client.status === 'rejected' && (await hasTooManyPending(deps, owner.owner_user_id))
    ? view.t('developer.edit.pending', { most: deps.config.limits.pendingClients })
    : view.t('signin.too_many', { wait: view.duration(error.retryAfter ?? 60) });
}

async function deleteRoutes(app: FastifyInstance, deps: Deps) {
  const form = `${base}/delete`;

  app.get<ClientRoute>(form, pageOf(form), async (request, reply) => {
    const context = await recentDeveloperContext(deps, request);
    const client = await clientOf(deps, request.params, context);
    return sendPage(reply, context.view, deletePage(context.view, client, false));
  });

  app.post<ClientRoute>(form, pageOf(form), async (request, reply) => {
    const context = await recentDeveloperContext(deps, request);
    const client = await clientOf(deps, request.params, context);
    const { name = '' } = readForm(request.body);
    if (normalizeName(name) !== client.name) {
      return sendPage(reply, context.view, deletePage(context.view, client, true), 400);
    }
    await deleteClient(deps, { client_id: client.client_id, ...context.owner });
    return reply.redirect('/developer?done=deleted', 303);
  });
}

/** @throws {RequestError} `not_found`, as for an unknown client, when it is somebody else's. */
const clientOf = (deps: Deps, { client_id }: ClientRoute['Params'], { owner }: DeveloperContext): Promise<Client> =>
  findOwnClient(deps, client_id, owner.owner_user_id);

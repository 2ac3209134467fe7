import type { FastifyInstance } from 'fastify';
import { type DeveloperVisit, developerAt, recentDeveloperAt } from '../../authentication/sessions/developer.ts';
import { type Client, servedFields } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { findOwnClient, hasTooManyPending, listOwnClients } from '../../clients/list-clients.ts';
import { readClientEdit } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { tidyName } from '../../platform/text/display-name.ts';
import { clientHistory } from '../activity/activity.ts';
import { editBodyOf, readTyped, typedFrom } from '../registration/typed.ts';
import { settingsPage } from '../settings/page.ts';
import { clientPath } from '../state.ts';
import { deletePage } from './delete-page.ts';
import { editPage } from './edit-page.ts';
import { clientListPage } from './list-page.ts';
import { clientPage } from './page.ts';

type OneClient = { Params: { client_id: string } };

const base = '/developer/clients/:client_id';
const pageOf = (form: string) => ({ config: { page: true, form } }) as const;

/** The list of a person's clients, and the pages of each one. */
export async function developerClientRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/developer', pageOf('/developer'), async (request, reply) => {
    const { view, owner, query } = await developerAt(deps, request);
    const clients = await listOwnClients(deps, owner.owner_user_id);
    return sendPage(reply, view, clientListPage(view, clients, query.done === 'deleted'));
  });

  app.get<OneClient>(base, pageOf(base), async (request, reply) => {
    const visit = await developerAt(deps, request);
    const client = await clientOf(deps, request.params, visit);
    const history = await clientHistory(deps, client.client_id);
    return sendPage(reply, visit.view, clientPage(visit.view, { client, history, done: visit.query.done }));
  });

  app.get<OneClient>(`${base}/settings`, pageOf(base), async (request, reply) => {
    const visit = await developerAt(deps, request);
    const client = await clientOf(deps, request.params, visit);
    return sendPage(reply, visit.view, settingsPage(visit.view, client, deps.config.baseUrl));
  });

  await editRoutes(app, deps);
  await deleteRoutes(app, deps);
}

async function editRoutes(app: FastifyInstance, deps: Deps) {
  const form = `${base}/edit`;

  app.get<OneClient>(form, pageOf(form), async (request, reply) => {
    const visit = await developerAt(deps, request);
    const client = await clientOf(deps, request.params, visit);
    return sendPage(reply, visit.view, editPage(visit.view, { client, typed: typedFrom(client) }));
  });

  app.post<OneClient>(form, pageOf(form), async (request, reply) => {
    const visit = await developerAt(deps, request);
    const before = await clientOf(deps, request.params, visit);
    const posted = readForm(request.body);
    const typed = readTyped(posted);
    const target = { client_id: before.client_id, ...visit.owner };
    try {
      const edit = readClientEdit({ ...editBodyOf(typed), revision: Number(posted.revision) });
      const client = await editClient(deps, target, edit);
      const done = client.pending_change === null ? 'saved' : 'staged';
      return reply.redirect(`${clientPath(client)}?done=${done}`, 303);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      const client = await clientOf(deps, request.params, visit);
      const refusal = await whatToSay(deps, error, client, visit);
      if (refusal === undefined && error.problems.length === 0) throw error;
      if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
      const again = editPage(visit.view, { client, typed, problems: error.problems, refusal });
      return sendPage(reply, visit.view, again, error.status);
    }
  });

  app.post<OneClient>(`${base}/withdraw`, pageOf(form), async (request, reply) => {
    const visit = await developerAt(deps, request);
    const client = await clientOf(deps, request.params, visit);
    // A client that nobody has approved has no other values than its own, so there this changes nothing.
    const edit = { fields: servedFields(client), revision: client.revision };
    await editClient(deps, { client_id: client.client_id, ...visit.owner }, edit);
    return reply.redirect(`${clientPath(client)}?done=withdrawn`, 303);
  });
}

/** For a refusal that goes with what was typed, rather than with one of its fields. */
async function whatToSay(deps: Deps, error: RequestError, client: Client, { view, owner }: DeveloperVisit) {
  if (error.code === 'stale_revision') return view.t('developer.edit.stale');
  if (error.code !== 'rate_limited') return undefined;
  return client.status === 'rejected' && (await hasTooManyPending(deps, owner.owner_user_id))
    ? view.t('developer.edit.pending', { most: deps.config.limits.pendingClients })
    : view.t('signin.too_many', { wait: view.lasting(error.retryAfter ?? 60) });
}

async function deleteRoutes(app: FastifyInstance, deps: Deps) {
  const form = `${base}/delete`;

  app.get<OneClient>(form, pageOf(form), async (request, reply) => {
    const visit = await recentDeveloperAt(deps, request);
    const client = await clientOf(deps, request.params, visit);
    return sendPage(reply, visit.view, deletePage(visit.view, client, false));
  });

  app.post<OneClient>(form, pageOf(form), async (request, reply) => {
    const visit = await recentDeveloperAt(deps, request);
    const client = await clientOf(deps, request.params, visit);
    const { name = '' } = readForm(request.body);
    if (tidyName(name) !== client.name) {
      return sendPage(reply, visit.view, deletePage(visit.view, client, true), 400);
    }
    await deleteClient(deps, { client_id: client.client_id, ...visit.owner });
    return reply.redirect('/developer?done=deleted', 303);
  });
}

/** @throws {RequestError} `not_found`, as for an unknown client, when it is somebody else's. */
const clientOf = (deps: Deps, { client_id }: OneClient['Params'], { owner }: DeveloperVisit): Promise<Client> =>
  findOwnClient(deps, client_id, owner.owner_user_id);

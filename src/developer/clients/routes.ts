import type { FastifyInstance } from 'fastify';
import type { Client } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { editClient } from '../../clients/edit-client.ts';
import { findOwnClient, hasTooManyPending, listOwnClients } from '../../clients/find-clients.ts';
import { registerClient } from '../../clients/register-client.ts';
import { readClientEdit, readRegistration } from '../../clients/registration.ts';
import type { Deps } from '../../oauth/deps.ts';
import { findLogoutDeliveries } from '../../oauth/logout/deliveries.ts';
import { deliveryStates } from '../../platform/db/delivery-queue.ts';
import type { RequestError } from '../../platform/errors.ts';
import { type Parameters, readChoice } from '../../platform/http/parameters.ts';
import { notice } from '../../platform/pages/form.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type PageContext, pagesFor } from '../../platform/pages/page-routes.ts';
import { normalizeName } from '../../platform/text.ts';
import { readClientStatistics } from '../../statistics/read-statistics.ts';
import { clientActivity, clientHistory } from '../activity/activity.ts';
import { clientCharts } from '../activity/charts.ts';
import { activityPage } from '../activity/page.ts';
import { retry } from '../logout/operations.ts';
import { logoutSection } from '../logout/page.ts';
import { clientPath } from '../navigation.ts';
import { clientOwner, type Owner, recentClientOwner } from '../owner.ts';
import { secretPage } from '../secrets/page.ts';
import { choiceIn, choicePage, formFor, registerPath } from './choice-page.ts';
import { bodyOf, formValuesOf, readFormValues } from './form.ts';
import { clientListPage, clientPage, deletePage, editPage, registrationPage } from './page.ts';

const base = '/developer/clients/:client_id' as const;
type OwnerContext = PageContext<{ owner: Owner }, typeof base>;

/** A user's clients: the list, the registration, and the pages of each one. */
export async function developerClientRoutes(app: FastifyInstance, deps: Deps) {
  const max = deps.config.limits.pendingClients;
  /** @throws {RequestError} `not_found`, as for an unknown client, when it is another user's. */
  const clientOf = ({ client_id, owner }: OwnerContext): Promise<Client> =>
    findOwnClient(deps, client_id, owner.owner_user_id);

  const pages = pagesFor(app, deps, clientOwner);

  pages.show('/developer', async ({ view, owner, query }) =>
    clientListPage(view, await listOwnClients(deps, owner.owner_user_id), query.done === 'deleted'),
  );

  pages.show(registerPath, async ({ view, owner, query }) => {
    const isFull = await hasTooManyPending(deps, owner.owner_user_id);
    const refusal = isFull && view.t('developer.limit.pending', { max });
    const choice = choiceIn(query);
    if (choice === undefined) return choicePage(view, refusal);
    return registrationPage(view, { formValues: formFor(choice), refusal }, choice.kind);
  });
  pages.post(registerPath, {
    page: registerPath,
    async act({ view, owner }, form) {
      const registration = readRegistration(bodyOf(readFormValues(form)));
      const { client, client_secret } = await registerClient(deps, owner, registration);
      if (client_secret === null) return `${clientPath(client)}?done=registered`;
      return secretPage(view, { client, client_secret, issuer: deps.config.baseUrl, reason: 'registered' });
    },
    explains: ({ code, problems }) => code === 'rate_limited' || problems.length > 0,
    async redraw({ view, owner }, { refusal: { code, problems, retryAfter = 60 }, form }) {
      const formValues = readFormValues(form);
      if (code !== 'rate_limited') return registrationPage(view, { formValues, problems });
      const refusal = (await hasTooManyPending(deps, owner.owner_user_id))
        ? view.t('developer.limit.pending', { max })
        : view.t('developer.limit.hour', { wait: view.duration(retryAfter) });
      return registrationPage(view, { formValues, refusal });
    },
  });

  pages.show(base, async (context) => {
    const client = await clientOf(context);
    const history = await clientHistory(deps, client.client_id);
    return clientPage(context.view, { client, history, query: context.query, issuer: deps.config.baseUrl });
  });

  const activityPath = `${base}/activity` as const;
  const showActivity = async (
    context: OwnerContext,
    { problem, query = {} }: { problem?: Html | false; query?: Parameters },
  ) => {
    const { view } = context;
    const client = await clientOf(context);
    const state = readChoice(query, 'state', deliveryStates);
    const [activity, statistics, found] = await Promise.all([
      clientActivity(deps, client),
      readClientStatistics(deps, client.client_id),
      findLogoutDeliveries(deps, client.client_id, { state, after: query.after }),
    ]);
    const outcome = problem || (query.done === 'resent' && notice(view.t('logouts.resent')));
    const logouts = logoutSection(view, client, found, state);
    return activityPage(view, client, activity, {
      issuer: deps.config.baseUrl,
      charts: clientCharts(view, statistics),
      outcome,
      logouts,
    });
  };
  pages.show(activityPath, (context) => showActivity(context, context));
  pages.run(retry, {
    path: `${base}/logout-deliveries/retry`,
    input: ({ delivery_id = '' }) => ({ delivery_id }),
    done: `${activityPath}?done=resent`,
    page: activityPath,
    explains: ({ code }) => code === 'invalid_state' || code === 'rate_limited',
    redraw: showActivity,
  });

  const editPath = `${base}/edit` as const;
  pages.show(editPath, async (context) => {
    const client = await clientOf(context);
    return editPage(context.view, client, { formValues: formValuesOf(client) });
  });
  pages.post(editPath, {
    page: editPath,
    async act(context, form) {
      const { client_id } = await clientOf(context);
      const { client_type: _, ...edit } = bodyOf(readFormValues(form));
      const revision = Number(form.revision);
      const client = await editClient(deps, { client_id, ...context.owner }, readClientEdit({ ...edit, revision }));
      return `${clientPath(client)}?done=${client.pending_change === null ? 'saved' : 'staged'}`;
    },
    explains: ({ code, problems }) => problems.length > 0 || code === 'stale_revision' || code === 'rate_limited',
    async redraw(context, { refusal, form }) {
      const client = await clientOf(context);
      return editPage(context.view, client, {
        formValues: readFormValues(form),
        problems: refusal.problems,
        refusal: await alertFor(refusal, client, context),
      });
    },
  });

  pages.post(`${base}/withdraw`, {
    page: editPath,
    async act(context) {
      const client = await clientOf(context);
      // A client that was never approved has no pending change, so this changes nothing.
      const edit = { fields: client, revision: client.revision };
      await editClient(deps, { client_id: client.client_id, ...context.owner }, edit);
      return `${clientPath(client)}?done=withdrawn`;
    },
  });

  const deletePath = `${base}/delete` as const;
  const guardedPages = pagesFor(app, deps, recentClientOwner);
  guardedPages.show(deletePath, async (context) => deletePage(context.view, await clientOf(context), false));
  guardedPages.post(deletePath, {
    page: deletePath,
    async act(context, { name = '' }) {
      const client = await clientOf(context);
      if (normalizeName(name) !== client.name) return { ...deletePage(context.view, client, true), status: 400 };
      await deleteClient(deps, { client_id: client.client_id, ...context.owner });
      return '/developer?done=deleted';
    },
  });

  /** For a refusal of the edit as a whole, rather than of one of its fields. */
  async function alertFor({ code, retryAfter = 60 }: RequestError, client: Client, { view, owner }: OwnerContext) {
    if (code === 'stale_revision') return view.t('developer.edit.stale');
    if (code !== 'rate_limited') return undefined;
    return client.status === 'rejected' && (await hasTooManyPending(deps, owner.owner_user_id))
      ? view.t('developer.edit.pending', { max })
      : view.t('signin.too_many', { wait: view.duration(retryAfter) });
  }
}

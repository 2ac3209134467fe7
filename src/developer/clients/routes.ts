import type { FastifyInstance } from 'fastify';
import type { Client } from '../../clients/client.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { findOwnClient, listOwnClients } from '../../clients/find-clients.ts';
import { readLogoState } from '../../clients/logos.ts';
import { deliveryStates } from '../../deliveries/queue.ts';
import type { Deps } from '../../oauth/deps.ts';
import { countLogoutDeliveries, findLogoutDeliveries } from '../../oauth/logout/deliveries.ts';
import { type Parameters, readChoice } from '../../platform/http/parameters.ts';
import { notice } from '../../platform/pages/form.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type PageContext, pagesFor } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { normalizeName } from '../../platform/text.ts';
import { streamOfClient } from '../../signals/watch-stream.ts';
import { readPeriod } from '../../statistics/periods.ts';
import { readClientStatistics, readClientWeek } from '../../statistics/read-statistics.ts';
import { clientActivity, clientHistory } from '../activity/activity.ts';
import { clientCharts } from '../activity/charts.ts';
import { activityPage } from '../activity/page.ts';
import { alertsOfOwnClient, requireAlertOfClient } from '../alerts/alerts.ts';
import { clientAlertPage, clientAlertsPage } from '../alerts/page.ts';
import { retry } from '../logout/operations.ts';
import { logoutSection } from '../logout/page.ts';
import { clientOwner, type Owner, recentClientOwner } from '../owner.ts';
import { ownSignals } from '../signals/operations.ts';
import { signalSection } from '../signals/page.ts';
import { clientListPage, clientPage, deletePage } from './page.ts';

const base = '/developer/clients/:client_id' as const;
type OwnerContext = PageContext<{ owner: Owner }, typeof base>;

const doneWith = {
  pause: 'paused',
  enable: 'enabled',
  verify: 'verified',
  resend: 'replayed',
  delete: 'deleted',
} as const;

function doneNotice(view: View, done: string | undefined): Html | false {
  if (done === 'resent') return notice(view.t('logouts.resent'));
  const name = Object.values(doneWith).find((one) => one === done);
  return name !== undefined && notice(view.t(`admin.signals.done.${name}`));
}

/** A user's clients: the list, and the pages of each one. */
export async function developerClientRoutes(app: FastifyInstance, deps: Deps) {
  /** @throws {RequestError} `not_found`, as for an unknown client, when it is another user's. */
  const clientOf = ({ client_id, owner }: OwnerContext): Promise<Client> =>
    findOwnClient(deps, client_id, owner.owner_user_id);

  const pages = pagesFor(app, deps, clientOwner);

  pages.show('/developer', async ({ view, owner, query }) => {
    const clients = await listOwnClients(deps, owner.owner_user_id);
    const weeks = await Promise.all(
      clients.map(async ({ client_id, status }) =>
        status === 'approved' ? readClientWeek(deps, client_id) : undefined,
      ),
    );
    const listed = clients.map((client, place) => ({ client, week: weeks[place] }));
    return clientListPage(view, { listed, issuer: deps.config.baseUrl, wasDeleted: query.done === 'deleted' });
  });

  pages.show(base, async (context) => {
    const client = await clientOf(context);
    const history = await clientHistory(deps, client.client_id);
    const logo = await readLogoState(deps, client);
    return clientPage(context.view, { client, logo, history, query: context.query, issuer: deps.config.baseUrl });
  });

  const activityPath = `${base}/activity` as const;
  const showActivity = async (
    context: OwnerContext,
    { problem, query = {} }: { problem?: Html | false; query?: Parameters },
  ) => {
    const { view } = context;
    const client = await clientOf(context);
    const state = readChoice(query, 'state', deliveryStates);
    const [activity, statistics, found, counts, stream] = await Promise.all([
      clientActivity(deps, client),
      readClientStatistics(deps, client, readPeriod(query)),
      findLogoutDeliveries(deps, client.client_id, { state, after: query.after }),
      countLogoutDeliveries(deps, client.client_id),
      streamOfClient(deps, client.client_id),
    ]);
    const outcome = problem || doneNotice(view, query.done);
    const logouts = logoutSection(view, client, { found, counts, state });
    return activityPage(view, client, activity, {
      issuer: deps.config.baseUrl,
      charts: clientCharts(view, `/developer/clients/${client.client_id}/activity`, statistics),
      outcome,
      logouts,
      signals: signalSection(view, client, stream),
    });
  };
  pages.show(activityPath, (context) => showActivity(context, context));
  pages.show(`${base}/alerts`, async (context) => {
    const client = await clientOf(context);
    return clientAlertsPage(context.view, client, await alertsOfOwnClient(deps, client));
  });
  pages.show(`${base}/alerts/:alert_id`, async (context) => {
    const client = await clientOf(context);
    return clientAlertPage(context.view, client, await requireAlertOfClient(deps, client, context.alert_id));
  });
  pages.run(retry, {
    path: `${base}/logout-deliveries/retry`,
    input: ({ delivery_id = '' }) => ({ delivery_id }),
    done: `${activityPath}?done=resent`,
    page: activityPath,
    explains: ({ code }) => code === 'invalid_state' || code === 'rate_limited',
    redraw: showActivity,
  });

  for (const name of ['pause', 'enable', 'verify', 'resend', 'delete'] as const) {
    pages.run(ownSignals[name], {
      path: `${base}/signals/${name === 'resend' ? 'replay' : name}`,
      ...(name === 'resend' && { input: ({ delivery_id = '' }: Parameters) => ({ delivery_id }) }),
      done: `${activityPath}?done=${doneWith[name]}`,
      page: activityPath,
      explains: ({ code }) => code === 'invalid_state' || code === 'rate_limited',
      redraw: showActivity,
    });
  }

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
}

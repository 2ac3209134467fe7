import type { FastifyInstance } from 'fastify';
import type { Administrator } from '../../authentication/sessions/session.ts';
import { consentPolicies, profiles, secondFactors, signingAlgorithms } from '../../clients/choices.ts';
import { chooseReviewMails, wantsNoReviewMails } from '../../clients/declined-mails.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { exportClients } from '../../clients/export-clients.ts';
import { type ClientListing, countListings, findAnyClient, findClients, orders } from '../../clients/find-clients.ts';
import { findOwnLogo } from '../../clients/logos.ts';
import { clientReview, listedWithRisks } from '../../clients/read-review.ts';
import { approveClient } from '../../clients/review-client.ts';
import { readReviewerProblem } from '../../clients/reviewer.ts';
import { deliveryStates } from '../../deliveries/queue.ts';
import { clientCharts } from '../../developer/activity/charts.ts';
import { namesOfGroups } from '../../groups/find-groups.ts';
import type { Deps } from '../../oauth/deps.ts';
import { readUsage } from '../../oauth/grants/grants.ts';
import { countLogoutDeliveries, findLogoutDeliveries } from '../../oauth/logout/deliveries.ts';
import { lastSignInOf } from '../../oauth/statements.ts';
import { now } from '../../platform/clock.ts';
import { csvName, csvType } from '../../platform/csv.ts';
import { fieldProblem, invalidFields, notFound } from '../../platform/errors.ts';
import { type Parameters, readChoice } from '../../platform/http/parameters.ts';
import { pictureHeaders } from '../../platform/kept-pictures.ts';
import { doneOrUnchanged, type PageContext } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { normalizeName } from '../../platform/text.ts';
import { readPeriod } from '../../statistics/periods.ts';
import { readClientStatistics } from '../../statistics/read-statistics.ts';
import { namesIn } from '../audit/names.ts';
import { checkedNames, clientPath, explains, namesAfter, type Shown } from '../components.ts';
import { pagesOf, personWith } from '../page-access.ts';
import { readyReasons } from './decision-forms.ts';
import { groupsOf } from './group-fields.ts';
import { type ClientFilter, clientFilters, clientsPage } from './list-page.ts';
import { logoutsPage } from './logouts-page.ts';
import { clientOperations as operations } from './operations.ts';
import { clientPage } from './page.ts';

const list = '/admin/clients';
const one = `${list}/:client_id` as const;

/** The review (decisions §11): the queue, what is asked for, and the decision about exactly that. */
export async function clientPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'clients:read');

  pages.post(`${list}/review-mails`, {
    page: list,
    async act({ administrator_id }) {
      await chooseReviewMails(deps, administrator_id, true);
      return `${list}?done=review_mails`;
    },
  });

  pages.show(list, async ({ view, query, administrator_id }) => {
    const q = query.q?.trim() ?? '';
    const filter = filterOf(query);
    const isQueue = filter === 'waiting' || filter === 'changes';
    const order = orders.find((name) => name === query.order) ?? (isQueue ? 'oldest' : 'newest');
    const search = q === '' ? { listing: listingOf(filter), order } : { listing: 'all' as const, query: q };
    const [{ clients, ...found }, { pending_change: changes, ...counts }] = await Promise.all([
      findClients(deps, { ...search, after: query.after }),
      countListings(deps),
    ]);
    const [listed, uses, isStopped] = await Promise.all([
      listedWithRisks(deps, clients),
      Promise.all(clients.map(({ client_id }) => lastSignInOf(deps.db, client_id))),
      wantsNoReviewMails(deps, administrator_id),
    ]);
    const rows = listed.map((one, place) => ({ ...one, lastSignIn: uses[place] ?? null }));
    return clientsPage(view, {
      wantsNoMails: isStopped,
      filter,
      order,
      q,
      ...found,
      clients: rows,
      counts: { ...counts, changes },
      query,
      readsDocuments: deps.config.clientIdMetadata,
    });
  });

  pages.download(`${list}/export`, ({ query }) => {
    const listing = listingOf(filterOf(query));
    return { name: csvName([`clients-${listing}`], now(deps)), type: csvType, content: exportClients(deps, listing) };
  });

  pages.show(one, (context) => redraw(context, context));

  const onPage = { page: one, explains, redraw };
  // The form has no default for consent, which only this page asks for.
  pages.post(`${one}/approve`, {
    async act({ caller, client_id, authorize }, form) {
      authorize('clients:approve');
      await approveClient(deps, { client_id, caller }, approvalOf(form));
      return `${clientPath({ client_id })}?done=approved`;
    },
    ...onPage,
  });
  pages.run(operations.reject, {
    input: (form, { view }) => ({ body: { reason: rejectionOf(view, form), revision: revisionOf(form) } }),
    done: `${one}?done=rejected`,
    ...onPage,
  });
  pages.run(operations.suspend, {
    input: ({ reason = '' }) => ({ body: { reason } }),
    done: `${one}?done=suspended`,
    ...onPage,
  });
  pages.run(operations.reinstate, { done: `${one}?done=reinstated`, ...onPage });
  pages.run(operations.changePolicy, {
    input: (form) => ({ body: { ...policyOf(form), id_token_signed_response_alg: algorithmOf(form) } }),
    done: doneOrUnchanged(one, 'policy'),
    ...onPage,
  });
  pages.run(operations.fetchLogo, { done: `${one}?done=logo#logo`, ...onPage });
  pages.run(operations.changePolicy, {
    path: `${one}/logo/shown`,
    input: (form) => ({ body: { logo_id: logoOf(form) } }),
    done: doneOrUnchanged(one, 'policy'),
    ...onPage,
  });
  // Before it is approved, only reviewers see it.
  app.get<{ Params: { client_id: string; picture_id: string } }>(
    `${one}/logos/:picture_id`,
    { config: { page: true } },
    async (request, reply) => {
      await personWith('clients:read').authenticate(deps, request);
      const { client_id, picture_id } = request.params;
      const found = await findOwnLogo(deps, client_id, picture_id);
      if (found === undefined) throw notFound();
      const { 'content-security-policy': policy } = pictureHeaders;
      return reply.header('content-security-policy', policy).type(found.media_type).send(found.content);
    },
  );
  pages.post(`${one}/delete`, {
    async act({ caller, client_id, authorize }, { confirmation = '' }) {
      authorize('clients:write');
      const { name } = await findAnyClient(deps, client_id);
      // Its id is as good, for a name that no one can type.
      if (normalizeName(confirmation) !== name && confirmation.trim() !== client_id) {
        throw invalidFields([fieldProblem('confirmation', { key: 'admin.clients.delete.mistyped' })]);
      }
      await deleteClient(deps, { client_id, caller });
      return `${list}?done=deleted`;
    },
    ...onPage,
  });

  const logouts = `${one}/logout-deliveries` as const;
  pages.show(logouts, (context) => showLogouts(context, context));
  pages.run(operations.retryLogout, {
    path: `${logouts}/retry`,
    input: ({ delivery_id = '' }) => ({ delivery_id }),
    done: `${logouts}?done=resent`,
    page: logouts,
    explains,
    redraw: showLogouts,
  });

  async function showLogouts({ view, client_id }: ClientContext, shown: Shown) {
    const client = await findAnyClient(deps, client_id);
    const { query = {} } = shown;
    const state = readChoice(query, 'state', deliveryStates);
    const [found, counts] = await Promise.all([
      findLogoutDeliveries(deps, client_id, { state, after: query.after }),
      countLogoutDeliveries(deps, client_id),
    ]);
    const names = await namesIn(
      deps,
      [],
      found.deliveries.map(({ sub }) => sub),
    );
    return logoutsPage(view, client, { state, found, counts, names }, shown);
  }

  async function redraw({ view, administrator_id, client_id }: ClientContext, shown: Shown) {
    const [review, usage] = await Promise.all([clientReview(deps, client_id), readUsage(deps, client_id)]);
    const statistics = await readClientStatistics(deps, review.client, readPeriod(shown.query ?? {}));
    const reviewerProblem = await readReviewerProblem(deps, administrator_id, review.client);
    const isDecided = shown.query?.done === 'approved' || shown.query?.done === 'rejected';
    const next = isDecided ? await nextInQueue(client_id) : undefined;
    const charts = clientCharts(view, clientPath({ client_id }), statistics);
    const scopes = await deps.scopes.read();
    const { allowed_groups, visible_groups } = review.client;
    const groupNames = await namesOfGroups(deps, [...(allowed_groups ?? []), ...(visible_groups ?? [])]);
    return clientPage(view, { ...review, usage, scopes, groupNames, reviewerProblem, next, charts }, shown);
  }

  async function nextInQueue(decided: string) {
    const [{ clients }, counts] = await Promise.all([
      findClients(deps, { listing: 'waiting', limit: 2 }),
      countListings(deps),
    ]);
    const client = clients.find(({ client_id }) => client_id !== decided);
    return client && { client, more: counts.waiting - 1 };
  }
}

type ClientContext = PageContext<Administrator, typeof one>;

const filterOf = ({ state }: Parameters) => clientFilters.find((name) => name === state) ?? 'waiting';
const listingOf = (filter: ClientFilter): ClientListing => (filter === 'changes' ? 'pending_change' : filter);

/** The one that the page showed; 0, which no client has, for what is no number. */
const revisionOf = ({ revision = '' }: Parameters): number => (/^\d{1,15}$/.test(revision) ? Number(revision) : 0);

/** A ready-made reason, one that was written, or both. */
function rejectionOf(view: View, { ready, reason = '' }: Parameters): string {
  const known = readyReasons.find((name) => name === ready);
  return [known && view.plain(`admin.clients.reject.ready.${known}`), reason.trim()].filter(Boolean).join(' ');
}

/** A field that was emptied is no number: it must not switch the window off. */
const policyOf = ({ consent, profile, refresh_retry_window, ...form }: Parameters) => ({
  ...groupsOf(form),
  profile: profile === 'none' ? null : profiles.find((one) => one === profile),
  consent: consentPolicies.find((policy) => policy === consent),
  refresh_retry_window: refresh_retry_window === undefined ? undefined : Number(refresh_retry_window.trim() || 'none'),
});

const algorithmOf = ({ id_token_signed_response_alg: chosen }: Parameters) =>
  signingAlgorithms.find((algorithm) => algorithm === chosen);

/** The picture that the page showed; none if it showed none. */
const logoOf = ({ logo_id }: Parameters): string | null => logo_id || null;

const approvalOf = (form: Parameters) => ({
  ...policyOf(form),
  logo_id: logoOf(form),
  consentMustBeChosen: true,
  revision: revisionOf(form),
  allowed_scopes: checkedNames(form, 'scope:', namesAfter(form, 'scope:')),
  second_factor: secondFactors.find((one) => one === form.second_factor),
});

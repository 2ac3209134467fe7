import type { FastifyInstance, FastifyReply } from 'fastify';
import {
  type AdministratorContext,
  administratorContext,
  answerForm,
} from '../../authentication/sessions/administrator.ts';
import { listedWithRisks } from '../../clients/assess-risks.ts';
import { consentPolicies } from '../../clients/client.ts';
import { changePolicy } from '../../clients/client-policy.ts';
import { deleteClient } from '../../clients/delete-client.ts';
import { findClients } from '../../clients/find-clients.ts';
import { findAnyClient } from '../../clients/list-clients.ts';
import { clientReview } from '../../clients/read-review.ts';
import { approveClient, reinstateClient, rejectClient, suspendClient } from '../../clients/review-client.ts';
import { readReviewerProblem } from '../../clients/reviewer.ts';
import { scopeNames } from '../../clients/scopes.ts';
import type { Deps } from '../../oauth/deps.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import type { Html } from '../../platform/pages/html.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { checkedNames } from '../components.ts';
import { clientFilters, clientsPage } from './list-page.ts';
import { clientPage } from './page.ts';

const list = '/admin/clients';
const one = `${list}/:client_id`;
type ItemRoute = { Params: { client_id: string } };
const config = { page: true, form: one };

/** The review (decisions §11): the queue, what is asked for, and the decision about exactly that. */
export async function clientPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get(list, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    const filter = clientFilters.find((name) => name === query.state) ?? (query.q?.trim() ? 'all' : 'waiting');
    const listing = filter === 'changes' ? 'pending_change' : filter;
    const { clients, next } = await findClients(deps, { listing, query: query.q, after: query.after });
    const listed = await listedWithRisks(deps, clients);
    return sendPage(reply, view, clientsPage(view, { filter, clients: listed, next, query }));
  });

  app.get<ItemRoute>(one, { config: { page: true } }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const told = { query: context.query };
    return sendPage(reply, context.view, await reviewPage(deps, context, request.params.client_id, told));
  });

  app.post<ItemRoute>(`${one}/approve`, { config }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const form = readForm(request.body);
    const target = { client_id: request.params.client_id, caller: context.caller };
    return decide(deps, reply, context, {
      ...target,
      done: 'approved',
      step: () => approveClient(deps, target, approvalOf(form)),
    });
  });

  app.post<ItemRoute>(`${one}/reject`, { config }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const form = readForm(request.body);
    const target = { client_id: request.params.client_id, caller: context.caller };
    return decide(deps, reply, context, {
      ...target,
      done: 'rejected',
      step: () => rejectClient(deps, target, form.reason ?? '', revisionOf(form)),
    });
  });

  app.post<ItemRoute>(`${one}/suspend`, { config }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const { reason = '' } = readForm(request.body);
    const target = { client_id: request.params.client_id, caller: context.caller };
    return decide(deps, reply, context, {
      ...target,
      done: 'suspended',
      step: () => suspendClient(deps, target, reason),
    });
  });

  app.post<ItemRoute>(`${one}/reinstate`, { config }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const target = { client_id: request.params.client_id, caller: context.caller };
    return decide(deps, reply, context, { ...target, done: 'reinstated', step: () => reinstateClient(deps, target) });
  });

  app.post<ItemRoute>(`${one}/policy`, { config }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const policy = policyOf(readForm(request.body));
    const target = { client_id: request.params.client_id, caller: context.caller };
    return decide(deps, reply, context, { ...target, done: 'policy', step: () => changePolicy(deps, target, policy) });
  });

  app.post<ItemRoute>(`${one}/delete`, { config }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const { confirmation = '' } = readForm(request.body);
    const { client_id } = await findAnyClient(deps, request.params.client_id);
    return answerForm(reply, context.view, {
      act: async () => {
        if (confirmation.trim() !== client_id) {
          throw invalidFields([fieldProblem('confirmation', { key: 'admin.clients.delete.mistyped' })]);
        }
        await deleteClient(deps, { client_id, caller: context.caller });
        return `${list}?done=deleted`;
      },
      again: (problem) => reviewPage(deps, context, client_id, { problem }),
    });
  });
}

/** Whatever stands against a decision is told above the client as it is by then, with what is now different. */
const decide = (
  deps: Deps,
  reply: FastifyReply,
  context: AdministratorContext,
  { client_id, done, step }: { client_id: string; done: string; step: () => Promise<unknown> },
) =>
  answerForm(reply, context.view, {
    act: async () => {
      await step();
      return `${list}/${client_id}?done=${done}`;
    },
    again: (problem) => reviewPage(deps, context, client_id, { problem }),
  });

async function reviewPage(
  deps: Deps,
  { view, user_id }: AdministratorContext,
  client_id: string,
  told: { problem?: Html | false; query?: Parameters },
) {
  const review = await clientReview(deps, client_id);
  const reviewerProblem = await readReviewerProblem(deps, user_id, review.client);
  return clientPage(view, { ...review, reviewerProblem, ...told });
}

/** The one that the page showed. What is no number is one that nobody has read. */
const revisionOf = ({ revision = '' }: Parameters): number => (/^\d{1,15}$/.test(revision) ? Number(revision) : 0);

/** A field that was emptied is no number: it must not switch the window off. */
const policyOf = ({ consent, refresh_retry_window }: Parameters) => ({
  consent: consentPolicies.find((policy) => policy === consent),
  refresh_retry_window: refresh_retry_window === undefined ? undefined : Number(refresh_retry_window.trim() || 'none'),
});

const approvalOf = (form: Parameters) => ({
  ...policyOf(form),
  consentMustBeChosen: true,
  revision: revisionOf(form),
  allowed_scopes: checkedNames(form, 'scope:', scopeNames),
});

import type { FastifyInstance, FastifyReply } from 'fastify';
import { type DeveloperContext, recentDeveloperContext } from '../../authentication/sessions/developer.ts';
import { findOwnClient } from '../../clients/find-clients.ts';
import { addSecret, isOverlap, listSecrets, overlaps, retireSecret } from '../../clients/manage-secrets.ts';
import type { Deps } from '../../oauth/deps.ts';
import { fieldProblem, invalidFields, RequestError } from '../../platform/errors.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { alert } from '../../platform/pages/form.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { secretPage, secretsPage } from './page.ts';

type ClientRoute = { Params: { client_id: string } };
type SecretRoute = { Params: { client_id: string; secret_id: string } };

const path = '/developer/clients/:client_id/secrets';
const config = { page: true, form: path } as const;

/** Secrets of a client; looking at them takes a recent sign-in already, so that no step is interrupted by another. */
export async function developerSecretRoutes(app: FastifyInstance, deps: Deps) {
  app.get<ClientRoute>(path, { config }, async (request, reply) => {
    const context = await recentDeveloperContext(deps, request);
    return showSecrets(deps, reply, context, { client_id: request.params.client_id });
  });

  app.post<ClientRoute>(path, { config }, async (request, reply) => {
    const context = await recentDeveloperContext(deps, request);
    const { client_id } = request.params;
    try {
      const overlapSeconds = readEnd(readForm(request.body).ends);
      const added = await addSecret(deps, { client_id, overlapSeconds, ...context.owner });
      const shown = { ...added, issuer: deps.config.baseUrl, reason: 'added' } as const;
      return sendPage(reply, context.view, secretPage(context.view, shown));
    } catch (error) {
      return showSecrets(deps, reply, context, { client_id, error });
    }
  });

  app.post<SecretRoute>(`${path}/:secret_id/retire`, { config }, async (request, reply) => {
    const context = await recentDeveloperContext(deps, request);
    const { client_id, secret_id } = request.params;
    try {
      const overlapSeconds = readOverlap(readForm(request.body).ends);
      await retireSecret(deps, { client_id, secret_id, overlapSeconds, ...context.owner });
    } catch (error) {
      return showSecrets(deps, reply, context, { client_id, error });
    }
    return reply.redirect(`/developer/clients/${client_id}/secrets?done=retired`, 303);
  });
}

function readOverlap(ends: string | undefined): number {
  if (ends !== undefined && isOverlap(ends)) return overlaps[ends];
  throw invalidFields([fieldProblem('ends', { key: 'problem.secret.ends' })]);
}

/** For the secret before a new one, which may also go on until somebody retires it. */
const readEnd = (ends = 'later') => (ends === 'later' ? undefined : readOverlap(ends));

/** @param what.error what a form was refused with; anything that says nothing to people goes on its way. */
async function showSecrets(
  deps: Deps,
  reply: FastifyReply,
  { view, owner, query }: DeveloperContext,
  what: { client_id: string; error?: unknown },
) {
  const { client_id, error } = what;
  const userMessage = error instanceof RequestError ? (error.userMessage ?? error.problems[0]?.userMessage) : undefined;
  if (error !== undefined && userMessage === undefined) throw error;
  const client = await findOwnClient(deps, client_id, owner.owner_user_id);
  const secrets = await listSecrets(deps, client_id, owner.owner_user_id);
  const problem = userMessage && alert(view.t(userMessage.key, userMessage.values));
  const page = secretsPage(view, { client, secrets, problem, isRetired: query.done === 'retired' });
  return sendPage(reply, view, page, error instanceof RequestError ? error.status : 200);
}

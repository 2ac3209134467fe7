import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { browserToken } from '../../authentication/sessions/browser.ts';
import { currentSession } from '../../authentication/sessions/session.ts';
import type { Failure } from '../../clients/failures.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { FormText, parseParameters, queryOf } from '../../platform/http/parameters.ts';
import type { Deps } from '../deps.ts';
import { AuthorizationError } from './authorization-error.ts';
import { authorizeClient, readAuthorizationRequest, recheckClient } from './authorization-request.ts';
import { continueAuthorization, redirectWithError } from './authorize.ts';
import { requirePendingRequest } from './browser.ts';
import { authorize } from './operations.ts';

/** Other sites link and post here on purpose, so the cross-site guard does not apply (OIDC Core §3.1.2.1). */
const config = { page: true, anySite: true } as const;

/** OAuth 2.1 §4.1.1, OIDC Core §3.1.2. */
export async function authorizeRoutes(app: FastifyInstance, deps: Deps) {
  app.get(
    '/oauth/authorize',
    { config: { ...config, operation: authorize }, exposeHeadRoute: false },
    async (request, reply) => {
      const parsed = parseParameters(queryOf(request.url));
      const target = await authorizeClient(deps, parsed);
      try {
        const wanted = await readAuthorizationRequest(deps, target, parsed);
        const session = await currentSession(deps, request);
        const context = {
          client: target.client,
          session,
          browserToken: () => browserToken(deps, request, reply),
          address: request.ip,
        };
        return redirect(reply, await continueAuthorization(deps, wanted, context));
      } catch (error) {
        if (!(error instanceof AuthorizationError)) throw error;
        const { client_id } = target.client;
        deps.clientFailures.record({ client_id, stage: 'authorize' }, failureOf(error, parsed.values.scope));
        return redirect(reply, await redirectWithError(deps, target, error));
      }
    },
  );

  // A form posted from another site comes without our Lax cookie. One hop to our own GET brings it along.
  app.post('/oauth/authorize', { config }, async (request, reply) => {
    if (!(request.body instanceof FormText))
      throw invalidRequest('The body must be application/x-www-form-urlencoded.');
    await authorizeClient(deps, parseParameters(request.body.text));
    const query = new URLSearchParams(request.body.text).toString();
    if (query.length > 8000) throw invalidRequest('The request is longer than 8000 bytes.');
    return reply.redirect(`/oauth/authorize?${query}`, 303);
  });

  app.get('/oauth/authorize/continue', { config, exposeHeadRoute: false }, async (request, reply) =>
    redirect(reply, await continueRequest(deps, request)),
  );
}

/** After a page has been answered: the request goes on from where it waited. Nothing is taken for granted from before. */
async function continueRequest(deps: Deps, request: FastifyRequest) {
  const { request: request_id, step_up, user } = request.queryParameters;
  const pending = await requirePendingRequest(deps, request, request_id);
  const { client } = await recheckClient(deps, pending.parameters);
  const session = await currentSession(deps, request);
  const declinesStepUp = step_up === 'declined';
  // The page named the account that goes on without the stronger factor. Another one that has signed in since is not it.
  if (declinesStepUp && session && user !== session.user_id) {
    return { location: `/signin/account?request=${pending.request_id}` };
  }
  return continueAuthorization(deps, pending.parameters, {
    client,
    session,
    pending,
    declinesStepUp,
    browserToken: () => '',
    address: request.ip,
  });
}

function failureOf({ about, message }: AuthorizationError, scope: string | undefined): Failure {
  if (about === 'scope') return { code: 'invalid_scope', detail: () => ({ sent: scope ?? '' }) };
  return { code: about ?? 'request', detail: () => ({ description: message }) };
}

const redirect = (reply: FastifyReply, { location }: { location: string }) =>
  reply.headers({ 'referrer-policy': 'no-referrer' }).redirect(location, 302);

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { requireUser } from '../../accounts/users.ts';
import { browserToken } from '../../authentication/sessions/browser.ts';
import { returnPathOf } from '../../authentication/sessions/return-target.ts';
import { currentSession } from '../../authentication/sessions/session.ts';
import type { Client } from '../../clients/client.ts';
import { leftOutOf } from '../../clients/failures.ts';
import { appForUsers, nameForUsers, registeredBy } from '../../clients/presentation.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { FormText, type ParsedParameters, parseParameters, queryOf, readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import { claimsWithin, noLists, userClaims } from '../claims/claims.ts';
import { claimsBeyondScope } from '../claims/claims-parameter.ts';
import type { Deps } from '../deps.ts';
import { AuthorizationError, failureOf, malformed } from './authorization-error.ts';
import { type AuthorizationRequest, readAuthorizationRequest } from './authorization-request.ts';
import { answerWithError, continueAuthorization, findStep, giveConsent, type Outcome } from './authorize.ts';
import { authorizeClient, recheckClient } from './authorize-client.ts';
import { consentPage } from './consent-page.ts';
import { detailsRoutes } from './details-routes.ts';
import { accountChoicePage, formPostPage, noAccessPage } from './pages.ts';
import { describedParameters } from './parameters.ts';
import { continuePath, requirePendingRequest } from './pending-routes.ts';
import { findPushed, isPushed, mustPush } from './push-request.ts';
import { markAccountSelected, type PendingRequest } from './store.ts';

/** Other sites link and post here by design, so the cross-site guard does not apply (OIDC Core §3.1.2.1). */
const anySite = { page: true, anySite: true } as const;
const page = { page: true } as const;

/** OAuth 2.1 §4.1.1, OIDC Core §3.1.2. */
export async function authorizeRoutes(app: FastifyInstance, deps: Deps) {
  app.get(
    '/oauth/authorize',
    { config: { ...anySite, operation: authorize }, exposeHeadRoute: false },
    async (request, reply) => {
      const parsed = parseParameters(queryOf(request.url));
      if (isPushed(parsed.values.request_uri)) return startPushed(deps, request, reply, parsed);
      const { client, target } = await authorizeClient(deps, parsed, request.ip);
      const place = { client_id: client.client_id, stage: 'authorize', address: request.ip } as const;
      const wanted = mustPush(client) ? notPushed() : await readAuthorizationRequest(deps, { client, target }, parsed);
      if (wanted instanceof AuthorizationError) {
        deps.clientFailures.record(place, failureOf(wanted, parsed));
        return respond(deps, reply, parsed.values.ui_locales, await answerWithError(deps, target, wanted));
      }
      const leftOut = leftOutOf(client.allowed_scopes, parsed.values.scope, wanted.scope);
      if (leftOut) deps.clientFailures.record(place, leftOut);
      return start(deps, request, reply, { client, wanted });
    },
  );

  // A form posted from another site comes without our Lax cookie. One hop to our own GET brings it along.
  app.post('/oauth/authorize', { config: { ...anySite, operation: authorizeByPost } }, async (request, reply) => {
    if (!(request.body instanceof FormText))
      throw invalidRequest('The body must be application/x-www-form-urlencoded.');
    const parsed = parseParameters(request.body.text);
    if (!isPushed(parsed.values.request_uri)) await authorizeClient(deps, parsed, request.ip);
    const query = new URLSearchParams(request.body.text).toString();
    if (query.length > 8000) throw invalidRequest('The request is longer than 8000 bytes.');
    return reply.redirect(`/oauth/authorize?${query}`, 303);
  });

  app.get('/oauth/authorize/continue', { config: anySite, exposeHeadRoute: false }, (request, reply) =>
    continueRequest(deps, request, reply),
  );

  app.post('/oauth/authorize/cancel', { config: { ...page, form: '/account' } }, (request, reply) =>
    cancelRequest(deps, request, reply),
  );

  noAccessRoutes(app, deps);
  detailsRoutes(app, deps);
  await accountChoiceRoutes(app, deps);
  await consentRoutes(app, deps);
}

const notPushed = () =>
  malformed('This client must push its requests (RFC 9126) and send the request_uri that it gets.');

type Wanted = { client: Client; wanted: AuthorizationRequest };

async function start(deps: Deps, request: FastifyRequest, reply: FastifyReply, { client, wanted }: Wanted) {
  const session = await currentSession(deps, request);
  const outcome = await continueAuthorization(deps, wanted, {
    client,
    session,
    browserToken: () => browserToken(deps, request, reply),
    address: request.ip,
  });
  return respond(deps, reply, wanted.ui_locales, outcome);
}

/** What was pushed was checked; since then its client may have been suspended, or its redirect_uri removed. */
async function startPushed(deps: Deps, request: FastifyRequest, reply: FastifyReply, parsed: ParsedParameters) {
  const wanted = await findPushed(deps, parsed);
  const { client } = await recheckClient(deps, wanted, request.ip);
  return start(deps, request, reply, { client, wanted });
}

/** After the answer to a page. Everything is checked again. */
async function continueRequest(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const { request: request_id, step_up, user } = request.queryParameters;
  const pending = await requirePendingRequest(deps, request, request_id);
  const { parameters } = pending;
  const { client } = await recheckClient(deps, parameters, request.ip);
  // Since it came, its client may have become one that must push.
  if (mustPush(client) && parameters.pushed_id === undefined && parameters.test_owner === undefined)
    return respond(deps, reply, parameters.ui_locales, await answerWithError(deps, parameters, notPushed(), pending));
  const session = await currentSession(deps, request);
  const declinesStepUp = step_up === 'declined';
  // The page named the account that continues without the stronger factor, not one that has signed in since.
  if (declinesStepUp && session && user !== session.user_id) {
    return reply.redirect(`/signin/account?request=${pending.request_id}`, 302);
  }
  const outcome = await continueAuthorization(deps, pending.parameters, {
    client,
    session,
    pending,
    declinesStepUp,
    browserToken: () => '',
    address: request.ip,
  });
  return respond(deps, reply, pending.parameters.ui_locales, outcome);
}

/** The user leaves for the app, which learns that there is no sign-in. A session, or half of one, stays as it is. */
async function cancelRequest(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const pending = await requirePendingRequest(deps, request, readForm(request.body).request);
  await recheckClient(deps, pending.parameters, request.ip);
  const cancellation = new AuthorizationError('access_denied', 'The user canceled the sign-in.');
  const outcome = await answerWithError(deps, pending.parameters, cancellation, pending);
  return respond(deps, reply, pending.parameters.ui_locales, outcome, 303);
}

/** @param status of a redirect. */
function respond(deps: Deps, reply: FastifyReply, ui_locales: string | undefined, outcome: Outcome, status = 302) {
  if ('location' in outcome) return reply.header('referrer-policy', 'no-referrer').redirect(outcome.location, status);
  const view = viewOf(deps, reply.request, ui_locales, reply.request.signedInUser?.locale);
  return sendPage(reply, view, formPostPage(view, outcome));
}

/** For a user who may not use the client. One who has been let in meanwhile goes on. */
function noAccessRoutes(app: FastifyInstance, deps: Deps): void {
  app.get('/signin/no-access', { config: page }, async (request, reply) => {
    const pending = await requirePendingRequest(deps, request, request.queryParameters.request);
    const { client } = await recheckClient(deps, pending.parameters, request.ip);
    const session = await currentSession(deps, request);
    const step = await findStep(deps, pending.parameters, { client, session, pending });
    if (!session || step !== 'no_access') return reply.redirect(continuePath(pending), 303);
    const view = viewOf(deps, request, pending.parameters.ui_locales, session.locale);
    return sendPage(reply, view, noAccessPage(view, pending, nameForUsers(client), session));
  });
}

/** The account chooser: `prompt=select_account` (OIDC Core §3.1.2.1). */
async function accountChoiceRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/signin/account', { config: page }, async (request, reply) => {
    const { request: request_id } = request.queryParameters;
    const pending = await requirePendingRequest(deps, request, request_id);
    const session = await currentSession(deps, request);
    if (!session) return reply.redirect(`/signin?request=${pending.request_id}`, 303);
    const client = await deps.clients.find(pending.parameters.client_id);
    const asking = client ? appForUsers(client) : { clientName: '' };
    const view = viewOf(deps, request, pending.parameters.ui_locales, session.locale);
    return sendPage(reply, view, accountChoicePage(view, pending, asking, session));
  });

  app.post('/signin/account', { config: page }, async (request, reply) => {
    const form = readForm(request.body);
    const pending = await requirePendingRequest(deps, request, form.request);
    const session = await currentSession(deps, request);
    // "Continue as" names one account; the user of another one that is signed in by now was not asked.
    if (session && form.user !== session.user_id) {
      return reply.redirect(`/signin/account?request=${pending.request_id}`, 303);
    }
    if (session) await markAccountSelected(deps.db, pending.request_id, session.user_id);
    return reply.redirect(returnPathOf({ request_id: pending.request_id, next: undefined }), 303);
  });
}

/** Asks the user whether a client may have the scope that it requests (OIDC Core §3.1.2.4). */
async function consentRoutes(app: FastifyInstance, deps: Deps) {
  /**
   * The user whose consent is needed now. A request that needs a sign-in first, or has its consent already, cannot be
   * answered here, whatever led the browser to this address.
   * @returns otherwise the path where the request continues.
   */
  async function consentNeeded(request: FastifyRequest, pending: PendingRequest) {
    const { client } = await recheckClient(deps, pending.parameters, request.ip); // it may have been suspended meanwhile
    const session = await currentSession(deps, request);
    if (!session) return `/signin?request=${pending.request_id}`;
    const step = await findStep(deps, pending.parameters, { client, session, pending });
    return step === 'consent' ? { client, session } : continuePath(pending);
  }

  app.get('/consent', { config: page }, async (request, reply) => {
    const pending = await requirePendingRequest(deps, request, request.queryParameters.request);
    const asked = await consentNeeded(request, pending);
    if (typeof asked === 'string') return reply.redirect(asked, 303);
    const { client, session } = asked;
    const view = viewOf(deps, request, pending.parameters.ui_locales, session.locale);
    const attributes = await deps.attributes.read();
    const { parameters } = pending;
    const wanted = [...claimsWithin(attributes, parameters.scope), ...claimsBeyondScope(parameters, attributes)];
    const user = await requireUser(deps, session.user_id);
    const values = await userClaims(user, wanted, { lists: noLists, attributes });
    const owner = await registeredBy(deps, client);
    return sendPage(
      reply,
      view,
      consentPage(view, pending, {
        client,
        registeredBy: owner,
        user: session,
        shared: { values, attributes },
        scopes: await deps.scopes.read(),
        apiRegister: await deps.apis.read(),
      }),
    );
  });

  app.post('/consent', { config: page }, async (request, reply) => {
    const form = readForm(request.body);
    const pending = await requirePendingRequest(deps, request, form.request);
    const asked = await consentNeeded(request, pending);
    if (typeof asked === 'string') return reply.redirect(asked, 303);
    // Valid only from the user who is signed in now.
    if (form.user !== asked.session.user_id) {
      return reply.redirect(`/consent?request=${pending.request_id}`, 303);
    }
    if (form.decision === 'allow') {
      await giveConsent(deps, asked.session, pending);
      return reply.redirect(continuePath(pending), 303);
    }
    if (form.decision !== 'deny') throw invalidRequest('decision must be allow or deny.');
    const denial = new AuthorizationError('access_denied', 'The user did not allow this.');
    const outcome = await answerWithError(deps, pending.parameters, denial, pending);
    return respond(deps, reply, pending.parameters.ui_locales, outcome, 303);
  });
}

const authorize: OperationDescription = {
  id: 'authorize',
  tag: 'OIDC',
  summary: 'Start a sign-in (authorization code with PKCE)',
  description:
    'A refusal is a page until `client_id` and `redirect_uri` are known to be valid; from then on a redirect.',
  parameters: describedParameters,
  answers: {
    200: {
      description: 'With `response_mode=form_post`: a page whose form carries what the redirect would have.',
      html: true,
    },
    302: {
      description:
        'Redirect to the client with `code`, `state` and `iss` or with `error`; or to `/signin`. `access_denied`: the user has canceled the sign-in, or did not allow it.',
    },
  },
  refusals: ['invalid_request', 'unauthorized_client', 'rate_limited'],
};

const { parameters: _, answers: __, ...shared } = authorize;
const authorizeByPost: OperationDescription = {
  ...shared,
  id: 'authorizeByPost',
  summary: 'Start a sign-in, with the parameters in a form',
  description: 'As by GET, after one redirect. The form has the same parameters (OIDC Core section 3.1.2.1).',
  body: {
    form: true,
    schema: form(
      Object.fromEntries(
        Object.entries(describedParameters).map(([name, { description, required, schema }]) => {
          const member = { ...schema, description };
          return [name, required ? member : Type.Optional(member)];
        }),
      ),
    ),
  },
  answers: { 303: { description: 'Redirect to the same request by GET.' } },
};

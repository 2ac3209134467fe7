import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { findUserByEmail } from '../../accounts/statements.ts';
import { notFound, refusal } from '../../platform/errors.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';
import { parseParameters, queryOf, readForm } from '../../platform/http/parameters.ts';
import { refusalOfBlockedCookies, tryCookie } from '../../platform/pages/cookie-check.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import { listIdentities } from '../credentials/identities.store.ts';
import type { Provider } from '../credentials/providers.ts';
import { confirmationMethodsOf } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { requirePendingRequest } from '../sessions/browser.ts';
import { redirectAfterSignIn, resolveReturnTarget, signInRequestOf } from '../sessions/return-target.ts';
import { requireFirstFactor } from '../sessions/session.ts';
import { findKnownDevice } from '../sessions/store.ts';
import { providerAccountRoutes } from './account-routes.ts';
import { completeUpstreamAuthorization, spendOnce } from './complete-upstream-authorization.ts';
import { type Confirmation, confirmationPage, openConfirmation, sealConfirmation } from './confirmation.ts';
import { linkBySignedInUser } from './link-identity.ts';
import { refuseIdentity } from './refuse-identity.ts';
import { confirmWithIdentity, signInWithIdentity } from './sign-in-with-identity.ts';
import { openUpstreams } from './upstream.ts';
import type { UpstreamAccount } from './upstream-account.ts';
import {
  callbackContext,
  failureReturnPath,
  isCrossSiteRequest,
  isSameOriginRequest,
  openUpstreamAuthorization,
  safeReturnTarget,
  startUpstreamAuthorization,
  type UpstreamAuthorization,
  type UpstreamRequest,
  upstreamAuthorizationSeconds,
} from './upstream-authorization.ts';

const tag = 'Federated';

const listProviders: OperationDescription = {
  id: 'listProviders',
  tag,
  summary: 'List providers to sign in with',
  description: 'Only what is configured; an empty list if nothing is. `loginUrl` starts the sign-in.',
  answers: {
    200: {
      description: 'The configured providers; an empty list if there are none.',
      schema: Type.Object({
        providers: Type.Array(
          Type.Object({ id: Type.String(), label: Type.String(), loginUrl: Type.String({ format: 'uri' }) }),
        ),
      }),
    },
  },
};

const startFederatedSignIn: OperationDescription = {
  id: 'startFederatedSignIn',
  tag,
  summary: 'Sign in with a provider',
  description:
    'For browsers, from any page. The provider redirects back to Signet, which redirects to `next`. If another site started the sign-in, the user must confirm it before it takes effect.',
  parameters: {
    provider: { description: '`id` of a configured provider.' },
    next: { description: 'A path on this service; any other value leads to `/account`.' },
  },
  answers: { 302: { description: "Redirect to the provider's authorization endpoint." } },
  refusals: ['access_denied', 'not_found', 'rate_limited', 'upstream_failed'],
};

type ProviderRoute = { Params: { provider: string } };

/** Signing in with an upstream OpenID Connect issuer (specification §4.8, §4.9; decisions §9). */
export async function federationRoutes(app: FastifyInstance, deps: Deps) {
  const upstreams = openUpstreams(deps);
  const start = async (reply: FastifyReply, provider: Provider, request: UpstreamRequest, status: 302 | 303) => {
    const { url, cookie } = await startUpstreamAuthorization(deps, upstreams, provider, request);
    return withAuthorizationCookie(deps, reply, cookie).redirect(url, status);
  };

  // A product's own page may show the buttons.
  app.get('/v1/auth/providers', { config: { operation: listProviders, cors: true } }, async () => {
    const { baseUrl } = deps.config;
    const providers = (await deps.providers.read()).all.map(({ id, label }) => ({
      id,
      label,
      loginUrl: `${baseUrl}/auth/${id}/login`,
    }));
    return { providers };
  });

  app.get<ProviderRoute>(
    '/auth/:provider/login',
    { config: { page: true, operation: startFederatedSignIn } },
    async (request, reply) => {
      const provider = await requireProvider(deps, request.params.provider);
      // Our own page has given the browser a cookie. From elsewhere, its return from the provider shows whether it keeps one.
      const isFromOurPage = request.headers['sec-fetch-site'] === 'same-origin';
      const trial = isFromOurPage ? tryCookie(deps, request, reply) : undefined;
      if (trial) return trial;
      const blocked = refusalOfBlockedCookies(deps, request);
      if (blocked) throw blocked;
      const upstreamRequest = await readUpstreamRequest(deps, request, provider);
      // Only our own page links here with `confirm`: a provider that does not ask the user would make the session fresh.
      if (upstreamRequest.mode === 'confirm' && upstreamRequest.fromElsewhere) {
        const back = failureReturnPath({ ...safeReturnTarget(deps, upstreamRequest.returnTarget), mode: 'confirm' });
        return reply.redirect(back, 302);
      }
      return start(reply, provider, upstreamRequest, 302);
    },
  );

  app.get<ProviderRoute>('/auth/:provider/callback', { config: { page: true } }, async (request, reply) => {
    const provider = await requireProvider(deps, request.params.provider);
    const query = queryOf(request.url);
    const authorization = readAuthorizationCookie(deps, request, provider);
    const trial = authorization ? undefined : tryCookie(deps, request, reply);
    if (trial) return trial;
    if (!authorization || parseParameters(query).values.state !== authorization.state)
      throw await refuseUnknownState(deps, request, provider);
    // Each authorization gets one callback. Another state, as of an older tab, leaves the cookie to the newer one.
    clearCookie(reply, deps.config, cookieNames(deps.config).federation);
    const callback = { authorization, query, address: request.ip };
    const account = await completeUpstreamAuthorization(deps, upstreams, provider, callback);
    if (account === 'cancelled') {
      const back = failureReturnPath(authorization);
      return reply.redirect(`${back}${back.includes('?') ? '&' : '?'}cancelled=${provider.id}`, 303);
    }
    return handleIdentity(deps, request, reply, { authorization, provider, account });
  });

  app.post<ProviderRoute>('/auth/:provider/continue', { config: { page: true } }, async (request, reply) => {
    const provider = await requireProvider(deps, request.params.provider);
    const form = readForm(request.body);
    const authorization = readAuthorizationCookie(deps, request, provider);
    const confirmed = authorization && openConfirmation(deps, form.answer, authorization);
    if (!authorization || !confirmed || !(await spendOnce(deps, `federation-answer:${confirmed.once}`, authorization)))
      throw await refuseUnknownState(deps, request, provider);
    clearCookie(reply, deps.config, cookieNames(deps.config).federation);
    const { account, agreement } = confirmed;
    return handleIdentity(deps, request, reply, { authorization, provider, account, agreement });
  });

  await providerAccountRoutes(app, deps, async (reply, provider_id, session) => {
    const provider = await requireProvider(deps, provider_id);
    const link = { mode: 'link', returnTarget: {}, session, fromOurPage: true, address: reply.request.ip } as const;
    return start(reply, provider, link, 303);
  });
}

async function requireProvider({ providers }: Pick<Deps, 'providers'>, id: string): Promise<Provider> {
  const provider = (await providers.read()).find(id);
  if (!provider) throw notFound();
  return provider;
}

const withAuthorizationCookie = (deps: Deps, reply: FastifyReply, sealed: string): FastifyReply => {
  setCookie(reply, deps.config, cookieNames(deps.config).federation, sealed, upstreamAuthorizationSeconds);
  return reply.headers({ 'referrer-policy': 'no-referrer' });
};

async function readUpstreamRequest(deps: Deps, request: FastifyRequest, provider: Provider): Promise<UpstreamRequest> {
  const { request: request_id, next, confirm } = request.queryParameters;
  const pending = request_id === undefined ? undefined : await requirePendingRequest(deps, request, request_id);
  const returnTarget = pending ? { request_id: pending.request_id } : { next };
  const site = request.headers['sec-fetch-site'];
  const from = { returnTarget, address: request.ip, fromElsewhere: isCrossSiteRequest(site) };
  if (confirm !== undefined) return confirmationUpstreamRequest(deps, request, provider, from);
  const signIn = { ...from, mode: 'sign_in', fromOurPage: isSameOriginRequest(site) } as const;
  if (!pending) return signIn;
  const { prompt, max_age, login_hint } = pending.parameters;
  return {
    ...signIn,
    // A client that requires a new authentication requires it of the provider, too.
    asksAnew: prompt.includes('login') || max_age === 0,
    max_age,
    login_hint: login_hint && (await ownHint(deps, request, provider, login_hint)),
  };
}

/**
 * The address that the client named, if it is that of an account which is linked with the provider and has signed in on this
 * device: any other could lead the user to an account, or a tenant, of an attacker's choice, and would tell who has one.
 */
async function ownHint(deps: Deps, request: FastifyRequest, { issuer }: Provider, login_hint: string) {
  const { db, config } = deps;
  const device = cookie(request, cookieNames(config).device);
  const user = device === undefined ? undefined : await findUserByEmail(deps, login_hint);
  if (device === undefined || !user || !(await findKnownDevice(db, user.user_id, device, 0))) return undefined;
  const isLinked = (await listIdentities(db, user.user_id)).some((one) => one.issuer === issuer);
  return isLinked ? login_hint : undefined;
}

async function confirmationUpstreamRequest(
  deps: Deps,
  request: FastifyRequest,
  { issuer }: Provider,
  from: Pick<UpstreamRequest, 'returnTarget' | 'address' | 'fromElsewhere'>,
): Promise<UpstreamRequest> {
  const session = await requireFirstFactor(deps, request);
  if ((await confirmationMethodsOf(deps, session.user_id)).secondFactor === 'passkey') {
    const back = failureReturnPath({ ...safeReturnTarget(deps, from.returnTarget), mode: 'confirm' });
    throw refusal(
      'access_denied',
      { key: 'confirm.passkey.only' },
      { title: { key: 'confirm.title' }, exit: { path: back, label: 'error.to_passkey' } },
    );
  }
  const identities = await listIdentities(deps.db, session.user_id);
  const login_hint = identities.find((one) => one.issuer === issuer)?.email ?? undefined;
  return { ...from, mode: 'confirm', session, asksAnew: true, login_hint };
}

const readAuthorizationCookie = (deps: Deps, request: FastifyRequest, provider: Provider) =>
  openUpstreamAuthorization(deps, cookie(request, cookieNames(deps.config).federation), provider);

const refuseUnknownState = async (deps: Deps, request: FastifyRequest, provider: Provider) =>
  refusalOfBlockedCookies(deps, request) ??
  refuseIdentity(
    deps,
    { provider, address: request.ip, mode: undefined, exit: { path: '/account', label: 'error.continue' } },
    { code: 'invalid_request', reason: 'state_unknown' },
  );

type ReceivedIdentity = {
  authorization: UpstreamAuthorization;
  provider: Provider;
  account: UpstreamAccount;
  agreement?: string;
};

async function handleIdentity(deps: Deps, request: FastifyRequest, reply: FastifyReply, received: ReceivedIdentity) {
  const { authorization, provider, account, agreement } = received;
  const context = callbackContext(provider, request.ip, authorization);
  const signInRequest = await signInRequestOf(deps, request, {
    ...authorization,
    confirms: authorization.mode === 'confirm',
  });
  const session = signInRequest.previous;
  const ask = (confirmation: Confirmation) =>
    askForConfirmation(deps, request, reply, { ...received, locale: session?.locale }, confirmation);
  const signIn = { account, context, signInRequest, authorization, agreement };
  if (authorization.mode === 'sign_in') {
    const outcome = await signInWithIdentity(deps, signIn);
    if (outcome.kind === 'question') return ask(outcome);
    return redirectAfterSignIn(deps, reply, signInRequest, outcome, `provider.${provider.id}`);
  }
  const { session_id, user_id } = authorization;
  // For `confirm` and `link` the browser must still have the session that began the authorization.
  if (!session || session.session_id !== session_id || session.user_id !== user_id) {
    const refused = { code: 'access_denied', reason: 'session_changed', user_id } as const;
    throw await refuseIdentity(deps, { ...context, exit: { path: '/signin?stay=1', label: 'signin.submit' } }, refused);
  }
  if (authorization.mode === 'confirm') {
    return redirectAfterSignIn(deps, reply, signInRequest, await confirmWithIdentity(deps, signIn, session.user_id));
  }
  const confirmation = await linkBySignedInUser(deps, { user: session, account, context, agreement });
  return confirmation ? ask(confirmation) : reply.redirect('/account/security/providers?done=linked', 303);
}

/** Sets the cookie again, for the form of the page. */
async function askForConfirmation(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { authorization, provider, account, locale }: ReceivedIdentity & { locale: string | null | undefined },
  confirmation: Confirmation,
) {
  const sealed = cookie(request, cookieNames(deps.config).federation);
  if (sealed !== undefined) withAuthorizationCookie(deps, reply, sealed);
  const { endsAt, ui_locales, ...app } = await resolveReturnTarget(deps, request, authorization);
  // No links to the page in other languages: it cannot be requested again.
  const view = { ...viewOf(deps, request, ui_locales, locale), query: undefined };
  const answer = sealConfirmation(deps, authorization, account, confirmation);
  const back = confirmation.replaces === undefined ? failureReturnPath(authorization) : '/account';
  return sendPage(reply, view, confirmationPage(view, { provider, confirmation, sealed: answer, back, endsAt, app }));
}

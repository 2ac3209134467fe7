import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../http/cookies.ts';
import { parseParameters, queryOf } from '../http/parameters.ts';
import { requirePendingRequest } from '../oauth/authorize/browser.ts';
import { currentSession, requireSession, type Session } from '../sessions/session.ts';
import { sendOnward, visitOf } from '../signin/arrival.ts';
import { providerAccountRoutes } from './account/routes.ts';
import { beginDetour, type Departure } from './begin-detour.ts';
import { type Detour, detourSeconds, openDetour, wayBack } from './detour.ts';
import { finishDetour } from './finish-detour.ts';
import { linkByPerson } from './link-identity.ts';
import { listProviders, startFederatedSignIn } from './operations.ts';
import { findProvider, type Provider } from './provider.ts';
import { refuseIdentity, type Trip } from './refuse-identity.ts';
import { confirmWithIdentity, signInWithIdentity } from './sign-in-with-identity.ts';
import { listIdentities } from './store.ts';
import { openUpstreams } from './upstream.ts';
import type { UpstreamAccount } from './upstream-account.ts';

type OneProvider = { Params: { provider: string } };

/** Signing in with an upstream OpenID Connect issuer (specification §4.8, §4.9; decisions §9). */
export async function federationRoutes(app: FastifyInstance, deps: Deps) {
  const upstreams = openUpstreams(deps);

  app.get('/v1/auth/providers', { config: { operation: listProviders } }, async (_request, reply) => {
    const providers = deps.config.providers.map(({ id, label }) => ({
      id,
      label,
      loginUrl: `${deps.config.baseUrl}/auth/${id}/login`,
    }));
    return reply.header('cache-control', 'no-store').send({ providers });
  });

  app.get<OneProvider>(
    '/auth/:provider/login',
    { config: { page: true, operation: startFederatedSignIn } },
    async (request, reply) => {
      const provider = requireProvider(deps, request.params.provider);
      const { values } = parseParameters(queryOf(request.url));
      const departure =
        values.confirm === undefined
          ? await signInDeparture(deps, request, values)
          : await confirmDeparture(deps, request, provider, values);
      const { url, cookie } = await beginDetour(deps, upstreams, provider, { ...departure, address: request.ip });
      return leave(deps, reply, cookie).redirect(url, 302);
    },
  );

  app.get<OneProvider>('/auth/:provider/callback', { config: { page: true } }, async (request, reply) => {
    const provider = requireProvider(deps, request.params.provider);
    const query = queryOf(request.url);
    const detour = await requireDetour(deps, request, provider, parseParameters(query).values.state);
    // This one is over whatever comes of it. Only the state that the cookie names gets here, so of two tabs the newer
    // keeps its cookie when the older comes back.
    clearCookie(reply, deps.config, cookieNames(deps.config).federation);
    const account = await finishDetour(deps, upstreams, provider, { detour, query, address: request.ip });
    if (account === 'cancelled') return goBack(reply, detour, provider);
    return arrive(deps, request, reply, { detour, provider, account });
  });

  await providerAccountRoutes(app, deps, async (request, reply, { provider_id, session }) => {
    const provider = requireProvider(deps, provider_id);
    const departure = { mode: 'link', goal: {}, session, asksAnew: false, address: request.ip } as const;
    const { url, cookie } = await beginDetour(deps, upstreams, provider, departure);
    return leave(deps, reply, cookie).redirect(url, 303);
  });
}

/** Only what is configured exists. */
function requireProvider({ config }: Deps, id: string): Provider {
  const provider = findProvider(config, id);
  if (!provider) throw notFound();
  return provider;
}

const leave = (deps: Deps, reply: FastifyReply, sealed: string): FastifyReply => {
  setCookie(reply, deps.config, cookieNames(deps.config).federation, sealed, detourSeconds);
  return reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
};

type Going = Omit<Departure, 'address'>;

type Wish = Readonly<Record<string, string | undefined>>;

async function signInDeparture(
  deps: Deps,
  request: FastifyRequest,
  { request: request_id, next }: Wish,
): Promise<Going> {
  if (request_id === undefined) return { mode: 'sign_in', goal: { next } };
  const pending = await requirePendingRequest(deps, request, request_id);
  const { prompt, max_age, login_hint } = pending.parameters;
  return {
    mode: 'sign_in',
    goal: { request_id: pending.request_id },
    // A client that wants its person asked anew wants that from whoever asks them.
    asksAnew: prompt.includes('login') || max_age === 0,
    login_hint,
  };
}

async function confirmDeparture(deps: Deps, request: FastifyRequest, { issuer }: Provider, wish: Wish): Promise<Going> {
  const session = await requireSession(deps, request);
  const { goal } = await signInDeparture(deps, request, wish);
  const identities = await listIdentities(deps.db, session.user_id);
  const login_hint = identities.find((one) => one.issuer === issuer)?.email ?? undefined;
  return { mode: 'confirm', goal, session, asksAnew: true, login_hint };
}

/** @throws {RequestError} `invalid_request` unless this browser left for this provider with this state. */
async function requireDetour(
  deps: Deps,
  request: FastifyRequest,
  provider: Provider,
  state: string | undefined,
): Promise<Detour> {
  const detour = openDetour(deps, cookie(request, cookieNames(deps.config).federation), provider.id);
  if (detour && state === detour.state) return detour;
  const trip = { provider, address: request.ip, back: '/account' };
  const why = { code: 'invalid_request', say: 'federation.over', reason: 'state_unknown' } as const;
  throw await refuseIdentity(deps, trip, why);
}

/** With a word about it on the page that it leads to. */
function goBack(reply: FastifyReply, detour: Detour, provider: Provider): FastifyReply {
  const back = wayBack(detour);
  const cancelled = new URLSearchParams({ cancelled: provider.id });
  return reply
    .header('cache-control', 'no-store')
    .redirect(`${back}${back.includes('?') ? '&' : '?'}${cancelled}`, 303);
}

type Arrived = { detour: Detour; provider: Provider; account: UpstreamAccount };

async function arrive(deps: Deps, request: FastifyRequest, reply: FastifyReply, arrived: Arrived) {
  const { detour, provider, account } = arrived;
  const trip: Trip = { provider, address: request.ip, back: wayBack(detour) };
  const visit = await visitOf(deps, request, detour);
  if (detour.mode === 'sign_in') {
    return sendOnward(deps, reply, visit, await signInWithIdentity(deps, { account, trip, visit }));
  }
  const session = await requireSameSession(deps, request, detour, trip);
  if (detour.mode === 'confirm') {
    const outcome = await confirmWithIdentity(deps, { account, trip, visit }, session.user_id);
    return sendOnward(deps, reply, visit, outcome);
  }
  await linkByPerson(deps, { user: session, account, trip });
  return reply.header('cache-control', 'no-store').redirect('/account/security/providers?done=linked', 303);
}

/** @throws {RequestError} `access_denied` unless the session that began the detour is still the browser's. */
async function requireSameSession(deps: Deps, request: FastifyRequest, detour: Detour, trip: Trip): Promise<Session> {
  const session = await currentSession(deps, request);
  if (session && session.session_id === detour.session_id && session.user_id === detour.user_id) return session;
  throw await refuseIdentity(
    deps,
    { ...trip, back: '/signin' },
    {
      code: 'access_denied',
      say: 'federation.session_changed',
      reason: 'session_changed',
      user_id: detour.user_id,
    },
  );
}

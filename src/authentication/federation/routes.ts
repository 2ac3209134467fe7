import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { notFound, refusal } from '../../platform/errors.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { parseParameters, queryOf, readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { listIdentities } from '../credentials/identities.store.ts';
import { findProvider, type Provider } from '../credentials/providers.ts';
import { waysOf } from '../credentials/ways-to-confirm.ts';
import type { Deps } from '../deps.ts';
import { requireWaitingRequest } from '../sessions/browser.ts';
import { openGoal, sendOnward, visitOf } from '../sessions/return-target.ts';
import { currentSession, requireSession, type Session } from '../sessions/session.ts';
import { providerAccountRoutes } from './account/routes.ts';
import { openAnswer, sealAnswer, type Waiting } from './answer.ts';
import { beginDetour, type Departure, destinationOf } from './begin-detour.ts';
import { type Detour, detourSeconds, openDetour, wayBack } from './detour.ts';
import { finishDetour, spendOnce } from './finish-detour.ts';
import { linkByPerson } from './link-identity.ts';
import { listProviders, startFederatedSignIn } from './operations.ts';
import { isFromElsewhere, isFromOurPage } from './origin.ts';
import { questionPage } from './page.ts';
import type { Question } from './question.ts';
import { refuseIdentity, type Trip } from './refuse-identity.ts';
import { confirmWithIdentity, signInWithIdentity } from './sign-in-with-identity.ts';
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
    // A product's own page draws the buttons; nothing here depends on a cookie.
    return reply.headers({ 'access-control-allow-origin': '*' }).send({ providers });
  });

  app.get<OneProvider>(
    '/auth/:provider/login',
    { config: { page: true, operation: startFederatedSignIn } },
    async (request, reply) => {
      const provider = requireProvider(deps, request.params.provider);
      const values = request.queryParameters;
      const departure = await departureOf(deps, request, provider, values);
      // Only our own confirm page leads here with `confirm`. A provider that asks nobody would make the session fresh.
      if (departure.mode === 'confirm' && departure.fromElsewhere) {
        const back = wayBack({ ...destinationOf(deps, departure.goal), mode: 'confirm' });
        return reply.redirect(back, 302);
      }
      const { url, cookie } = await beginDetour(deps, upstreams, provider, departure);
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

  app.post<OneProvider>('/auth/:provider/continue', { config: { page: true } }, async (request, reply) => {
    const provider = requireProvider(deps, request.params.provider);
    const form = readForm(request.body);
    const detour = openDetour(deps, cookie(request, cookieNames(deps.config).federation), provider.id);
    const answer = detour && openAnswer(deps, form.answer, detour);
    if (!detour || !answer || !(await spendAnswer(deps, detour, answer))) throw await overNow(deps, request, provider);
    clearCookie(reply, deps.config, cookieNames(deps.config).federation);
    const { account, agreement } = answer;
    return arrive(deps, request, reply, { detour, provider, account, agreement });
  });

  await providerAccountRoutes(app, deps, async (request, reply, { provider_id, session }) => {
    const provider = requireProvider(deps, provider_id);
    const departure = { mode: 'link', goal: {}, session, fromOurPage: true, address: request.ip } as const;
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
  return reply.headers({ 'referrer-policy': 'no-referrer' });
};

type Wish = Readonly<Record<string, string | undefined>>;

async function departureOf(deps: Deps, request: FastifyRequest, provider: Provider, wish: Wish): Promise<Departure> {
  const departure = await signInDeparture(deps, request, wish);
  return wish.confirm === undefined ? departure : confirmDeparture(deps, request, provider, departure);
}

async function signInDeparture(
  deps: Deps,
  request: FastifyRequest,
  { request: request_id, next }: Wish,
): Promise<Departure> {
  const site = request.headers['sec-fetch-site'];
  const from = {
    mode: 'sign_in',
    address: request.ip,
    fromOurPage: isFromOurPage(site),
    fromElsewhere: isFromElsewhere(site),
  } as const;
  if (request_id === undefined) return { ...from, goal: { next } };
  const pending = await requireWaitingRequest(deps, request, request_id);
  const { prompt, max_age, login_hint } = pending.parameters;
  return {
    ...from,
    goal: { request_id: pending.request_id },
    // A client that wants its person asked anew wants that from whoever asks them.
    asksAnew: prompt.includes('login') || max_age === 0,
    max_age,
    login_hint,
  };
}

async function confirmDeparture(
  deps: Deps,
  request: FastifyRequest,
  { issuer }: Provider,
  { goal, address, fromElsewhere }: Departure,
): Promise<Departure> {
  const session = await requireSession(deps, request);
  if ((await waysOf(deps, session.user_id)).secondFactor === 'passkey') {
    const back = wayBack({ ...destinationOf(deps, goal), mode: 'confirm' });
    throw refusal('access_denied', { key: 'confirm.passkey.only' }, { back });
  }
  const identities = await listIdentities(deps.db, session.user_id);
  const login_hint = identities.find((one) => one.issuer === issuer)?.email ?? undefined;
  return { mode: 'confirm', goal, session, asksAnew: true, login_hint, address, fromElsewhere };
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
  throw await overNow(deps, request, provider);
}

const overNow = (deps: Deps, request: FastifyRequest, provider: Provider) =>
  refuseIdentity(
    deps,
    { provider, address: request.ip, back: '/account' },
    { code: 'invalid_request', say: 'federation.over', reason: 'state_unknown' },
  );

const spendAnswer = (deps: Deps, { started_at }: Detour, { once }: Waiting) =>
  spendOnce(deps, { secret: `federation-answer:${once}`, expires_at: started_at + detourSeconds });

/** With a word about it on the page that it leads to. */
function goBack(reply: FastifyReply, detour: Detour, provider: Provider): FastifyReply {
  const back = wayBack(detour);
  const cancelled = new URLSearchParams({ cancelled: provider.id });
  return reply.redirect(`${back}${back.includes('?') ? '&' : '?'}${cancelled}`, 303);
}

type Arrived = { detour: Detour; provider: Provider; account: UpstreamAccount; agreement?: string };

async function arrive(deps: Deps, request: FastifyRequest, reply: FastifyReply, arrived: Arrived) {
  const { detour, provider, account, agreement } = arrived;
  const trip: Trip = { provider, address: request.ip, back: wayBack(detour) };
  const visit = await visitOf(deps, request, detour);
  const signIn = { account, trip, visit, detour, agreement };
  if (detour.mode === 'sign_in') {
    const outcome = await signInWithIdentity(deps, signIn);
    return outcome.kind === 'question'
      ? ask(deps, request, reply, { ...arrived, locale: visit.previous?.locale }, outcome)
      : sendOnward(deps, reply, visit, outcome);
  }
  const session = await requireSameSession(deps, request, detour, trip);
  if (detour.mode === 'confirm') {
    return sendOnward(deps, reply, visit, await confirmWithIdentity(deps, signIn, session.user_id));
  }
  const question = await linkByPerson(deps, { user: session, account, trip, agreement });
  if (question) return ask(deps, request, reply, { ...arrived, locale: session.locale }, question);
  return reply.redirect('/account/security/providers?done=linked', 303);
}

/** The cookie of the detour stays, for whoever says yes in this browser. */
async function ask(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  arrived: Arrived & { locale: string | null | undefined },
  question: Question,
) {
  const { detour, provider, account, locale } = arrived;
  const sealed = cookie(request, cookieNames(deps.config).federation);
  if (sealed !== undefined) leave(deps, reply, sealed);
  const { endsAt, ui_locales } = await openGoal(deps, request, detour);
  // What the provider sent comes once: a link to the same page in another language could not repeat it.
  const view = { ...viewOf(deps, request, ui_locales, locale), query: undefined };
  const answer = sealAnswer(deps, detour, account, question);
  const back = question.replaces === undefined ? wayBack(detour) : '/account';
  return sendPage(reply, view, questionPage(view, { provider, question, sealed: answer, back, endsAt }));
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

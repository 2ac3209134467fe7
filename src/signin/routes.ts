import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { RequestError } from '../errors.ts';
import { clearCookie, cookieNames, setCookie } from '../http/cookies.ts';
import { sendPage } from '../http/page.ts';
import { type Parameters, parseParameters, queryOf, readForm } from '../http/parameters.ts';
import { requirePendingRequest } from '../oauth/authorize/browser.ts';
import { markAccountSelected, type PendingRequest } from '../oauth/authorize/store.ts';
import { currentSession, sessionSeconds } from '../sessions/session.ts';
import { signOut } from '../sessions/start-session.ts';
import { nextPath } from './next-path.ts';
import { accountChoicePage, type SignInForm, signInPage } from './page.ts';
import { signInWithPassword } from './sign-in.ts';

const config = { page: true } as const;

/** The sign-in page (decisions §9): a form that works without JavaScript. */
export async function signInRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/signin', { config }, async (request, reply) => {
    const query = parseParameters(queryOf(request.url)).values;
    return sendPage(reply, signInPage(await formFor(deps, request, query)));
  });

  app.post('/signin', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const pending = form.request === undefined ? undefined : await requirePendingRequest(deps, request, form.request);
    try {
      const token = await signInWithPassword(deps, {
        username: form.username ?? '',
        password: form.password ?? '',
        previous: await currentSession(deps, request),
        request_id: pending?.request_id,
        address: request.ip,
        userAgent: request.headers['user-agent'],
      });
      if (token !== undefined) {
        setCookie(reply, deps.config, cookieNames(deps.config).session, token, sessionSeconds);
        return reply.header('cache-control', 'no-store').redirect(onward(deps, pending, form), 303);
      }
    } catch (error) {
      if (!(error instanceof RequestError) || (error.status !== 429 && error.status !== 503)) throw error;
      if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
      return sendPage(
        reply,
        signInPage({ ...(await formFor(deps, request, form)), problem: delayed(error) }),
        error.status,
      );
    }
    const problem =
      'That e-mail address and password do not match an account that may sign in. Check both and try again.';
    return sendPage(reply, signInPage({ ...(await formFor(deps, request, form)), problem }), 401);
  });

  app.get('/signin/account', { config }, async (request, reply) => {
    const { request: request_id } = parseParameters(queryOf(request.url)).values;
    const pending = await requirePendingRequest(deps, request, request_id);
    const session = await currentSession(deps, request);
    if (!session) return reply.redirect(`/signin?request=${pending.request_id}`, 303);
    const { clientName = '', endsAt } = await describe(deps, pending);
    return sendPage(
      reply,
      accountChoicePage({ request_id: pending.request_id, clientName, endsAt, email: session.email }),
    );
  });

  app.post('/signin/account', { config }, async (request, reply) => {
    const pending = await requirePendingRequest(deps, request, readForm(request.body).request);
    if (await currentSession(deps, request)) await markAccountSelected(deps.db, pending.request_id, now(deps));
    return reply.redirect(onward(deps, pending, {}), 303);
  });

  app.post('/signout', { config }, async (request, reply) => {
    const session = await currentSession(deps, request);
    if (session) await signOut(deps, session);
    return endOfSession(deps, reply);
  });
}

function endOfSession(deps: Deps, reply: FastifyReply) {
  clearCookie(reply, deps.config, cookieNames(deps.config).session);
  return reply.headers({ 'cache-control': 'no-store', 'clear-site-data': '"cache"' }).redirect('/signin', 303);
}

const onward = (deps: Deps, pending: PendingRequest | undefined, form: Parameters): string =>
  pending ? `/oauth/authorize/continue?request=${pending.request_id}` : nextPath(form.next, deps.config.baseUrl);

async function formFor(deps: Deps, request: FastifyRequest, query: Parameters): Promise<SignInForm> {
  if (query.request === undefined) return { next: query.next, username: query.username };
  const pending = await requirePendingRequest(deps, request, query.request);
  return {
    request_id: pending.request_id,
    username: query.username ?? pending.parameters.login_hint,
    ...(await describe(deps, pending)),
  };
}

/** What a page says about the application that waits, and what its policy needs to know of it. */
async function describe(deps: Deps, { parameters }: PendingRequest) {
  const client = await deps.clients.find(parameters.client_id);
  return { clientName: client?.name, endsAt: parameters.redirect_uri };
}

const delayed = (error: RequestError): string =>
  error.status === 429
    ? `There were too many attempts. Wait ${waitOf(error.retryAfter ?? 60)}, then try again.`
    : 'So many people are signing in that we cannot check your password right now. Try again in a few seconds.';

const waitOf = (seconds: number): string =>
  seconds < 90
    ? `${seconds} seconds`
    : seconds < 5400
      ? `${Math.ceil(seconds / 60)} minutes`
      : `${Math.ceil(seconds / 3600)} hours`;

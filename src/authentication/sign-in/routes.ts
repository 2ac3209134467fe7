import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import type { Renderable } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import { allConfirmationMethods, confirmationMethodsOf } from '../credentials/confirmation-methods.ts';
import type { Deps } from '../deps.ts';
import type { WaitingRequest } from '../ports.ts';
import { requireWaitingRequest } from '../sessions/browser.ts';
import type { Outcome } from '../sessions/complete-sign-in.ts';
import { localPath } from '../sessions/local-path.ts';
import { redirectAfterSignIn, signInRequestOf } from '../sessions/return-target.ts';
import { currentSession, requireSession, type Session } from '../sessions/session.ts';
import { signOut } from '../sessions/start-session.ts';
import { confirmPage, type SignInForm, signInPage } from './page.ts';
import { signInWithPassword } from './sign-in.ts';

const config = { page: true } as const;

/** The sign-in pages (decisions §9): forms that work without JavaScript. */
export async function signInRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/signin', { config }, async (request, reply) => {
    const pageState = await readPageState(deps, request, request.queryParameters);
    return sendPage(reply, pageState.view, signInPage(pageState.view, pageState.form));
  });

  app.post('/signin', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const pageState = await readPageState(deps, request, form);
    return attemptPassword(deps, {
      request,
      reply,
      pageState,
      form,
      username: form.username ?? '',
      page: signInPage,
    });
  });

  app.get('/signin/confirm', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const pageState = await readPageState(deps, request, request.queryParameters, session);
    const { user_id, email: username } = session;
    return sendPage(reply, pageState.view, confirmPage(pageState.view, { ...pageState.form, username, user_id }));
  });

  app.post('/signin/confirm', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const form = readForm(request.body);
    const pageState = await readPageState(deps, request, form, session);
    const { user_id, email: username } = session;
    if (pageState.form.secondFactor === 'passkey') {
      const problem = pageState.view.t('confirm.passkey.only');
      return sendPage(
        reply,
        pageState.view,
        confirmPage(pageState.view, { ...pageState.form, username, user_id, problem }),
        403,
      );
    }
    const page: Attempt['page'] = (view, again) => confirmPage(view, { ...again, user_id });
    return attemptPassword(deps, { request, reply, pageState, form, username, page });
  });

  app.post('/signout', { config }, async (request, reply) => {
    const session = await currentSession(deps, request);
    if (session) await signOut(deps, session);
    return clearSession(deps, reply);
  });
}

function clearSession(deps: Deps, reply: FastifyReply) {
  clearCookie(reply, deps.config, cookieNames(deps.config).session);
  return reply.headers({ 'clear-site-data': '"cache"' }).redirect('/signin', 303);
}

type Attempt = {
  request: FastifyRequest;
  reply: FastifyReply;
  pageState: { view: View; form: SignInForm };
  form: Parameters;
  username: string;
  page: (view: View, form: SignInForm & { username: string }) => Page;
};

async function attemptPassword(deps: Deps, { request, reply, pageState, form, username, page }: Attempt) {
  const { view } = pageState;
  const again = (problem: Renderable, status: number) =>
    sendPage(reply, view, page(view, { ...pageState.form, username, problem }), status);
  const signInRequest = await signInRequestOf(deps, request, pageState.form);
  let outcome: Outcome | undefined;
  try {
    outcome = await signInWithPassword(deps, { username, password: form.password ?? '', signInRequest });
  } catch (error) {
    if (!(error instanceof RequestError) || ![403, 429, 503].includes(error.status)) throw error;
    if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    return again(refusalText(view, error), error.status);
  }
  return outcome ? redirectAfterSignIn(deps, reply, signInRequest, outcome) : again(view.t('signin.wrong'), 401);
}

/** @returns what the page says, and in whose language. */
export async function readPageState(deps: Deps, request: FastifyRequest, query: Parameters, session?: Session) {
  const pending = query.request === undefined ? undefined : await requireWaitingRequest(deps, request, query.request);
  const view = viewOf(deps, request, pending?.parameters.ui_locales, session?.locale);
  const cancelled = deps.config.providers.find(({ id }) => id === query.cancelled);
  const form: SignInForm = {
    request_id: pending?.request_id,
    next: pending ? undefined : localPath(query.next, deps.config.baseUrl),
    username: query.username ?? pending?.parameters.login_hint,
    notice: cancelled && view.t('federation.cancelled', { provider: cancelled.label }),
    offersSignUp: deps.config.signUp && deps.mail.works,
    offersReset: deps.mail.works,
    ...(session ? await confirmationMethodsOf(deps, session.user_id) : allConfirmationMethods(deps)),
    ...(pending ? await describe(deps, pending) : {}),
  };
  return { view, form };
}

/** What a page says about the application that sent the user, and what its policy needs to know of it. */
async function describe(deps: Deps, { parameters }: WaitingRequest) {
  return {
    clientName: await deps.authorizationRequests.clientName(parameters.client_id),
    endsAt: parameters.redirect_uri,
  };
}

const refusalText = (view: View, error: RequestError): Renderable =>
  error.userMessage
    ? view.t(error.userMessage.key, error.userMessage.values)
    : error.status === 429
      ? view.t('signin.too_many', { wait: view.duration(error.retryAfter ?? 60) })
      : view.t('signin.overloaded');

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { clearCookie, cookie, cookieNames } from '../../platform/http/cookies.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { digest } from '../../platform/ids.ts';
import type { Renderable } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import { allConfirmationMethods, confirmationMethodsOf } from '../credentials/sign-in-methods.ts';
import { parseCredential } from '../credentials/webauthn.ts';
import type { Deps, WaitingRequest } from '../deps.ts';
import { browserToken, requireWaitingRequest } from '../sessions/browser.ts';
import {
  localPath,
  type Outcome,
  type ReturnTarget,
  redirectAfterSignIn,
  type SignInRequest,
  signInRequestOf,
} from '../sessions/return-target.ts';
import { currentSession, requireSession, type Session } from '../sessions/session.ts';
import { signOut } from '../sessions/sessions.ts';
import { readPendingSignIn, secondFactorPage } from '../two-factor/second-step-routes.ts';
import { confirmPage, type SignInForm, signInPage } from './page.ts';
import {
  completeSecondFactorWithPasskey,
  confirmOptions,
  confirmWithPasskey,
  secondFactorOptions,
  signInOptions,
  signInWithPasskey,
} from './sign-in-with-passkey.ts';
import { signInWithPassword } from './sign-in-with-password.ts';

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
    clearCookie(reply, deps.config, cookieNames(deps.config).session);
    return reply.headers({ 'clear-site-data': '"cache"' }).redirect('/signin', 303);
  });

  addPasskeyRoutes(app, deps);
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

/** The form of a sign-in page, and the view in the language of the request or the user. */
async function readPageState(deps: Deps, request: FastifyRequest, query: Parameters, session?: Session) {
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

/** The name of the application that sent the user, and for the page's policy its redirect URI. */
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

/**
 * Passkeys at sign-in, at confirmation and as a second factor. Each page fetches its options and posts the assertion as a
 * form, so return targets, cookies and redirects are those of any other sign-in.
 */
function addPasskeyRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/signin/passkey/options', async (request, reply) => signInOptions(deps, requesterOf(deps, request, reply)));

  app.post('/signin/passkey', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const { view, form: returnTarget } = await readPageState(deps, request, form);
    return answerAssertion(deps, request, reply, {
      returnTarget,
      view,
      page: (problem) => signInPage(view, { ...returnTarget, problem }),
      check: (browser, signInRequest) =>
        signInWithPasskey(deps, parseCredential(form.credential), browser, signInRequest),
    });
  });

  app.post('/signin/confirm/passkey/options', async (request, reply) => {
    const { user_id } = await requireSession(deps, request);
    return confirmOptions(deps, user_id, requesterOf(deps, request, reply));
  });

  app.post('/signin/confirm/passkey', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const form = readForm(request.body);
    const { view, form: returnTarget } = await readPageState(deps, request, form, session);
    const { user_id, email: username } = session;
    return answerAssertion(deps, request, reply, {
      returnTarget,
      view,
      page: (problem) => confirmPage(view, { ...returnTarget, username, user_id, problem }),
      check: (browser, signInRequest) =>
        confirmWithPasskey(deps, parseCredential(form.credential), browser, { user_id, signInRequest }),
    });
  });

  app.post('/signin/second-factor/passkey/options', async (request, reply) =>
    secondFactorOptions(deps, attemptHash(deps, request), requesterOf(deps, request, reply)),
  );

  app.post('/signin/second-factor/passkey', { config }, async (request, reply) => {
    const { credential } = readForm(request.body);
    const waiting = await readPendingSignIn(deps, request);
    if (!waiting) return reply.redirect('/signin', 303);
    const { view, form, returnTarget, attempt_hash } = waiting;
    return answerAssertion(deps, request, reply, {
      returnTarget,
      view,
      page: (problem) => secondFactorPage(view, { ...form, problem }),
      check: (browser, signInRequest) =>
        completeSecondFactorWithPasskey(deps, parseCredential(credential), browser, { attempt_hash, signInRequest }),
    });
  });
}

function requesterOf(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  return { browser: browserToken(deps, request, reply), address: request.ip };
}

/** Without a cookie, the hash of the empty string, which no attempt has. */
const attemptHash = (deps: Deps, request: FastifyRequest): string =>
  digest(cookie(request, cookieNames(deps.config).attempt) ?? '');

type Check = {
  returnTarget: ReturnTarget;
  view: View;
  page: (problem: Renderable) => Page;
  check: (browser: string, signInRequest: SignInRequest) => Promise<Outcome>;
};

/** Redirects after a valid assertion, or shows the page again with the problem. */
async function answerAssertion(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { returnTarget, view, page, check }: Check,
): Promise<FastifyReply> {
  const signInRequest = await signInRequestOf(deps, request, returnTarget);
  try {
    return redirectAfterSignIn(
      deps,
      reply,
      signInRequest,
      await check(browserToken(deps, request, reply), signInRequest),
    );
  } catch (error) {
    if (!(error instanceof RequestError) || error.status === 401 || error.status >= 500) throw error;
    if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    return sendPage(reply, view, page(assertionProblem(view, error)), error.status);
  }
}

function assertionProblem(view: View, { status, retryAfter, userMessage, message }: RequestError): Renderable {
  if (status === 429) return view.t('signin.too_many', { wait: view.duration(retryAfter ?? 60) });
  return userMessage ? view.t(userMessage.key, userMessage.values) : message;
}

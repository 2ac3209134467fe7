import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../../platform/clock.ts';
import type { RequestError } from '../../platform/errors.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import { expectCookie, isOfBlockedCookies, requireCookie, tryCookie } from '../../platform/pages/cookie-check.ts';
import { alert } from '../../platform/pages/form.ts';
import type { Html } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import { answerForm } from '../../platform/pages/page-routes.ts';
import { type View, viewOf } from '../../platform/pages/view.ts';
import { allConfirmationMethods, confirmationMethodsOf } from '../credentials/sign-in-methods.ts';
import { parseCredential } from '../credentials/webauthn.ts';
import type { Deps, WaitingRequest } from '../deps.ts';
import { requestMailCode } from '../mail-codes/request-mail-code.ts';
import { mailCodePath } from '../mail-codes/routes.ts';
import { withUnknownPasskey } from '../passkeys/signals.ts';
import { twoFactors } from '../sessions/authentication.ts';
import { browserToken, requirePendingRequest } from '../sessions/browser.ts';
import { mailCodeSeconds } from '../sessions/mail-codes.store.ts';
import {
  appOf,
  endOf,
  localPath,
  noteAbleDevice,
  type Outcome,
  pathWithoutSignIn,
  type ReturnTarget,
  redirectAfterSignIn,
  type SignInRequest,
  signInRequestOf,
  type Way,
} from '../sessions/return-target.ts';
import { requiresSecondFactor } from '../sessions/second-factor-policy.ts';
import { currentSession, requireFirstFactor } from '../sessions/session.ts';
import { signOut } from '../sessions/sessions.ts';
import type { Session } from '../sessions/store.ts';
import { readPendingSignIn, secondFactorPage, startAgain } from '../two-factor/second-step-routes.ts';
import { confirmPage, type SignInForm, signInPage } from './page.ts';
import {
  completeSecondFactorWithPasskey,
  secondFactorOptions,
  signInOptions,
  signInWithPasskey,
} from './sign-in-with-passkey.ts';
import { signInWithPassword } from './sign-in-with-password.ts';

const config = { page: true } as const;

/** The sign-in pages (decisions §9): forms that work without JavaScript. */
export async function signInRoutes(app: FastifyInstance, deps: Deps) {
  const readSignIn = async (request: FastifyRequest, parameters: Parameters) => {
    const { view, form, pending } = await readPageState(deps, request, parameters);
    const page = async (problem?: Html | false) => {
      const again = await whySignInAgain(deps, request, pending);
      const lastWay = cookie(request, cookieNames(deps.config).lastWay);
      return signInPage(view, { ...form, again, lastWay, username: form.username ?? again?.email, problem });
    };
    return { view, returnTarget: form, page };
  };

  const readConfirmation = async (request: FastifyRequest) => {
    const session = await requireFirstFactor(deps, request);
    const parameters = request.method === 'POST' ? readForm(request.body) : request.queryParameters;
    const { view, form } = await readPageState(deps, request, parameters, session);
    const { user_id, email: username } = session;
    const page = (problem?: Html | false) => confirmPage(view, { ...form, username, user_id, problem });
    return { view, returnTarget: { ...form, confirms: true }, page, parameters, user_id, username };
  };

  app.get('/signin', { config }, async (request, reply) => {
    // An app's request came here with a cookie, any other visitor is given one.
    const trial = request.queryParameters.request === undefined ? undefined : tryCookie(deps, request, reply);
    if (trial) return trial;
    expectCookie(deps, request, reply);
    const { view, page, returnTarget } = await readSignIn(request, request.queryParameters);
    const path = await pathWithoutSignIn(deps, request, returnTarget);
    return path === undefined ? sendPage(reply, view, await page()) : reply.redirect(path, 303);
  });

  app.post('/signin', { config }, async (request, reply) => {
    const { username = '', password = '', request: request_id, next, stay, able_device } = readForm(request.body);
    const step = await readSignIn(request, { username, request: request_id, next, stay });
    const isAble = able_device === '1' && step.returnTarget.request_id !== undefined;
    return attemptPassword(deps, request, reply, { ...step, way: 'password', isAble, username, password });
  });

  if (deps.config.mailCodes && deps.mail.works)
    app.post('/signin/mail-code', { config: { ...config, form: '/signin' } }, async (request, reply) => {
      const { username = '', request: request_id, next, stay } = readForm(request.body);
      const { view, returnTarget, page } = await readSignIn(request, { username, request: request_id, next, stay });
      const { deviceToken } = await signInRequestOf(deps, request, returnTarget);
      return answerForm(reply, view, {
        async act() {
          requireCookie(deps, request, reply);
          const userAgent = request.headers['user-agent'];
          const by = { address: request.ip, deviceToken, userAgent };
          const asked = { ...returnTarget, ...by, email: username, locale: view.locale };
          const token = await requestMailCode(deps, asked);
          setCookie(reply, deps.config, cookieNames(deps.config).mailCode, token, mailCodeSeconds);
          return mailCodePath;
        },
        redraw: (_, problem) => page(problem),
        explains: (refusal) => refusal.problems.length > 0 || refusal.status === 429 || isOfBlockedCookies(refusal),
      });
    });

  app.get('/signin/confirm', { config }, async (request, reply) => {
    const { view, page } = await readConfirmation(request);
    return sendPage(reply, view, page());
  });

  app.post('/signin/confirm', { config }, async (request, reply) => {
    const step = await readConfirmation(request);
    const { view, page, parameters } = step;
    if (step.returnTarget.secondFactor === 'passkey') {
      return sendPage(reply, view, page(alert(view.t('confirm.passkey.only'))), 403);
    }
    return attemptPassword(deps, request, reply, { ...step, password: parameters.password ?? '' });
  });

  app.post('/signout', { config }, async (request, reply) => {
    const session = await currentSession(deps, request);
    if (session) await signOut(deps, session);
    clearCookie(reply, deps.config, cookieNames(deps.config).session);
    return reply.redirect('/signed-out', 303);
  });

  // Passkeys: each page fetches its options and posts the assertion as a form, so return targets, cookies and redirects
  // are those of any other sign-in.
  const requesterOf = (request: FastifyRequest, reply: FastifyReply) => ({
    browser: browserToken(deps, request, reply),
    address: request.ip,
  });

  app.post('/signin/passkey/options', async (request, reply) => signInOptions(deps, requesterOf(request, reply)));

  app.post('/signin/passkey', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const step = await readSignIn(request, form);
    const { browser } = requesterOf(request, reply);
    return answerAttempt(deps, request, reply, {
      ...step,
      way: 'passkey',
      page: async (problem) => withUnknownPasskey(deps, await step.page(problem), form.credential),
      attempt: async (signInRequest) =>
        signInWithPasskey(deps, parseCredential(form.credential), browser, signInRequest),
    });
  });

  app.post('/signin/confirm/passkey/options', async (request, reply) => {
    const { user_id } = await requireFirstFactor(deps, request);
    return signInOptions(deps, requesterOf(request, reply), user_id);
  });

  app.post('/signin/confirm/passkey', { config }, async (request, reply) => {
    const { user_id, parameters, ...step } = await readConfirmation(request);
    const { browser } = requesterOf(request, reply);
    return answerAttempt(deps, request, reply, {
      ...step,
      attempt: async (signInRequest) =>
        signInWithPasskey(deps, parseCredential(parameters.credential), browser, signInRequest, user_id),
    });
  });

  app.post('/signin/second-factor/passkey/options', async (request, reply) => {
    // No pending sign-in has the empty string.
    const token = cookie(request, cookieNames(deps.config).attempt) ?? '';
    return secondFactorOptions(deps, token, requesterOf(request, reply));
  });

  app.post('/signin/second-factor/passkey', { config }, async (request, reply) => {
    const { credential } = readForm(request.body);
    const pending = await readPendingSignIn(deps, request);
    if (!pending) return startAgain(deps, reply);
    const { view, form, returnTarget, token } = pending;
    const { browser } = requesterOf(request, reply);
    return answerAttempt(deps, request, reply, {
      returnTarget,
      view,
      page: (problem) => secondFactorPage(view, { ...form, problem }),
      attempt: async (signInRequest) =>
        completeSecondFactorWithPasskey(deps, parseCredential(credential), browser, { token, signInRequest }),
    });
  });
}

type Attempt = {
  returnTarget: ReturnTarget & { confirms?: boolean };
  view: View;
  page: (problem: Html | false) => Page | Promise<Page>;
  /** @returns undefined for a wrong password. */
  attempt: (signInRequest: SignInRequest) => Promise<Outcome | undefined>;
  /** The device can have a passkey, of a password that was typed on the way to an application. */
  isAble?: boolean;
  /** Remembered for the next sign-in in this browser; left out for a confirmation and the second step. */
  way?: Way;
  /** The refusals that the page shows. */
  explains?: (refusal: RequestError) => boolean;
};

/** Redirects after a right password or a valid assertion; otherwise shows the page again with the problem. */
async function answerAttempt(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    returnTarget,
    view,
    page,
    attempt,
    way,
    isAble,
    explains = ({ status }) => status !== 401 && status < 500,
  }: Attempt,
): Promise<FastifyReply> {
  const signInRequest = await signInRequestOf(deps, request, returnTarget);
  return answerForm(reply, view, {
    async act() {
      requireCookie(deps, request, reply);
      const outcome = await attempt(signInRequest);
      if (outcome?.kind === 'second_factor' && isAble) noteAbleDevice(deps, reply);
      if (outcome) return redirectAfterSignIn(deps, reply, signInRequest, outcome, way, isAble);
      return { ...(await page(alert(view.t('signin.wrong')))), status: 401 };
    },
    redraw: (_, problem) => page(problem),
    explains,
  });
}

const attemptPassword = (
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { username, password, ...step }: Omit<Attempt, 'attempt'> & { username: string; password: string },
) =>
  answerAttempt(deps, request, reply, {
    ...step,
    attempt: (signInRequest) => signInWithPassword(deps, { username, password, signInRequest }),
    explains: (refusal) => [403, 429, 503].includes(refusal.status) || isOfBlockedCookies(refusal),
  });

/** The form of a sign-in page, and the view in the language of the request or the user. */
async function readPageState(deps: Deps, request: FastifyRequest, query: Parameters, session?: Session) {
  const pending = query.request === undefined ? undefined : await requirePendingRequest(deps, request, query.request);
  const view = viewOf(deps, request, pending?.parameters.ui_locales, session?.locale);
  const cancelled = query.cancelled === undefined ? undefined : (await deps.providers.read()).find(query.cancelled);
  const next = pending ? undefined : localPath(query.next, deps.config.baseUrl);
  const form: SignInForm = {
    request_id: pending?.request_id,
    next,
    stay: query.stay === '1',
    username: query.username ?? pending?.parameters.login_hint,
    notice: cancelled && view.t('federation.cancelled', { provider: cancelled.label }),
    offersSignUp: deps.config.signUp && deps.mail.works,
    offersReset: deps.mail.works,
    offersMailCode: deps.config.mailCodes && deps.mail.works,
    ...(session ? await confirmationMethodsOf(deps, session.user_id) : await allConfirmationMethods(deps)),
    ...(await appOf(deps, pending)),
    endsAt: await endOf(deps, pending, next),
    isRequired:
      session?.acr !== twoFactors &&
      ((requiresSecondFactor(deps) && !session?.rests_on_trust) || (await isRequiredByClient(deps, pending))),
  };
  return { view, form, pending };
}

const isRequiredByClient = async (deps: Deps, pending: WaitingRequest | undefined): Promise<boolean> =>
  pending !== undefined && deps.authorizationRequests.requiresTwoFactors(pending);

/** A user who is signed in and nevertheless came to the form: because their app asks for it, or on their own. */
async function whySignInAgain(
  deps: Deps,
  request: FastifyRequest,
  pending: WaitingRequest | undefined,
): Promise<SignInForm['again']> {
  const session = pending && (await currentSession(deps, request));
  if (!session || pending.authenticated_session_id === session.session_id) return undefined;
  const { email, auth_time, lacks_second_factor } = session;
  const { prompt, max_age } = pending.parameters;
  if (lacks_second_factor) return { why: 'second_factor', email };
  if (prompt.includes('login')) return { why: 'asked', email };
  if (max_age !== undefined && now(deps) - auth_time >= max_age) return { why: 'long_ago', email };
  return undefined;
}

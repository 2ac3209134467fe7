import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { cookie, cookieNames } from '../../platform/http/cookies.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { digest } from '../../platform/ids.ts';
import type { Renderable } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { parseCredential } from '../credentials/webauthn.ts';
import type { Deps } from '../deps.ts';
import { browserToken } from '../sessions/browser.ts';
import type { Outcome, SignInRequest } from '../sessions/complete-sign-in.ts';
import { type ReturnTarget, redirectAfterSignIn, signInRequestOf } from '../sessions/return-target.ts';
import { requireSession } from '../sessions/session.ts';
import { readPendingSignIn, secondFactorPage } from '../two-factor/second-step-routes.ts';
import { confirmPage, signInPage } from './page.ts';
import { readPageState } from './routes.ts';
import {
  completeSecondFactorWithPasskey,
  confirmOptions,
  confirmWithPasskey,
  secondFactorOptions,
  signInOptions,
  signInWithPasskey,
} from './sign-in-with-passkey.ts';

const config = { page: true } as const;

/**
 * The three places where a passkey is asked for: sign-in, the same person once more, second factor. Each fetches its
 * options and posts the assertion as a form, so goals, cookies and redirects are those of any other sign-in.
 */
export async function passkeySignInRoutes(app: FastifyInstance, deps: Deps) {
  app.post('/signin/passkey/options', async (request, reply) => signInOptions(deps, requesterOf(deps, request, reply)));

  app.post('/signin/passkey', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const { view, form: returnTarget } = await readPageState(deps, request, form);
    return answer(deps, request, reply, {
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
    return answer(deps, request, reply, {
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
    return answer(deps, request, reply, {
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

/** An attempt that no cookie names is one that does not exist. */
const attemptHash = (deps: Deps, request: FastifyRequest): string =>
  digest(cookie(request, cookieNames(deps.config).attempt) ?? '');

type Check = {
  returnTarget: ReturnTarget;
  view: View;
  page: (problem: Renderable) => Page;
  check: (browser: string, signInRequest: SignInRequest) => Promise<Outcome>;
};

/** Onward, or the same page with what is wrong. */
async function answer(
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
    return sendPage(reply, view, page(problemOf(view, error)), error.status);
  }
}

function problemOf(view: View, { status, retryAfter, userMessage, message }: RequestError): Renderable {
  if (status === 429) return view.t('signin.too_many', { wait: view.duration(retryAfter ?? 60) });
  return userMessage ? view.t(userMessage.key, userMessage.values) : message;
}

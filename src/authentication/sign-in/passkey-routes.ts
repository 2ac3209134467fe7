import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { cookie, cookieNames } from '../../platform/http/cookies.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { digest } from '../../platform/ids.ts';
import type { Renderable } from '../../platform/pages/html.ts';
import { type Page, sendPage } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import { parseCredential } from '../credentials/passkey-credential.ts';
import type { Deps } from '../deps.ts';
import { browserToken } from '../sessions/browser.ts';
import type { Outcome, Visit } from '../sessions/complete-sign-in.ts';
import { type Goal, sendOnward, visitOf } from '../sessions/return-target.ts';
import { requireSession } from '../sessions/session.ts';
import { secondFactorPage } from '../two-factor/second-step/page.ts';
import { waitingSignIn } from '../two-factor/second-step/routes.ts';
import { confirmPage, signInPage } from './page.ts';
import { readGoal } from './routes.ts';
import {
  confirmOptions,
  confirmWithPasskey,
  giveSecondFactorWithPasskey,
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
  app.post('/signin/passkey/options', async (request, reply) => signInOptions(deps, doorOf(deps, request, reply)));

  app.post('/signin/passkey', { config }, async (request, reply) => {
    const form = readForm(request.body);
    const { view, form: goal } = await readGoal(deps, request, form);
    return answer(deps, request, reply, {
      goal,
      view,
      page: (problem) => signInPage(view, { ...goal, problem }),
      check: (browser, visit) => signInWithPasskey(deps, parseCredential(form.credential), browser, visit),
    });
  });

  app.post('/signin/confirm/passkey/options', async (request, reply) => {
    const { user_id } = await requireSession(deps, request);
    return confirmOptions(deps, user_id, doorOf(deps, request, reply));
  });

  app.post('/signin/confirm/passkey', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const form = readForm(request.body);
    const { view, form: goal } = await readGoal(deps, request, form, session);
    const { user_id, email: username } = session;
    return answer(deps, request, reply, {
      goal,
      view,
      page: (problem) => confirmPage(view, { ...goal, username, user_id, problem }),
      check: (browser, visit) =>
        confirmWithPasskey(deps, parseCredential(form.credential), browser, { user_id, visit }),
    });
  });

  app.post('/signin/second-factor/passkey/options', async (request, reply) =>
    secondFactorOptions(deps, attemptHash(deps, request), doorOf(deps, request, reply)),
  );

  app.post('/signin/second-factor/passkey', { config }, async (request, reply) => {
    const { credential } = readForm(request.body);
    const waiting = await waitingSignIn(deps, request);
    if (!waiting) return reply.redirect('/signin', 303);
    const { view, form, goal, attempt_hash } = waiting;
    return answer(deps, request, reply, {
      goal,
      view,
      page: (problem) => secondFactorPage(view, { ...form, problem }),
      check: (browser, visit) =>
        giveSecondFactorWithPasskey(deps, parseCredential(credential), browser, { attempt_hash, visit }),
    });
  });
}

function doorOf(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  return { browser: browserToken(deps, request, reply), address: request.ip };
}

/** An attempt that no cookie names is one that does not exist. */
const attemptHash = (deps: Deps, request: FastifyRequest): string =>
  digest(cookie(request, cookieNames(deps.config).attempt) ?? '');

type Check = {
  goal: Goal;
  view: View;
  page: (problem: Renderable) => Page;
  check: (browser: string, visit: Visit) => Promise<Outcome>;
};

/** Onward, or the same page with what is wrong. */
async function answer(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { goal, view, page, check }: Check,
): Promise<FastifyReply> {
  const visit = await visitOf(deps, request, goal);
  try {
    return sendOnward(deps, reply, visit, await check(browserToken(deps, request, reply), visit));
  } catch (error) {
    if (!(error instanceof RequestError) || error.status === 401 || error.status >= 500) throw error;
    if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    return sendPage(reply, view, page(problemOf(view, error)), error.status);
  }
}

function problemOf(view: View, { status, retryAfter, say, message }: RequestError): Renderable {
  if (status === 429) return view.t('signin.too_many', { wait: view.lasting(retryAfter ?? 60) });
  return say ? view.t(say.key, say.values) : message;
}

import type { Session } from '../../authentication/sessions/session.ts';
import type { Client } from '../../clients/client.ts';
import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps, StoreDeps } from '../../platform/deps.ts';
import { digest, newId } from '../../platform/ids.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { findConsent } from '../consents/store.ts';
import { AuthorizationError } from './authorization-error.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { issueCode } from './issue-code.ts';
import { nextStep, noProgress, type Step } from './next-step.ts';
import { codeRedirect, errorRedirect } from './redirect.ts';
import { deletePendingRequest, insertPendingRequest, type PendingRequest } from './store.ts';

/** Where the browser goes next. */
type Redirect = { location: string };

const pageOf: Record<Exclude<Step, 'code'>, string> = {
  sign_in: '/signin',
  select_account: '/signin/account',
  consent: '/consent',
  step_up: '/signin/confirm',
};

/**
 * Anybody may make a request wait, without a session, so rows are bounded by address. The bound is far above what the
 * people behind one address do.
 */
const waitingRequests = ({ config: { limits } }: Pick<Deps, 'config'>) => ({
  name: 'waiting-requests',
  limit: limits.waitingRequests,
  windowSeconds: 600,
});

type AuthorizationContext = {
  client: Client;
  session: Session | undefined;
  /** What was kept of the request, if it waited for its person already. */
  pending?: PendingRequest;
  /** As for {@link nextStep}; left out, nobody has declined. */
  declinesStepUp?: boolean;
  /** The secret that ties a waiting request to this browser; asked for only when one has to wait. */
  browserToken: () => string;
  /** Where the browser is. */
  address: string;
};

/** Takes a valid request as far as it goes: to its code, to an error for the client, or to the page that is needed. */
export async function continueAuthorization(
  deps: LimitDeps,
  request: AuthorizationRequest,
  context: AuthorizationContext,
): Promise<Redirect> {
  try {
    const step = await findStep(deps, request, context);
    if (step !== 'code') return { location: await pageFor(deps, request, context, step) };
    const code = await issueFor(deps, request, context);
    if (code !== undefined) return { location: codeRedirect(request, code, deps.config.baseUrl) };
    // The session ended, or the client was stopped, between our reading and our writing. Decide again without it.
    return { location: await pageFor(deps, request, context, 'sign_in') };
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    return redirectWithError(deps, request, error, context.pending);
  }
}

/** Tells the client no; a request that waited is over. */
export async function redirectWithError(
  deps: Pick<Deps, 'db' | 'config'>,
  target: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  error: AuthorizationError,
  pending?: PendingRequest,
): Promise<Redirect> {
  if (pending) await deletePendingRequest(deps.db, pending.request_id);
  return { location: errorRedirect(target, error, deps.config.baseUrl) };
}

/** What stands between a request and its code now. @throws {AuthorizationError} as {@link nextStep} does. */
export async function findStep(
  deps: StoreDeps,
  request: AuthorizationRequest,
  { client, session, pending, declinesStepUp = false }: Omit<AuthorizationContext, 'browserToken' | 'address'>,
): Promise<Step> {
  const asksForConsent = session !== undefined && client.consent === 'required';
  return nextStep(request, {
    client,
    session,
    progress: pending ?? noProgress,
    consented: asksForConsent ? await findConsent(deps.db, session.user_id, client.client_id) : undefined,
    declinesStepUp,
    now: now(deps),
  });
}

const issueFor = (deps: StoreDeps, request: AuthorizationRequest, { session, pending }: AuthorizationContext) =>
  session && issueCode(deps, request, session, pending?.request_id);

/** Keeps the request on the server while its person is busy elsewhere; what the URL carries opens nothing. */
async function pageFor(
  deps: LimitDeps,
  request: AuthorizationRequest,
  context: AuthorizationContext,
  step: Exclude<Step, 'code'>,
) {
  if (request.prompt.includes('none')) throw new AuthorizationError('login_required', 'There is no live session.');
  if (context.pending) return `${pageOf[step]}?request=${context.pending.request_id}`;
  await windowLimit(deps, waitingRequests(deps)).take(addressKey(context.address));
  const request_id = newId('ar');
  const browser_hash = digest(context.browserToken());
  await insertPendingRequest(deps.db, { request_id, browser_hash, parameters: request }, now(deps));
  return `${pageOf[step]}?request=${request_id}`;
}

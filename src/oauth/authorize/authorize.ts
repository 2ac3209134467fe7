import { auditEvent } from '../../audit/audit.ts';
import type { AuthorizationRequests } from '../../authentication/deps.ts';
import { waitingRequestSeconds } from '../../authentication/sessions/browser.ts';
import { requiresSecondFactor } from '../../authentication/sessions/second-factor-policy.ts';
import type { Session } from '../../authentication/statements.ts';
import type { Client } from '../../clients/client.ts';
import type { Deps as ClientDeps } from '../../clients/deps.ts';
import { appForUsers } from '../../clients/presentation.ts';
import { matchesRegistered } from '../../clients/redirect-uri.ts';
import { hasScope } from '../../clients/scopes.ts';
import { isAmong } from '../../groups/statements.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict, mustChange, returning } from '../../platform/db/change.ts';
import { inOrder } from '../../platform/db/db.ts';
import { underNewKey } from '../../platform/db/parts.ts';
import { asText } from '../../platform/db/sql.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { bucketOf, digest, newId, newIdOfAt, newSecretIn, type RequestId, type UserId } from '../../platform/ids.ts';
import { addressLimit } from '../../platform/limits/failure-limits.ts';
import { accessTokenSeconds } from '../access-token-seconds.ts';
import { claimsBeyondScope } from '../claims/claims-parameter.ts';
import { appLimit } from '../grants/app-limit.ts';
import { findConsent, saveConsent } from '../grants/consents.store.ts';
import { endSurplus } from '../grants/grants.ts';
import { InsertedGrant, insertGrant } from '../grants/store.ts';
import { refreshIdleSeconds } from '../token/refresh-token.ts';
import { AuthorizationError } from './authorization-error.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { asksSecondFactor, clientRequiresTwoFactors, nextStep, type Step } from './next-step.ts';
import type { ResponseTarget } from './parameters.ts';
import { pushedIsOver } from './push-request.ts';
import { deletePushedRequest } from './pushed-requests.store.ts';
import {
  deletePendingRequest,
  findPendingRequest,
  insertPendingRequest,
  markAuthenticated,
  markConsented,
  type PendingRequest,
} from './store.ts';

/** Where the browser goes next: a redirect, or a form of ours that posts the answer to the client. */
export type Outcome = { location: string } | { action: string; fields: Readonly<Record<string, string>> };

const pageOf: Record<Exclude<Step, 'code'>, string> = {
  sign_in: '/signin',
  select_account: '/signin/account',
  consent: '/consent',
  step_up: '/signin/confirm',
  set_up: '/signin/set-up',
  no_access: '/signin/no-access',
  details: '/signin/details',
};

/** Requests are stored for browsers without a session, so they are limited by address, far above ordinary use. */
const waitingRequests = ({ config: { limits } }: Pick<Deps, 'config'>) => ({
  name: 'waiting-requests',
  limit: limits.waitingRequests,
  windowSeconds: 600,
});

type AuthorizationContext = {
  client: Client;
  session: Session | undefined;
  /** The stored request with its progress, if it is not new. */
  pending?: PendingRequest;
  /** As for {@link nextStep}; false if left out. */
  declinesStepUp?: boolean;
  /** The secret that ties a pending request to this browser; read only when a request has to be stored. */
  browserToken: () => string;
  /** Of the browser. */
  address: string;
};

type AuthorizeDeps = LimitDeps & Pick<ClientDeps, 'attributes'>;

/** Takes a valid request as far as it goes: to its code, to an error for the client, or to the page that is needed. */
export async function continueAuthorization(
  deps: AuthorizeDeps & Pick<Deps, 'timekeeper'>,
  request: AuthorizationRequest,
  context: AuthorizationContext,
): Promise<Outcome> {
  const step = await findStep(deps, request, context);
  if (step instanceof AuthorizationError) return answerWithError(deps, request, step, context.pending);
  if (step !== 'code') return { location: await pageFor(deps, request, context, step) };
  const { session } = context;
  const code = session && (await issueCode(deps, request, { ...context, session }));
  if (code !== undefined) return answerClient(request, { code }, deps.config.baseUrl);
  // Between the read and the write the session ended, or the client was suspended. Decide again without the session; the
  // page would lead back here if it did not stay.
  if (request.prompt.includes('none')) {
    const error = new AuthorizationError('login_required', 'There is no active session.');
    return answerWithError(deps, request, error, context.pending);
  }
  return { location: `${await pageFor(deps, request, context, 'sign_in')}&stay=1` };
}

/** Returns an error to the client, which completes a pending request. */
export async function answerWithError(
  deps: Pick<Deps, 'db' | 'config'>,
  target: ResponseTarget & Pick<AuthorizationRequest, 'pushed_id'>,
  error: AuthorizationError,
  pending?: PendingRequest,
): Promise<Outcome> {
  if (pending) await deps.db.of(pending.request_id).run(deletePendingRequest(pending.request_id));
  if (target.pushed_id !== undefined) await deps.db.of(target.pushed_id).run(deletePushedRequest(target.pushed_id));
  const answer = { error: error.code, error_description: error.description };
  return answerClient(target, answer, deps.config.baseUrl);
}

/** Beside code or error stands `iss`, so that a client of several issuers cannot confuse them (RFC 9207). */
function answerClient(
  { redirect_uri, state, response_mode }: ResponseTarget,
  answer: Record<string, string>,
  iss: string,
): Outcome {
  const fields = { ...answer, ...(state !== undefined && { state }), iss };
  if (response_mode === 'form_post') return { action: redirect_uri, fields };
  const separator = response_mode === 'fragment' ? '#' : redirect_uri.includes('?') ? '&' : '?';
  return { location: `${redirect_uri}${separator}${new URLSearchParams(fields)}` };
}

/** What is needed before the code, or why there is none, as {@link nextStep} says. */
export async function findStep(
  deps: AuthorizeDeps,
  request: AuthorizationRequest,
  { client, session, pending, declinesStepUp = false }: Omit<AuthorizationContext, 'browserToken' | 'address'>,
): Promise<Step | AuthorizationError> {
  const mayNeedConsent = session !== undefined && client.consent === 'required';
  return nextStep(request, {
    client,
    session,
    pending,
    consented: mayNeedConsent ? await findConsent(deps.db, session.user_id, client.client_id) : undefined,
    mayUse: session === undefined || (await mayUse(deps, session.user_id, client)),
    requiresTwoFactors: requiresSecondFactor(deps),
    declinesStepUp,
    attributes: await deps.attributes.read(),
    now: now(deps),
  });
}

/** Nothing is read for a client that everyone may use. */
export const mayUse = async (
  { db }: Pick<Deps, 'db'>,
  user_id: UserId,
  { allowed_groups }: Pick<Client, 'allowed_groups'>,
): Promise<boolean> =>
  allowed_groups === null || db.of(user_id).holds(isAmong(asText(allowed_groups.join(' ')), asText(user_id)));

/** Stores the request while its user is at other pages. What the URL carries is an id and grants nothing. */
async function pageFor(
  deps: LimitDeps,
  request: AuthorizationRequest,
  context: AuthorizationContext,
  step: Exclude<Step, 'code'>,
): Promise<string> {
  if (context.pending) return `${pageOf[step]}?request=${context.pending.request_id}`;
  return `${pageOf[step]}?request=${await storeRequest(deps, request, context)}`;
}

/** @returns the id under which this browser, and no other, can continue it. */
export async function storeRequest(
  deps: LimitDeps,
  request: AuthorizationRequest,
  { browserToken, address }: Pick<AuthorizationContext, 'browserToken' | 'address'>,
): Promise<RequestId> {
  await addressLimit(deps, waitingRequests(deps)).take(address);
  const stored = { browser_hash: digest(browserToken()), parameters: request };
  return underNewKey(
    deps.db,
    () => newId('ar'),
    (request_id) => insertPendingRequest(deps.db, { request_id, ...stored }, now(deps)),
  );
}

/** Decisions §3. OAuth 2.1 §4.1.2 asks for ten minutes at most. */
const codeSeconds = 60;
/** A grant expires after 90 days, however often it is refreshed. */
const grantSeconds = 90 * 86_400;

/**
 * Makes a grant and returns its authorization code. The one write checks again that the session is active under the same
 * secret and has seen every factor, and that the client is approved.
 * @returns undefined if one of these no longer holds. @throws {RequestError} `invalid_request` for a pushed request that was answered.
 */
async function issueCode(
  deps: LimitDeps & Pick<Deps, 'timekeeper'>,
  request: AuthorizationRequest,
  { client, session, pending }: Pick<AuthorizationContext, 'client' | 'pending'> & { session: Session },
): Promise<string | undefined> {
  const at = now(deps);
  const code = newSecretIn(bucketOf(session.user_id), 'ac_');
  const isLasting = hasScope(request.scope, 'offline_access');
  // Without a refresh token the grant lasts as long as the access token that the code may still be redeemed for.
  const accessEnds = at + codeSeconds + accessTokenSeconds;
  const grant_id = newIdOfAt(session.user_id, 'gr', deps.clock());
  const grant = insertGrant({
    grant_id,
    client_id: request.client_id,
    session_id: session.session_id,
    session_token_hash: session.token_hash,
    scope: request.scope,
    claims: request.claims ?? null,
    apis: request.apis ?? null,
    dpop_jkt: request.dpop_jkt ?? null,
    redirect_uri: request.redirect_uri,
    nonce: request.nonce ?? null,
    code_hash: digest(code),
    code_challenge: request.code_challenge,
    code_expires_at: at + codeSeconds,
    idle_expires_at: isLasting ? at + refreshIdleSeconds(client) : accessEnds,
    expires_at: isLasting ? at + grantSeconds : accessEnds,
    auth_time: session.auth_time,
    amr: session.amr.join(' '),
    acr: session.acr,
    created_at: at,
  });
  const { pushed_id } = request;
  const issued = await inOrder(
    { in: deps.db.of(grant_id), run: { grant: mustChange(returning(InsertedGrant, grant)) } },
    {
      in: deps.db.of(pushed_id ?? grant_id),
      run: { pushed: pushed_id === undefined ? undefined : mustChange(deletePushedRequest(pushed_id)) },
    },
    {
      in: deps.db.of(pending?.request_id ?? grant_id),
      run: { pending: pending && deletePendingRequest(pending.request_id) },
    },
  );
  if (!issued.ok && issued.failed === 'pushed') throw pushedIsOver();
  if (!issued.ok) return undefined;
  const [inserted] = issued.results.grant.rows;
  if (inserted?.is_crowded) await endSurplus(deps, { grant_id, user_id: session.user_id, client_id: client.client_id });
  return code;
}

/**
 * Remembers that a user allows a client the scope of a pending request, in addition to what was allowed before. In a test the
 * user is the owner, who allows it to nothing but the test.
 * @throws {RequestError} `rate_limited`.
 */
export async function giveConsent(deps: AuthorizeDeps, session: Session, pending: PendingRequest): Promise<void> {
  const at = now(deps);
  const { user_id } = session;
  const { client_id, scope, apis, test_owner } = pending.parameters;
  const consented = markConsented(pending.request_id, user_id);
  if (test_owner !== undefined) {
    await deps.db.of(pending.request_id).run(consented);
    return;
  }
  const asked = {
    scope: scope.split(' '),
    claims: claimsBeyondScope(pending.parameters, await deps.attributes.read()),
    apis: apis ?? [],
  };
  const before = await findConsent(deps.db, user_id, client_id);
  const union = (words: string | null | undefined, more: readonly string[]) =>
    [...new Set([...(words?.split(' ') ?? []), ...more])].join(' ');
  const allowed = {
    scope: union(before?.scope, asked.scope),
    claims: union(before?.claims, asked.claims) || null,
    apis: union(before?.apis, asked.apis) || null,
  };
  const consent = saveConsent(user_id, client_id, allowed, at);
  const after = {
    user_id,
    scope: allowed.scope,
    ...(allowed.claims !== null && { claims: allowed.claims }),
    ...(allowed.apis !== null && { apis: allowed.apis }),
  };
  const event = auditEvent({ action: 'consent.given', actor: `user:${user_id}`, target: client_id, after }, at);
  const limit = appLimit(deps, 'allowed');
  if (pending.consented_user_id !== user_id) {
    const [ofUser, ofRequest] = [deps.db.of(user_id), deps.db.of(pending.request_id)];
    // In two parts, each of several answers at once would be an event before the first of them has marked the request.
    const answer = {
      token_hash: digest(`consent ${pending.request_id} ${user_id}`),
      expires_at: at + waitingRequestSeconds,
    };
    const once = ofUser === ofRequest ? undefined : mayConflict(useOnce(answer));
    const given = await inOrder(
      { in: ofUser, run: { once, limit: limit.taken(user_id), consent, event: event.statement } },
      { in: ofRequest, run: { request: mustChange(consented) } },
    );
    if (given.ok) return;
    if (given.failed === 'limit') throw await limit.refusal(user_id);
    if (given.failed === 'once') await ofRequest.run(consented); // the first may have been cut off before that
  }
  await deps.db.of(user_id).run(consent); // the same answer again is no other event
}

/** What signing in may read and change of a pending request. */
export const authorizationRequests = (deps: AuthorizeDeps & Pick<ClientDeps, 'clients'>): AuthorizationRequests => ({
  find: (request_id, browser_hash) => findPendingRequest(deps.db, request_id, browser_hash, now(deps)),
  async app(client_id) {
    const client = await deps.clients.find(client_id);
    return client && appForUsers(client);
  },
  async redirectUriIn(path) {
    const { pathname, searchParams } = new URL(path, 'https://localhost');
    if (pathname !== '/oauth/authorize') return undefined;
    const client = await deps.clients.find(searchParams.get('client_id') ?? '');
    const redirect_uri = searchParams.get('redirect_uri') ?? '';
    const isReached = client?.status === 'approved' && matchesRegistered(client, redirect_uri);
    return isReached ? redirect_uri : undefined;
  },
  async requiresTwoFactors({ parameters }) {
    const client = await deps.clients.find(parameters.client_id);
    return client !== undefined && clientRequiresTwoFactors(parameters, client);
  },
  async asksSecondFactor({ parameters }) {
    const client = await deps.clients.find(parameters.client_id);
    return client !== undefined && asksSecondFactor(parameters, client);
  },
  async requiresSignIn(request_id, browser_hash, session) {
    const pending = await findPendingRequest(deps.db, request_id, browser_hash, now(deps));
    const client = pending && (await deps.clients.find(pending.parameters.client_id));
    if (!client) return true;
    return (await findStep(deps, pending.parameters, { client, session, pending })) === 'sign_in';
  },
  markAuthenticated,
});

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionDeps } from '../../platform/deps.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { newSecret } from '../../platform/ids.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import { appLogo } from '../../platform/pages/initials.ts';
import type { View } from '../../platform/pages/view.ts';
import type { Deps, WaitingRequest } from '../deps.ts';
import { deviceSeconds, findInBrowser, pendingRequestOf } from './browser.ts';
import { pendingSignInSeconds } from './pending-sign-ins.store.ts';
import { currentSession, sessionSeconds } from './session.ts';
import type { Session } from './store.ts';
import type { TrustCookie } from './trust-cookie.ts';

/**
 * What a sign-in is for: a waiting authorization request, or a path. `stay`: the user wants the page itself, also in a session
 * that would do, such as for another account.
 */
export type ReturnTarget = { request_id?: string; next?: string; stay?: boolean };

export type SignInRequest = {
  /** The active session that the browser came with. */
  previous: Session | undefined;
  /** The authorization request that waits for this sign-in. */
  request_id: string | undefined;
  /** Where to go if none waits. */
  next: LocalPath | undefined;
  /** The secret that this browser is recognised by; it grants no access. */
  deviceToken: string;
  /** The cookie by which users trust this browser in place of their second factor. */
  trustedBrowsers: string | undefined;
  /** Whether the second factor is asked for nevertheless: to confirm, or because an application wants it. */
  asksSecondFactor: boolean;
  address: string;
  userAgent: string | undefined;
};

/** A session, or a sign-in that waits for its second factor. Each comes with the secret for its cookie. */
export type Outcome =
  | { kind: 'session'; token: string; trustCookie?: TrustCookie | undefined }
  | { kind: 'second_factor'; token: string };

declare const checked: unique symbol;
/** Safe to redirect to. Only {@link localPath} makes one. */
export type LocalPath = string & { readonly [checked]: true };

const defaultPath = '/account' as LocalPath;

const longestPath = 2000;

/**
 * Validates `next` (decisions §9): a path on our own origin, judged by the origin it resolves to, because
 * `/\evil.example` and `/<tab>/evil.example` look like paths and are not (WHATWG URL §4.4).
 * @param next any value, as sent or stored.
 * @param baseUrl our origin, without a path.
 * @returns the path as the URL parser writes it, which resolves to our origin from any page and which this function
 * returns unchanged; undefined for anything else, and for more than 2000 characters.
 */
export function localPath(next: unknown, baseUrl: string): LocalPath | undefined {
  if (typeof next !== 'string' || next.length > longestPath || !next.startsWith('/')) return undefined;
  if (!URL.canParse(next, baseUrl)) return undefined;
  const { origin, pathname, search, hash } = new URL(next, baseUrl);
  // A path of two slashes, which the parser makes of "/.//host", would name a host when it is resolved again.
  if (origin !== baseUrl || pathname.startsWith('//')) return undefined;
  const path = pathname + search + hash;
  return path.length > longestPath ? undefined : (path as LocalPath);
}

/** The application that a sign-in is for, if it is for one: what it is called, and the path of its picture, if it has one. */
export type ForApp = { clientName?: string; clientLogo?: string };

/** What the sign-in is for, on each of its pages. */
export function continuesTo(view: View, { clientName, clientLogo }: ForApp): Html | false {
  if (clientName === undefined) return false;
  const words = view.t('signin.to_client', { client: html`<strong><bdi>${clientName}</bdi></strong>` });
  return clientLogo === undefined
    ? html`<p class="soft">${words}</p>`
    : html`<p class="soft for-app">${appLogo(clientLogo, 'small')}<span>${words}</span></p>`;
}

export const appOf = async (
  { authorizationRequests }: Pick<Deps, 'authorizationRequests'>,
  pending: WaitingRequest | undefined,
): Promise<ForApp> => (pending && (await authorizationRequests.app(pending.parameters.client_id))) ?? {};

/** Where the form of a sign-in may end: at the application whose request waits, or that a path to go on to leads to. */
export const endOf = async (
  { authorizationRequests }: Pick<Deps, 'authorizationRequests'>,
  pending: WaitingRequest | undefined,
  next: LocalPath | undefined,
): Promise<string | undefined> =>
  pending ? pending.parameters.redirect_uri : next && authorizationRequests.redirectUriIn(next);

export const returnTargetFields = ({ request_id, next, stay }: ReturnTarget): Html =>
  html`${hidden('request', request_id)}${hidden('next', next)}${hidden('stay', stay ? '1' : undefined)}`;

/** For a link from one page of a sign-in to another. */
export function returnTargetQuery({ request_id, next, stay }: ReturnTarget, confirm?: '1'): string {
  const returnTarget: Record<string, string> = confirm ? { confirm } : {};
  if (request_id !== undefined) returnTarget.request = request_id;
  else if (next !== undefined) returnTarget.next = next;
  if (stay) returnTarget.stay = '1';
  const query = new URLSearchParams(returnTarget).toString();
  return query === '' ? '' : `?${query}`;
}

/** @param returnTarget with `confirms` where a signed-in user confirms who they are, for which a trusted browser is not enough. */
export async function signInRequestOf(
  deps: SessionDeps & Pick<Deps, 'authorizationRequests'>,
  request: FastifyRequest,
  returnTarget: ReturnTarget & { confirms?: boolean },
): Promise<SignInRequest> {
  const { device: deviceCookie, trusted } = cookieNames(deps.config);
  const device = cookie(request, deviceCookie);
  const trustedBrowsers = cookie(request, trusted);
  return {
    previous: await currentSession(deps, request),
    request_id: returnTarget.request_id,
    next: localPath(returnTarget.next, deps.config.baseUrl),
    deviceToken: device !== undefined && /^dv_[\w-]{43}$/.test(device) ? device : newSecret('dv_'),
    trustedBrowsers,
    asksSecondFactor:
      returnTarget.confirms === true ||
      (trustedBrowsers !== undefined && (await asksSecondFactor(deps, request, returnTarget))),
    address: request.ip,
    userAgent: request.headers['user-agent'],
  };
}

async function asksSecondFactor(
  deps: Pick<SessionDeps, 'config'> & Pick<Deps, 'authorizationRequests'>,
  request: FastifyRequest,
  { request_id }: ReturnTarget,
): Promise<boolean> {
  const waiting = await pendingRequestOf(deps, request, request_id);
  return waiting !== undefined && deps.authorizationRequests.asksSecondFactor(waiting);
}

/**
 * The return target as far as this browser can still reach it: a mailed link may be opened in another browser, or after the
 * authorization request has expired. `endsAt` is for the page's form.
 */
export async function resolveReturnTarget(
  deps: Pick<Deps, 'config' | 'authorizationRequests'>,
  request: FastifyRequest,
  returnTarget: { request_id?: string | null; next?: string | null },
) {
  const pending = await pendingRequestOf(deps, request, returnTarget.request_id ?? undefined);
  const next = pending ? undefined : localPath(returnTarget.next, deps.config.baseUrl);
  return {
    request_id: pending?.request_id,
    next,
    endsAt: await endOf(deps, pending, next),
    ...(await appOf(deps, pending)),
    ui_locales: pending?.parameters.ui_locales,
  };
}

/**
 * Where a user goes on who opens a page for signing in with a session that is enough already: a sign-in in another tab was for
 * this one, too. An application may nevertheless ask for another one.
 * @returns undefined where the page is needed.
 */
export async function pathWithoutSignIn(
  deps: SessionDeps & Pick<Deps, 'authorizationRequests'>,
  request: FastifyRequest,
  { request_id, next, stay }: ReturnTarget,
): Promise<string | undefined> {
  const session = stay ? undefined : await currentSession(deps, request);
  if (!session || session.lacks_second_factor) return undefined;
  const requiresSignIn = await findInBrowser(deps, request, request_id, (id, browser_hash) =>
    deps.authorizationRequests.requiresSignIn(id, browser_hash, session),
  );
  return requiresSignIn ? undefined : returnPathOf({ request_id, next: localPath(next, deps.config.baseUrl) });
}

/** How a sign-in begins, as the page offers it. */
export type Way = 'password' | 'passkey' | 'mail_code' | `provider.${string}`;

/** Where a passkey is offered on the way to an application. */
export const offerOnTheWayPath = '/signin/passkey-offer';
/** For so long none is offered again in the same browser. */
export const offerSeconds = 30 * 86_400;

/** The script of the sign-in page has found that this device can have a passkey. Kept until the sign-in is complete. */
export function noteAbleDevice(deps: Pick<Deps, 'config'>, reply: FastifyReply): void {
  setCookie(reply, deps.config, cookieNames(deps.config).ableDevice, '1', pendingSignInSeconds);
}

/**
 * @param way remembered for the next sign-in in this browser; left out where a user confirms.
 * @param isAble as {@link noteAbleDevice} says; in the second step its cookie does.
 */
export function redirectAfterSignIn(
  deps: Pick<Deps, 'config'>,
  reply: FastifyReply,
  signInRequest: SignInRequest,
  outcome: Outcome,
  way?: Way,
  isAble = cookie(reply.request, cookieNames(deps.config).ableDevice) === '1',
): FastifyReply {
  const names = cookieNames(deps.config);
  if (way !== undefined) setCookie(reply, deps.config, names.lastWay, way, deviceSeconds);
  if (outcome.kind === 'second_factor') {
    setCookie(reply, deps.config, names.attempt, outcome.token, pendingSignInSeconds);
    return reply.redirect('/signin/second-factor', 303);
  }
  setCookie(reply, deps.config, names.session, outcome.token, sessionSeconds);
  setCookie(reply, deps.config, names.device, signInRequest.deviceToken, deviceSeconds);
  const { trustCookie } = outcome;
  if (trustCookie) setCookie(reply, deps.config, names.trusted, trustCookie.value, trustCookie.maxAge);
  if (cookie(reply.request, names.attempt) !== undefined) clearCookie(reply, deps.config, names.attempt);
  if (isAble) clearCookie(reply, deps.config, names.ableDevice);
  const { request_id, asksSecondFactor } = signInRequest;
  const isOffered = isAble && !asksSecondFactor && cookie(reply.request, names.passkeyOffer) === undefined;
  return reply.redirect(
    isOffered && request_id !== undefined
      ? `${offerOnTheWayPath}${returnTargetQuery({ request_id })}`
      : returnPathOf(signInRequest),
    303,
  );
}

export const returnPathOf = ({ request_id, next = defaultPath }: Pick<SignInRequest, 'request_id' | 'next'>): string =>
  request_id === undefined ? next : `/oauth/authorize/continue?request=${request_id}`;

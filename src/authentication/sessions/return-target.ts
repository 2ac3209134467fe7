import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionDeps } from '../../platform/deps.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { newSecret } from '../../platform/ids.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Deps } from '../deps.ts';
import { waitingRequestOf } from './browser.ts';
import type { Outcome, SignInRequest } from './complete-sign-in.ts';
import { deviceSeconds } from './device.ts';
import { defaultPath, localPath } from './local-path.ts';
import { pendingSignInSeconds } from './pending-sign-ins.store.ts';
import { currentSession, sessionSeconds } from './session.ts';

/** What a sign-in is for: a waiting authorization request, or a path. */
export type ReturnTarget = { request_id?: string; next?: string };

export const returnTargetFields = ({ request_id, next }: ReturnTarget): Html =>
  html`${hidden('request', request_id)}${hidden('next', next)}`;

/** For a link from one page of a sign-in to another. */
export function returnTargetQuery({ request_id, next }: ReturnTarget, confirm?: '1'): string {
  const returnTarget: Record<string, string> = confirm ? { confirm } : {};
  if (request_id !== undefined) returnTarget.request = request_id;
  else if (next !== undefined) returnTarget.next = next;
  const query = new URLSearchParams(returnTarget).toString();
  return query === '' ? '' : `?${query}`;
}

/** @param returnTarget what the sign-in is for: the id of a waiting authorization request, or a path. */
export async function signInRequestOf(
  deps: SessionDeps,
  request: FastifyRequest,
  returnTarget: { request_id?: string; next?: string },
): Promise<SignInRequest> {
  const device = cookie(request, cookieNames(deps.config).device);
  return {
    previous: await currentSession(deps, request),
    request_id: returnTarget.request_id,
    next: localPath(returnTarget.next, deps.config.baseUrl),
    deviceToken: device !== undefined && /^dv_[\w-]{43}$/.test(device) ? device : newSecret('dv_'),
    address: request.ip,
    userAgent: request.headers['user-agent'],
  };
}

/**
 * What a sign-in by link, or the page that asks for the link, is for, as far as this browser can still get there: a mail
 * may be read elsewhere, or after the request's ten minutes. `endsAt` is for the page's form.
 */
export async function resolveReturnTarget(
  deps: Pick<Deps, 'config' | 'authorizationRequests'>,
  request: FastifyRequest,
  returnTarget: { request_id?: string | null; next?: string | null },
) {
  const pending = await waitingRequestOf(deps, request, returnTarget.request_id ?? undefined);
  return {
    request_id: pending?.request_id,
    next: pending ? undefined : localPath(returnTarget.next, deps.config.baseUrl),
    endsAt: pending?.parameters.redirect_uri,
    ui_locales: pending?.parameters.ui_locales,
  };
}

/** Sends the browser on with the cookie that it has earned. */
export function redirectAfterSignIn(
  deps: Pick<Deps, 'config'>,
  reply: FastifyReply,
  signInRequest: SignInRequest,
  outcome: Outcome,
): FastifyReply {
  const names = cookieNames(deps.config);
  if (outcome.kind === 'second_factor') {
    setCookie(reply, deps.config, names.attempt, outcome.token, pendingSignInSeconds);
    return reply.redirect('/signin/second-factor', 303);
  }
  setCookie(reply, deps.config, names.session, outcome.token, sessionSeconds);
  setCookie(reply, deps.config, names.device, signInRequest.deviceToken, deviceSeconds);
  if (cookie(reply.request, names.attempt) !== undefined) clearCookie(reply, deps.config, names.attempt);
  return reply.redirect(returnPathOf(signInRequest), 303);
}

/** Back to the request that waited, or to where the person wanted to go. */
export const returnPathOf = ({ request_id, next = defaultPath }: Pick<SignInRequest, 'request_id' | 'next'>): string =>
  request_id === undefined ? next : `/oauth/authorize/continue?request=${request_id}`;

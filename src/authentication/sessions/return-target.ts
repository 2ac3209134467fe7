import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SessionDeps } from '../../platform/deps.ts';
import { clearCookie, cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { newSecret } from '../../platform/ids.ts';
import { hidden } from '../../platform/pages/form.ts';
import { type Html, html } from '../../platform/pages/html.ts';
import type { Deps } from '../deps.ts';
import { waitingRequestOf } from './browser.ts';
import type { Outcome, Visit } from './complete-sign-in.ts';
import { deviceSeconds } from './device.ts';
import { defaultPath, localPath } from './local-path.ts';
import { attemptSeconds } from './pending-sign-ins.store.ts';
import { currentSession, sessionSeconds } from './session.ts';

/** What a sign-in is for: a waiting authorization request, or a path. */
export type Goal = { request_id?: string; next?: string };

export const goalFields = ({ request_id, next }: Goal): Html =>
  html`${hidden('request', request_id)}${hidden('next', next)}`;

/** For a link from one page of a sign-in to another. */
export function goalQuery({ request_id, next }: Goal, confirm?: '1'): string {
  const goal: Record<string, string> = confirm ? { confirm } : {};
  if (request_id !== undefined) goal.request = request_id;
  else if (next !== undefined) goal.next = next;
  const query = new URLSearchParams(goal).toString();
  return query === '' ? '' : `?${query}`;
}

/** @param goal what the sign-in is for: the id of a waiting authorization request, or a path. */
export async function visitOf(
  deps: SessionDeps,
  request: FastifyRequest,
  goal: { request_id?: string; next?: string },
): Promise<Visit> {
  const device = cookie(request, cookieNames(deps.config).device);
  return {
    previous: await currentSession(deps, request),
    request_id: goal.request_id,
    next: localPath(goal.next, deps.config.baseUrl),
    deviceToken: device !== undefined && /^dv_[\w-]{43}$/.test(device) ? device : newSecret('dv_'),
    address: request.ip,
    userAgent: request.headers['user-agent'],
  };
}

/**
 * What a sign-in by link, or the page that asks for the link, is for, as far as this browser can still get there: a mail
 * may be read elsewhere, or after the request's ten minutes. `endsAt` is for the page's form.
 */
export async function openGoal(
  deps: Pick<Deps, 'config' | 'authorizationRequests'>,
  request: FastifyRequest,
  goal: { request_id?: string | null; next?: string | null },
) {
  const pending = await waitingRequestOf(deps, request, goal.request_id ?? undefined);
  return {
    request_id: pending?.request_id,
    next: pending ? undefined : localPath(goal.next, deps.config.baseUrl),
    endsAt: pending?.parameters.redirect_uri,
    ui_locales: pending?.parameters.ui_locales,
  };
}

/** Sends the browser on with the cookie that it has earned. */
export function sendOnward(
  deps: Pick<Deps, 'config'>,
  reply: FastifyReply,
  visit: Visit,
  outcome: Outcome,
): FastifyReply {
  const names = cookieNames(deps.config);
  if (outcome.kind === 'second_factor') {
    setCookie(reply, deps.config, names.attempt, outcome.token, attemptSeconds);
    return reply.redirect('/signin/second-factor', 303);
  }
  setCookie(reply, deps.config, names.session, outcome.token, sessionSeconds);
  setCookie(reply, deps.config, names.device, visit.deviceToken, deviceSeconds);
  if (cookie(reply.request, names.attempt) !== undefined) clearCookie(reply, deps.config, names.attempt);
  return reply.redirect(returnPathOf(visit), 303);
}

/** Back to the request that waited, or to where the person wanted to go. */
export const returnPathOf = ({ request_id, next = defaultPath }: Pick<Visit, 'request_id' | 'next'>): string =>
  request_id === undefined ? next : `/oauth/authorize/continue?request=${request_id}`;

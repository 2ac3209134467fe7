import type { FastifyReply, FastifyRequest } from 'fastify';
import { now } from '../../platform/clock.ts';
import type { Deps, LimitDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { cookie, cookieNames, setCookie } from '../../platform/http/cookies.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { findPendingRequest, type PendingRequest, pendingRequestSeconds } from './store.ts';

/** The secret that ties waiting requests to this browser; made and set if the browser has none. */
export function browserToken(deps: Pick<Deps, 'config'>, request: FastifyRequest, reply: FastifyReply): string {
  const name = cookieNames(deps.config).browser;
  const present = cookie(request, name);
  const token = present !== undefined && /^bt_[\w-]{43}$/.test(present) ? present : newSecret('bt_');
  // Set anew each time, so that it outlives the youngest request.
  setCookie(reply, deps.config, name, token, pendingRequestSeconds);
  return token;
}

/** The waiting request of that id, if this browser made it and its ten minutes are not over. */
export async function pendingRequestOf(
  deps: LimitDeps,
  request: FastifyRequest,
  request_id: string | undefined,
): Promise<PendingRequest | undefined> {
  const token = cookie(request, cookieNames(deps.config).browser);
  if (request_id === undefined || token === undefined || !/^ar_[\w-]{22}$/.test(request_id)) return undefined;
  return findPendingRequest(deps.db, request_id, digest(token), now(deps));
}

/** @throws {RequestError} `invalid_request` that tells the person how to start again. */
export async function requirePendingRequest(
  deps: LimitDeps,
  request: FastifyRequest,
  request_id: string | undefined,
): Promise<PendingRequest> {
  const pending = await pendingRequestOf(deps, request, request_id);
  if (pending) return pending;
  throw refusal('invalid_request', { key: 'signin.over' });
}

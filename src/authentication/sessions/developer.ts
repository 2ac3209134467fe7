import type { FastifyRequest } from 'fastify';
import type { Caller } from '../../audit/audit.ts';
import type { SessionDeps } from '../../platform/deps.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import type { View } from '../../platform/pages/view.ts';
import { requireRecentSession, requireSession, type Session } from './session.ts';

/** Somebody at a page about their own clients: in whose language it is drawn, and on whose behalf things are done. */
export type DeveloperContext = {
  view: View;
  owner: { owner_user_id: string; caller: Caller };
  query: Parameters;
};

/** @throws {RequestError} `login_required`. */
export const developerContext = async (deps: SessionDeps, request: FastifyRequest): Promise<DeveloperContext> =>
  contextOf(request, await requireSession(deps, request));

/** @throws {RequestError} `login_required`, `reauthentication_required`. */
export const recentDeveloperContext = async (deps: SessionDeps, request: FastifyRequest): Promise<DeveloperContext> =>
  contextOf(request, await requireRecentSession(deps, request));

const contextOf = (request: FastifyRequest, { user_id }: Session): DeveloperContext => ({
  view: request.view,
  owner: { owner_user_id: user_id, caller: { actor: `user:${user_id}`, address: request.ip } },
  query: request.queryParameters,
});

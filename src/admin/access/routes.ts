import type { FastifyInstance } from 'fastify';
import { requireUser } from '../../accounts/require-user.ts';
import { endUserSession } from '../../authentication/sessions/end-user-session.ts';
import { listSessions, sessionRecord } from '../../authentication/sessions/list-sessions.ts';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import { entitlementHistory, historyRecord } from '../../entitlements/read-history.ts';
import type { Deps } from '../../oauth/deps.ts';
import { endGrantOf } from '../../oauth/grants/end-grant.ts';
import { grantRecord, listGrants } from '../../oauth/grants/list-grants.ts';
import { readLimit, readQuery } from '../../platform/http/query.ts';
import * as operations from '../users/operations.ts';

type UserRoute = { Params: { user_id: string } };
type SessionRoute = { Params: { user_id: string; session_id: string } };
type GrantRoute = { Params: { grant_id: string } };

/** What a person has open, and what they are entitled to. */
export async function adminAccessRoutes(app: FastifyInstance, deps: Deps) {
  app.get<UserRoute>(
    '/v1/admin/users/:user_id/sessions',
    { config: { operation: operations.listSessions } },
    async (request) => {
      await administratorCaller(deps, request);
      const { user_id } = await requireUser(deps, request.params.user_id);
      return { sessions: (await listSessions(deps, user_id)).map(sessionRecord) };
    },
  );

  app.delete<SessionRoute>(
    '/v1/admin/users/:user_id/sessions/:session_id',
    { config: { operation: operations.endSession } },
    async (request, reply) => {
      await endUserSession(deps, await administratorCaller(deps, request), request.params);
      return reply.code(204).send();
    },
  );

  app.get<UserRoute>(
    '/v1/admin/users/:user_id/grants',
    { config: { operation: operations.listGrants } },
    async (request) => {
      await administratorCaller(deps, request);
      const limit = readLimit(readQuery(request));
      const { user_id } = await requireUser(deps, request.params.user_id);
      return { grants: (await listGrants(deps, user_id, limit)).map(grantRecord) };
    },
  );

  app.delete<GrantRoute>(
    '/v1/admin/grants/:grant_id',
    { config: { operation: operations.endGrant } },
    async (request, reply) => {
      await endGrantOf(deps, await administratorCaller(deps, request), request.params.grant_id);
      return reply.code(204).send();
    },
  );

  app.get<UserRoute>(
    '/v1/admin/users/:user_id/entitlements',
    { config: { operation: operations.listEntitlements } },
    async (request) => {
      await administratorCaller(deps, request);
      const query = readQuery(request);
      const search = { product: query.product, before: query.before, limit: readLimit(query) };
      return historyRecord(await entitlementHistory(deps, request.params.user_id, search));
    },
  );
}

import type { FastifyInstance } from 'fastify';
import { now } from '../../clock.ts';
import type { Deps } from '../../deps.ts';
import { entitlementHistory } from '../../entitlements/read-history.ts';
import { readLimit, readQuery } from '../../http/query.ts';
import { endGrantOf } from '../../oauth/end-grant.ts';
import { type ListedGrant, liveGrantsOf } from '../../oauth/grants.store.ts';
import { deviceName } from '../../sessions/device.ts';
import { endSessionOf } from '../../sessions/end-session-of.ts';
import { administratorCaller } from '../../sessions/session.ts';
import { type ListedSession, liveSessionsOf } from '../../sessions/store.ts';
import { requireUser } from '../../users/administer-user.ts';
import { endGrant, endSession, listEntitlements, listGrants, listSessions } from '../users/operations.ts';

type OneUser = { Params: { user_id: string } };
type OneSession = { Params: { user_id: string; session_id: string } };
type OneGrant = { Params: { grant_id: string } };

/** What a person has open, and what they are entitled to. */
export async function adminAccessRoutes(app: FastifyInstance, deps: Deps) {
  app.get<OneUser>(
    '/v1/admin/users/:user_id/sessions',
    { config: { operation: listSessions } },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      await administratorCaller(deps, request);
      const { user_id } = await requireUser(deps, request.params.user_id);
      return { sessions: (await liveSessionsOf(deps.db, user_id, now(deps))).map(sessionRecord) };
    },
  );

  app.delete<OneSession>(
    '/v1/admin/users/:user_id/sessions/:session_id',
    { config: { operation: endSession } },
    async (request, reply) => {
      await endSessionOf(deps, await administratorCaller(deps, request), request.params);
      return reply.code(204).header('cache-control', 'no-store').send();
    },
  );

  app.get<OneUser>('/v1/admin/users/:user_id/grants', { config: { operation: listGrants } }, async (request, reply) => {
    reply.header('cache-control', 'no-store');
    await administratorCaller(deps, request);
    const limit = readLimit(readQuery(request));
    const { user_id } = await requireUser(deps, request.params.user_id);
    return { grants: (await liveGrantsOf(deps.db, user_id, now(deps), limit)).map(grantRecord) };
  });

  app.delete<OneGrant>('/v1/admin/grants/:grant_id', { config: { operation: endGrant } }, async (request, reply) => {
    await endGrantOf(deps, await administratorCaller(deps, request), request.params.grant_id);
    return reply.code(204).header('cache-control', 'no-store').send();
  });

  app.get<OneUser>(
    '/v1/admin/users/:user_id/entitlements',
    { config: { operation: listEntitlements } },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      await administratorCaller(deps, request);
      return entitlementHistory(deps, request.params.user_id, readLimit(readQuery(request)));
    },
  );
}

/** Never its secret, nor the User-Agent as it came. */
const sessionRecord = ({ user_agent, amr, ...session }: ListedSession) => ({
  ...session,
  device: deviceName(user_agent) ?? null,
  amr: amr.split(' '),
});

const grantRecord = ({ scope, refreshed_at, idle_expires_at: _, ...grant }: ListedGrant) => ({
  ...grant,
  scope: scope.split(' '),
  last_used_at: refreshed_at,
});

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { requireUser } from '../../accounts/require-user.ts';
import type { Caller } from '../../audit/audit.ts';
import { administratorCaller } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { jsonBody } from '../../platform/http/json-body.ts';
import { readNoBody } from '../../platform/http/no-body.ts';
import { readLimit, readQuery } from '../../platform/http/query.ts';
import { ReasonBody } from '../operation-parts.ts';
import { changeRole, signOutUser, unlockUser } from './administer-user.ts';
import { disableUser, enableUser } from './disable-user.ts';
import * as operations from './operations.ts';
import { findUsers, userOverview, userRecord } from './read-user.ts';
import { resetFactors } from './reset-factors.ts';

type UserRoute = { Params: { user_id: string } };
type Step = (caller: Caller, user_id: string, body: unknown) => Promise<unknown>;
const readReasonBody = jsonBody(ReasonBody);
const readRole = jsonBody(operations.RoleBody);

/** People: find them, see how they sign in, stop them, help them. Nobody is deleted by somebody else. */
export async function adminUserRoutes(app: FastifyInstance, deps: Deps) {
  app.get('/v1/admin/users', { config: { operation: operations.list } }, async (request) => {
    await administratorCaller(deps, request);
    const query = readQuery(request);
    const found = await findUsers(deps, { query: query.query, after: query.after, limit: readLimit(query) });
    return { users: found.users.map(userRecord), next: found.next ?? null };
  });

  app.get<UserRoute>('/v1/admin/users/:user_id', { config: { operation: operations.read } }, async (request) => {
    await administratorCaller(deps, request);
    const { user, ...more } = await userOverview(deps, request.params.user_id);
    return { ...userRecord(user), ...more };
  });

  const step = (act: Step) => async (request: FastifyRequest<UserRoute>) => {
    const { user_id } = request.params;
    await act(await administratorCaller(deps, request), user_id, request.body);
    return userRecord(await requireUser(deps, user_id));
  };
  /** Of a step that takes nothing but its person. */
  const bare = (act: (caller: Caller, user_id: string) => Promise<unknown>) =>
    step((caller, user_id, body) => {
      readNoBody(body);
      return act(caller, user_id);
    });

  app.post<UserRoute>(
    '/v1/admin/users/:user_id/disable',
    { config: { operation: operations.disable } },
    step((caller, user_id, body) => disableUser(deps, user_id, caller, readReasonBody(body).reason)),
  );
  app.post<UserRoute>(
    '/v1/admin/users/:user_id/enable',
    { config: { operation: operations.enable } },
    bare((caller, user_id) => enableUser(deps, user_id, caller)),
  );
  app.post<UserRoute>(
    '/v1/admin/users/:user_id/sign-out',
    { config: { operation: operations.signOut } },
    bare((caller, user_id) => signOutUser(deps, caller, user_id)),
  );
  app.post<UserRoute>(
    '/v1/admin/users/:user_id/reset-factors',
    { config: { operation: operations.resetFactors } },
    step((caller, user_id, body) => resetFactors(deps, caller, user_id, readReasonBody(body).reason)),
  );
  app.put<UserRoute>(
    '/v1/admin/users/:user_id/role',
    { config: { operation: operations.changeRole } },
    step((caller, user_id, body) => changeRole(deps, caller, user_id, readRole(body).role)),
  );
  app.post<UserRoute>(
    '/v1/admin/users/:user_id/unlock',
    { config: { operation: operations.unlock } },
    bare((caller, user_id) => unlockUser(deps, caller, user_id)),
  );
}

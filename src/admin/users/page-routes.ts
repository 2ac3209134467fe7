import type { FastifyInstance } from 'fastify';
import { readAdministratorProblem } from '../../accounts/new-administrator.ts';
import { requireUser } from '../../accounts/require-user.ts';
import {
  type AdministratorContext,
  administratorContext,
  answerForm,
} from '../../authentication/sessions/administrator.ts';
import { endUserSession } from '../../authentication/sessions/end-user-session.ts';
import { listSessions } from '../../authentication/sessions/list-sessions.ts';
import { listOwnClients } from '../../clients/list-clients.ts';
import { entitlementHistory } from '../../entitlements/read-history.ts';
import type { Deps } from '../../oauth/deps.ts';
import { endGrantOf } from '../../oauth/grants/end-grant.ts';
import { listGrants } from '../../oauth/grants/list-grants.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { type Parameters, readForm } from '../../platform/http/parameters.ts';
import type { Html } from '../../platform/pages/html.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { changeRole, signOutUser, unlockUser } from './administer-user.ts';
import { disableUser, enableUser } from './disable-user.ts';
import { entitlementHistoryPage } from './entitlement-history.ts';
import { usersPage } from './list-page.ts';
import { userPage } from './page.ts';
import { findUsers, userOverview } from './read-user.ts';
import { resetFactors } from './reset-factors.ts';

const list = '/admin/users';
const one = `${list}/:user_id`;
type ItemRoute = { Params: { user_id: string } };
const config = { page: true, form: one };
const maxShown = 200;
/** The others have a page of their own. */
const writesShown = 20;

type Step = {
  done: string;
  act: (context: AdministratorContext, user_id: string, form: Parameters) => Promise<unknown>;
};

/** People, and what an administrator may do for or against one of them. */
export async function userPageRoutes(app: FastifyInstance, deps: Deps) {
  app.get(list, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    const { q = '', after } = query;
    return sendPage(reply, view, usersPage(view, q, await findUsers(deps, { query: q, after })));
  });

  app.get<ItemRoute>(one, { config: { page: true } }, async (request, reply) => {
    const context = await administratorContext(deps, request);
    const told = { query: context.query };
    return sendPage(reply, context.view, await shown(deps, context, request.params.user_id, told));
  });

  app.get<ItemRoute>(`${one}/entitlements`, { config: { page: true } }, async (request, reply) => {
    const { view, query } = await administratorContext(deps, request);
    const user = await requireUser(deps, request.params.user_id);
    const { product, before } = query;
    const history = await entitlementHistory(deps, user.user_id, { product, before });
    return sendPage(reply, view, entitlementHistoryPage(view, user, { product, history }));
  });

  const steps: Record<string, Step> = {
    'sign-out': { done: 'signed_out', act: ({ caller }, user_id) => signOutUser(deps, caller, user_id) },
    unlock: { done: 'unlocked', act: ({ caller }, user_id) => unlockUser(deps, caller, user_id) },
    enable: { done: 'enabled', act: ({ caller }, user_id) => enableUser(deps, user_id, caller) },
    // Nobody is barred without a reason that others can read later.
    disable: {
      done: 'disabled',
      act: ({ caller }, user_id, { reason = '' }) => disableUser(deps, user_id, caller, reason),
    },
    'reset-factors': {
      done: 'factors_reset',
      act: ({ caller }, user_id, { reason = '' }) => resetFactors(deps, caller, user_id, reason),
    },
    role: { done: 'role_changed', act: ({ caller }, user_id, form) => changeRole(deps, caller, user_id, roleOf(form)) },
  };
  for (const [name, { done, act }] of Object.entries(steps)) {
    app.post<ItemRoute>(`${one}/${name}`, { config }, async (request, reply) => {
      const context = await administratorContext(deps, request);
      const { user_id } = request.params;
      return answerForm(reply, context.view, {
        act: async () => {
          await act(context, user_id, readForm(request.body));
          return `${list}/${user_id}?done=${done}`;
        },
        again: (problem) => shown(deps, context, user_id, { problem }),
      });
    });
  }

  app.post<{ Params: { user_id: string; session_id: string } }>(
    `${one}/sessions/:session_id/end`,
    { config },
    async (request, reply) => {
      const { caller } = await administratorContext(deps, request);
      await endUserSession(deps, caller, request.params);
      return reply.redirect(`${list}/${request.params.user_id}?done=session_ended`, 303);
    },
  );

  app.post<{ Params: { user_id: string; grant_id: string } }>(
    `${one}/grants/:grant_id/end`,
    { config },
    async (request, reply) => {
      const { caller } = await administratorContext(deps, request);
      await endGrantOf(deps, caller, request.params.grant_id);
      return reply.redirect(`${list}/${request.params.user_id}?done=grant_ended`, 303);
    },
  );
}

const roleOf = ({ role }: Parameters): 'user' | 'admin' => {
  if (role !== 'user' && role !== 'admin') throw invalidRequest('role must be user or admin.');
  return role;
};

async function shown(
  deps: Deps,
  context: AdministratorContext,
  user_id: string,
  told: { problem?: Html | false; query?: Parameters },
) {
  const overview = await userOverview(deps, user_id);
  const [unavailableDecision, sessions, grants, clients, entitlements] = await Promise.all([
    readAdministratorProblem(deps, context.caller, user_id),
    listSessions(deps, user_id),
    listGrants(deps, user_id, maxShown),
    listOwnClients(deps, user_id),
    entitlementHistory(deps, user_id, { limit: writesShown }),
  ]);
  return userPage(context.view, {
    overview,
    sessions,
    grants,
    clients,
    entitlements,
    providers: deps.config.providers,
    unavailableDecision,
    isSelf: context.user_id === user_id,
    ...told,
  });
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import type { Deps } from '../deps.ts';
import { type Ending, endOwnOtherSessions, endOwnSession } from './end-own-sessions.ts';
import { listSessions, sessionRecord } from './list-sessions.ts';
import * as operations from './operations.ts';
import { sessionsPage } from './page.ts';
import { requireSession } from './session.ts';

const path = '/account/sessions';
const config = { page: true, form: path } as const;
type SessionRoute = { Params: { session_id: string } };

/** Where a person is signed in. Ending access is always allowed, so none of it asks for a recent sign-in. */
export async function sessionRoutes(app: FastifyInstance, deps: Deps) {
  const endingOf = async (request: FastifyRequest): Promise<Ending> => ({
    session: await requireSession(deps, request),
    address: request.ip,
  });

  app.get('/v1/me/sessions', { config: { operation: operations.listSessions } }, async (request) => {
    const { user_id, session_id } = await requireSession(deps, request);
    const sessions = (await listSessions(deps, user_id)).map(sessionRecord);
    return { sessions: sessions.map((one) => ({ ...one, current: one.session_id === session_id })) };
  });

  app.delete<SessionRoute>(
    '/v1/me/sessions/:session_id',
    { config: { operation: operations.endSession } },
    async (request, reply) => {
      const ending = await endingOf(request);
      const { session_id } = request.params;
      await endOwnSession(deps, ending, session_id);
      if (session_id === ending.session.session_id) clearCookie(reply, deps.config, cookieNames(deps.config).session);
      return reply.code(204).send();
    },
  );

  app.delete('/v1/me/sessions', { config: { operation: operations.endOtherSessions } }, async (request) => {
    return { ended: await endOwnOtherSessions(deps, await endingOf(request)) };
  });

  app.get(path, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const view = request.view;
    const { done } = request.queryParameters;
    const list = {
      sessions: await listSessions(deps, session.user_id),
      current: session.session_id,
      address: request.ip,
      done: done === 'one' || done === 'others' ? done : undefined,
    } as const;
    return sendPage(reply, view, sessionsPage(view, list));
  });

  app.post(`${path}/end`, { config }, async (request, reply) => {
    const ending = await endingOf(request);
    await endOwnSession(deps, ending, readForm(request.body).session_id ?? '');
    return reply.redirect(`${path}?done=one`, 303);
  });

  app.post(`${path}/end-others`, { config }, async (request, reply) => {
    await endOwnOtherSessions(deps, await endingOf(request));
    return reply.redirect(`${path}?done=others`, 303);
  });
}

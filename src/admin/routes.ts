import type { FastifyInstance } from 'fastify';
import type { Deps } from '../deps.ts';
import { RequestError } from '../errors.ts';
import { cookieNames, setCookie } from '../http/cookies.ts';
import { sendPage } from '../http/page.ts';
import { readForm } from '../http/parameters.ts';
import { currentSession, sessionSeconds } from '../sessions/session.ts';
import { startSession } from '../sessions/start-session.ts';
import { invitationPage } from './invitation-page.ts';
import { acceptInvitation, findInvitation, spentInvitation } from './invite-administrator.ts';

const config = { page: true } as const;

/** The first administrator arrives by a link that the terminal printed; so do later ones whom the operator invites. */
export async function adminRoutes(app: FastifyInstance, deps: Deps) {
  app.get<{ Params: { token: string } }>('/invite/:token', { config }, async (request, reply) => {
    if (!(await findInvitation(deps, request.params.token))) throw spentInvitation();
    return sendPage(reply, invitationPage({ token: request.params.token }));
  });

  app.post<{ Params: { token: string } }>('/invite/:token', { config }, async (request, reply) => {
    const { token } = request.params;
    const form = readForm(request.body);
    const acceptance = { email: form.email ?? '', name: form.name ?? '', password: form.password ?? '' };
    try {
      const user_id = await acceptInvitation(deps, token, acceptance);
      const started = await startSession(deps, {
        user_id,
        methods: ['pwd'],
        previous: await currentSession(deps, request),
        address: request.ip,
        userAgent: request.headers['user-agent'],
      });
      if (started) setCookie(reply, deps.config, cookieNames(deps.config).session, started.token, sessionSeconds);
      return reply.header('cache-control', 'no-store').redirect('/account', 303);
    } catch (error) {
      if (!(error instanceof RequestError) || !Array.isArray(error.details.fields)) throw error;
      return sendPage(reply, invitationPage({ token, ...acceptance, problems: error.details.fields }), 400);
    }
  });
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RequestError } from '../../platform/errors.ts';
import { jsonBody } from '../../platform/http/bodies.ts';
import { cookie, cookieNames } from '../../platform/http/cookies.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { minCharacters } from '../credentials/password-policy.ts';
import { passwordOf } from '../credentials/passwords.store.ts';
import { canRemoveSignInMethod } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { requireRecentSession, type Session, setSessionCookie } from '../sessions/session.ts';
import { changePassword, passwordContext } from './change-password.ts';
import { changePassword as change, PasswordBody, removePassword as remove } from './operations.ts';
import { type PasswordForm, passwordPage } from './page.ts';
import { removePassword } from './remove-password.ts';

const path = '/account/security/password';
const config = { page: true, form: path } as const;
const readPassword = jsonBody(PasswordBody);

/** The password of somebody who is signed in, as a page and as JSON. */
export async function passwordRoutes(app: FastifyInstance, deps: Deps) {
  app.get(path, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { done } = request.queryParameters;
    const isKnown = done === 'changed' || done === 'removed';
    return showForm(deps, { request, reply, session }, isKnown ? { done } : {});
  });

  app.post(path, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { password = '' } = readForm(request.body);
    try {
      setSessionCookie(
        deps,
        reply,
        session,
        await changePassword(deps, session, { password, ...originOf(deps, request) }),
      );
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      return showForm(deps, { request, reply, session }, { problems: error.problems });
    }
    return reply.redirect(`${path}?done=changed`, 303);
  });

  app.post(`${path}/remove`, { config }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    readForm(request.body);
    setSessionCookie(deps, reply, session, await removePassword(deps, session, request.ip));
    return reply.redirect(`${path}?done=removed`, 303);
  });

  app.post('/v1/me/password', { config: { operation: change } }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { password } = readPassword(request.body);
    setSessionCookie(
      deps,
      reply,
      session,
      await changePassword(deps, session, { password, ...originOf(deps, request) }),
    );
    return reply.code(204).send();
  });

  app.delete('/v1/me/password', { config: { operation: remove } }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    setSessionCookie(deps, reply, session, await removePassword(deps, session, request.ip));
    return reply.code(204).send();
  });
}

const originOf = ({ config }: Deps, request: FastifyRequest) => ({
  address: request.ip,
  deviceToken: cookie(request, cookieNames(config).device),
});

type Asked = { request: FastifyRequest; reply: FastifyReply; session: Session };

async function showForm(deps: Deps, { request, reply, session }: Asked, said: Pick<PasswordForm, 'done' | 'problems'>) {
  const view = request.view;
  const { secondFactor = false } = await passwordContext(deps, session);
  const form = {
    email: session.email,
    hasPassword: (await passwordOf(deps.db, session.user_id)) !== undefined,
    hasAnotherWay: await canRemoveSignInMethod(deps, session.user_id),
    secondFactor,
    least: minCharacters({ secondFactor }),
    ...said,
  };
  return sendPage(reply, view, passwordPage(view, form), said.problems ? 400 : 200);
}

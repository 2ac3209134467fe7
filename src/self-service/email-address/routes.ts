import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { linkSeconds } from '../../accounts/one-time-links/link.ts';
import {
  currentSession,
  requireRecentSession,
  requireSession,
  type Session,
} from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { RequestError } from '../../platform/errors.ts';
import { jsonBody } from '../../platform/http/json-body.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { confirmAddress, requireAddressLink } from './confirm-address.ts';
import { changeEmail, EmailBody, verifyEmail } from './operations.ts';
import { changeEmailPage, confirmAddressPage, emailNotices, emailPage } from './page.ts';
import { requestEmailChange } from './request-email-change.ts';
import { type Requester, requestVerification } from './request-verification.ts';

const path = '/account/email';
const config = { page: true, form: path } as const;
const changeConfig = { page: true, form: `${path}/change` } as const;
const readEmail = jsonBody(EmailBody);
type LinkRoute = { Params: { token: string } };

/** A person's e-mail address: whether it is verified, and its change, as pages and as JSON. */
export async function emailAddressRoutes(app: FastifyInstance, deps: Deps) {
  app.get(path, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    const said = request.queryParameters.done;
    const view = request.view;
    const state = {
      email: session.email,
      isVerified: session.email_verified_at !== null,
      mailWorks: deps.mail.works,
      done: emailNotices.find((one) => one === said),
    };
    return sendPage(reply, view, emailPage(view, state));
  });

  app.post(`${path}/verify`, { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    readForm(request.body);
    await requestVerification(deps, requesterOf(request, session));
    return redirectTo(reply, `${path}?done=link_sent`);
  });

  app.get(`${path}/change`, { config: changeConfig }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const view = request.view;
    return sendPage(reply, view, changeEmailPage(view, { current: session.email }));
  });

  app.post(`${path}/change`, { config: changeConfig }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { email = '' } = readForm(request.body);
    try {
      await requestEmailChange(deps, requesterOf(request, session), email);
    } catch (error) {
      if (!(error instanceof RequestError) || error.problems.length === 0) throw error;
      const view = request.view;
      const form = { current: session.email, email, problems: error.problems };
      return sendPage(reply, view, changeEmailPage(view, form), 400);
    }
    return redirectTo(reply, `${path}?done=change_sent`);
  });

  app.get<LinkRoute>('/verify-email/:token', { config }, async (request, reply) => {
    const session = await currentSession(deps, request);
    const { token } = request.params;
    const { email, purpose } = await requireAddressLink(deps, token, session);
    const view = viewOf(deps, request, session?.locale);
    const isChange = purpose === 'change_email';
    return sendPage(reply, view, confirmAddressPage(view, { token, email, isChange, isSignedIn: Boolean(session) }));
  });

  app.post<LinkRoute>('/verify-email/:token', { config }, async (request, reply) => {
    const session = await requireSession(deps, request);
    readForm(request.body);
    const purpose = await confirmAddress(deps, request.params.token, { session, address: request.ip });
    return redirectTo(reply, `${path}?done=${purpose === 'change_email' ? 'changed' : 'verified'}`);
  });

  app.post('/v1/me/email', { config: { operation: changeEmail } }, async (request, reply) => {
    const session = await requireRecentSession(deps, request);
    const { email } = readEmail(request.body);
    await requestEmailChange(deps, requesterOf(request, session), email);
    return reply.code(202).send({ expires_in: linkSeconds.change_email });
  });

  app.post('/v1/me/email/verify', { config: { operation: verifyEmail } }, async (request, reply) => {
    const session = await requireSession(deps, request);
    await requestVerification(deps, requesterOf(request, session));
    return reply.code(202).send({ expires_in: linkSeconds.verify_email });
  });
}

const requesterOf = (request: FastifyRequest, session: Session): Requester => ({
  session,
  address: request.ip,
  locale: request.view.locale,
});

const redirectTo = (reply: FastifyReply, to: string) => reply.redirect(to, 303);

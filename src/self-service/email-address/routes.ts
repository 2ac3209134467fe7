import type { FastifyInstance, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { linkSeconds } from '../../accounts/links.ts';
import {
  currentSession,
  recentlySignedIn,
  requireRecentSession,
  requireSession,
  type Session,
  signedIn,
} from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { jsonBody } from '../../platform/http/bodies.ts';
import type { OperationDescription } from '../../platform/http/operation.ts';
import { readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { viewOf } from '../../platform/pages/view.ts';
import {
  confirmAddress,
  type Requester,
  requestEmailChange,
  requestVerification,
  requireAddressLink,
} from './email-address.ts';
import { changeEmailPage, confirmAddressPage, emailNotices, emailPage } from './page.ts';

const path = '/account/email';
type LinkRoute = { Params: { token: string } };

const EmailBody = Type.Object(
  { email: Type.String({ description: 'The new email address.' }) },
  { additionalProperties: false },
);
const readEmail = jsonBody(EmailBody);

const Sent = Type.Object({ expires_in: Type.Integer({ description: 'Lifetime of the link in seconds.' }) });

const changeEmail: OperationDescription = {
  id: 'changeEmail',
  tag: 'Account',
  access: [recentlySignedIn],
  summary: 'Change your email address',
  description: 'Sends a link to the new address. The current address stays until the link is opened in your session.',
  body: { schema: EmailBody, example: { email: 'ada@example.com' } },
  answers: { 202: { description: 'The same response whether the address is available or not.', schema: Sent } },
  refusals: ['invalid_state', 'rate_limited'],
};

const verifyEmail: OperationDescription = {
  id: 'verifyEmail',
  tag: 'Account',
  access: [signedIn],
  summary: 'Verify your email address',
  description: 'Sends a link to the address, to be opened in your session.',
  answers: { 202: { description: 'Sent, unless too many links were sent already.', schema: Sent } },
  refusals: ['invalid_state', 'rate_limited'],
};

/** A user's email address: whether it is verified, and its change, as pages and as JSON. */
export async function emailAddressRoutes(app: FastifyInstance, deps: Deps) {
  const config = { page: true, form: path } as const;
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
    return reply.redirect(`${path}?done=link_sent`, 303);
  });

  const recent = pagesFor(app, deps, recentlySignedIn);
  recent.show(`${path}/change`, ({ view, session }) => changeEmailPage(view, { current: session.email }));
  recent.post(`${path}/change`, {
    page: `${path}/change`,
    async act({ request, session }, { email = '' }) {
      await requestEmailChange(deps, requesterOf(request, session), email);
      return `${path}?done=change_sent`;
    },
    redraw: ({ view, session }, { refusal, form: { email = '' } }) =>
      changeEmailPage(view, { current: session.email, email, problems: refusal.problems }),
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
    return reply.redirect(`${path}?done=${purpose === 'change_email' ? 'changed' : 'verified'}`, 303);
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

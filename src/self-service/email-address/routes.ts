import type { FastifyInstance } from 'fastify';
import { linkSeconds } from '../../accounts/links.ts';
import { currentSession, recentlySignedIn, signedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { emailPattern } from '../../platform/email-address.ts';
import { addOperations, inCode, operation } from '../../platform/http/operation.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import { confirmAddress, requestEmailChange, requestVerification, requireAddressLink } from './email-address.ts';
import { changeEmailPage, confirmAddressPage, emailNotices, emailPage } from './page.ts';

const path = '/account/email';

const shared = { method: 'POST', tag: 'Account', refusals: ['invalid_state', 'rate_limited'] } as const;
const sent = (description: string) => ({
  status: 202 as const,
  description,
  schema: Type.Object({ expires_in: Type.Integer({ description: 'Lifetime of the link in seconds.' }) }),
});

const changeEmail = operation({
  ...shared,
  id: 'changeEmail',
  path: '/v1/me/email',
  access: recentlySignedIn,
  summary: 'Change your email address',
  description:
    'Sends a link to the new address. The current address stays until the link is opened in your session. Other capitals, or another spelling of the domain, are stored at once, without a link.',
  body: Type.Object(
    {
      email: Type.String({
        description: 'The new email address.',
        ...inCode({ maxLength: 254, pattern: emailPattern }),
      }),
    },
    { additionalProperties: false },
  ),
  example: { email: 'ada@example.com' },
  answer: sent(
    'The same response whether the address is available or not. `expires_in` is 0 where no link was needed.',
  ),
  async run(deps: Deps, { body: { email }, ...requester }) {
    const outcome = await requestEmailChange(deps, requester, email);
    return { expires_in: outcome === 'sent' ? linkSeconds.change_email : 0 };
  },
});

const verifyEmail = operation({
  ...shared,
  id: 'verifyEmail',
  path: '/v1/me/email/verify',
  access: signedIn,
  summary: 'Verify your email address',
  description: 'Sends a link to the address, to be opened in your session.',
  answer: sent('Sent, unless too many links were sent already.'),
  async run(deps: Deps, requester) {
    await requestVerification(deps, requester);
    return { expires_in: linkSeconds.verify_email };
  },
});

/** A user's email address: whether it is verified, and its change, as pages and as JSON. */
export async function emailAddressRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [changeEmail, verifyEmail]);

  const pages = pagesFor(app, deps, signedIn);
  pages.show(path, ({ view, session, query }) =>
    emailPage(view, {
      email: session.email,
      isVerified: session.email_verified_at !== null,
      mailWorks: deps.mail.works,
      done: emailNotices.find((notice) => notice === query.done),
    }),
  );
  pages.run(verifyEmail, { path: `${path}/verify`, page: path, done: `${path}?done=link_sent` });

  const recentPages = pagesFor(app, deps, recentlySignedIn);
  recentPages.show(`${path}/change`, ({ view, session }) => changeEmailPage(view, { current: session.email }));
  recentPages.run(changeEmail, {
    path: `${path}/change`,
    page: `${path}/change`,
    input: ({ email = '' }) => ({ body: { email } }),
    done: ({ expires_in }) => `${path}?done=${expires_in === 0 ? 'respelled' : 'change_sent'}`,
    redraw: ({ view, session }, { refusal, form: { email = '' } }) =>
      changeEmailPage(view, { current: session.email, email, problems: refusal.problems }),
  });

  const config = { page: true, form: path } as const;
  app.get<{ Params: { token: string } }>('/verify-email/:token', { config }, async (request, reply) => {
    const session = await currentSession(deps, request);
    const { token } = request.params;
    const { email, purpose } = await requireAddressLink(deps, token, session);
    const view = viewOf(deps, request, session?.locale);
    const isChange = purpose === 'change_email';
    return sendPage(reply, view, confirmAddressPage(view, { token, email, isChange, isSignedIn: Boolean(session) }));
  });
  pages.post('/verify-email/:token', {
    page: path,
    async act({ token, ...opener }) {
      const purpose = await confirmAddress(deps, token, opener);
      return `${path}?done=${purpose === 'change_email' ? 'changed' : 'verified'}`;
    },
  });
}

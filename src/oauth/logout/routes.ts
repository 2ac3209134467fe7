import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { currentSession, requireFirstFactor } from '../../authentication/sessions/session.ts';
import { signOut } from '../../authentication/sessions/sessions.ts';
import type { Session } from '../../authentication/statements.ts';
import { appForUsers } from '../../clients/presentation.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import { form, type OperationDescription } from '../../platform/http/operation.ts';
import { FormText, queryOf, readForm } from '../../platform/http/parameters.ts';
import { sendPage } from '../../platform/pages/page.ts';
import { viewOf } from '../../platform/pages/view.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import {
  checkClient,
  type LogoutRequest,
  namesSession,
  openRequest,
  readLogoutRequest,
  returnTarget,
  sealRequest,
} from './logout-request.ts';
import { confirmationPage, signedOutPage } from './pages.ts';

const confirmPath = '/oauth/logout/confirm';

/** RP-Initiated Logout 1.0. */
export async function logoutRoutes(app: FastifyInstance, deps: Deps) {
  const config = { page: true } as const;
  const confirmation = (request: LogoutRequest) =>
    `${confirmPath}?${new URLSearchParams({ request: sealRequest(deps, request) })}`;

  async function end(reply: FastifyReply, session: Session | undefined, wanted: LogoutRequest) {
    if (session) await signOut(deps, session);
    clearCookie(reply, deps.config, cookieNames(deps.config).session);
    return redirect(reply, returnTarget(wanted));
  }

  app.get(
    '/oauth/logout',
    { config: { ...config, operation: logout }, exposeHeadRoute: false },
    async (request, reply) => {
      const wanted = await readLogoutRequest(deps, queryOf(request.url), request.ip);
      const session = await currentSession(deps, request);
      if (!session || namesSession(wanted, session)) return end(reply, session, wanted);
      return redirect(reply, confirmation(wanted));
    },
  );

  // A form posted from another site comes without our Lax cookie. One hop to our own GET brings it along.
  app.post('/oauth/logout', { config: { ...config, anySite: true, operation: logoutByPost } }, async (request, reply) =>
    redirect(reply, confirmation(await readLogoutRequest(deps, formTextOf(request), request.ip))),
  );

  app.get(confirmPath, { config, exposeHeadRoute: false }, async (request, reply) => {
    const wanted = openRequest(deps, request.queryParameters.request);
    const client = await checkClient(deps, wanted, request.ip);
    const session = await currentSession(deps, request);
    if (!session || namesSession(wanted, session)) return end(reply, session, wanted);
    request.signedInUser = session; // the form is for this user alone
    const view = viewOf(deps, request, wanted.ui_locales, session.locale);
    const question = {
      request: sealRequest(deps, wanted),
      email: session.email,
      app: client && appForUsers(client),
      endsAt: wanted.post_logout_redirect_uri,
    };
    return sendPage(reply, view, confirmationPage(view, question));
  });

  app.post(confirmPath, { config: { ...config, form: '/oauth/logout' } }, async (request, reply) => {
    const form = readForm(request.body);
    const wanted = openRequest(deps, form.request);
    await checkClient(deps, wanted, request.ip);
    if (form.decision === 'stay') return redirect(reply, '/account');
    if (form.decision !== 'sign_out') throw invalidRequest('decision must be sign_out or stay.');
    const isSignedIn = (await currentSession(deps, request)) !== undefined;
    return end(reply, isSignedIn ? await requireFirstFactor(deps, request) : undefined, wanted);
  });

  app.get('/signed-out', { config }, async (request, reply) => {
    request.isForClient = true; // in a popup of a client without a page to return to
    return sendPage(reply, request.view, signedOutPage(request.view));
  });
}

const redirect = (reply: FastifyReply, location: string) =>
  reply.headers({ 'referrer-policy': 'no-referrer' }).redirect(location, 303);

function formTextOf({ body }: FastifyRequest): string {
  if (body === undefined || body === null) return '';
  if (body instanceof FormText) return body.text;
  throw invalidRequest('The body must be application/x-www-form-urlencoded.');
}

const descriptions = {
  id_token_hint:
    'An ID token of this issuer, also an expired one. With that of the present session, no question is asked. One that cannot be verified is ignored.',
  client_id:
    'The client that asks; the `aud` of the hint, if both are sent. With it, the user returns to the client also when the hint cannot be verified.',
  post_logout_redirect_uri: 'Registered for that client, character for character.',
  state: 'Returned unchanged; up to 2048 bytes.',
  ui_locales: 'Page languages, in order of preference.',
  logout_hint: 'Accepted and not used: the browser’s session says who is signed in.',
} as const;

const shared = {
  tag: 'OIDC',
  answers: {
    303: {
      description:
        'Redirect to `post_logout_redirect_uri` with `state`, to the page that asks the user, or to the page “Signed out”.',
    },
  },
  refusals: ['invalid_request', 'unauthorized_client'],
} as const satisfies Partial<OperationDescription>;

const logout: OperationDescription = {
  ...shared,
  id: 'logout',
  summary: 'Sign the user out (RP-Initiated Logout)',
  description:
    'The session and its grants end at once if the hint is of this session; otherwise after the user has confirmed it. A refusal is a page for a browser and never a redirect.',
  parameters: Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => [name, { description, schema: Type.String() }]),
  ),
};

const logoutByPost: OperationDescription = {
  ...shared,
  id: 'logoutByPost',
  summary: 'Sign the user out, with the parameters in a form',
  description: 'As by GET, after one redirect to a page of Signet.',
  body: {
    schema: form(
      Object.fromEntries(
        Object.entries(descriptions).map(([name, description]) => [name, Type.Optional(Type.String({ description }))]),
      ),
    ),
    form: true,
    optional: true,
    example: { post_logout_redirect_uri: 'https://shop.example.com/', client_id: 'cl_0000000000000000000000' },
  },
};

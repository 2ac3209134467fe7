import type { FastifyInstance } from 'fastify';
import { clearCookie, cookieNames } from '../../platform/http/cookies.ts';
import { addOperations, nameInCode, nullable, operation } from '../../platform/http/operation.ts';
import { type PageContext, pagesFor } from '../../platform/pages/page-routes.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import { sessionNotices, sessionsPage } from './page.ts';
import { type SignedIn, signedIn } from './session.ts';
import {
  endOwnOtherSessions,
  endUserSession,
  listSessions,
  nameSession,
  SessionRecord,
  sessionRecord,
} from './sessions.ts';
import {
  endTrustedBrowser,
  listTrustedBrowsers,
  TrustedBrowserRecord,
  trustedBrowserRecord,
} from './trusted-browsers.ts';

const onSessions = { tag: 'Account', access: signedIn } as const;

const listOwnSessions = operation({
  ...onSessions,
  id: 'listSessions',
  method: 'GET',
  path: '/v1/me/sessions',
  summary: 'List your active sessions',
  description: 'Where the user is signed in, and since when.',
  answer: {
    description: 'The active sessions, last used first.',
    schema: Type.Object({
      sessions: Type.Array(
        Type.Object({
          ...SessionRecord.properties,
          name: nullable(
            Type.String({
              description: 'What you call it. Lists show it to you alone; an export of your data contains it.',
            }),
          ),
          current: Type.Boolean({ description: 'Whether this is the session of the request.' }),
        }),
      ),
    }),
  },
  run: async (deps: Deps, { session: { user_id, session_id } }) => ({
    sessions: (await listSessions(deps, user_id)).map((one) => ({
      ...sessionRecord(one),
      name: one.name,
      current: one.session_id === session_id,
    })),
  }),
});

const NameBody = Type.Object(
  { name: nullable(Type.String({ description: '1 to 100 visible characters; null: none.', ...nameInCode })) },
  { additionalProperties: false },
);

const renameSession = operation({
  ...onSessions,
  id: 'nameSession',
  method: 'PATCH',
  path: '/v1/me/sessions/:session_id',
  summary: 'Name one of your sessions',
  description:
    'The name lasts as long as the session. Lists show it to you alone; an export of your data, which administrators can make, contains it.',
  parameters: { session_id: 'As in the list.' },
  body: NameBody,
  example: { name: 'Work laptop' },
  answer: { description: 'Named.' },
  refusals: ['not_found'],
  async run(deps: Deps, { session: { user_id }, session_id, body: { name } }) {
    await nameSession(deps, { user_id, session_id }, name);
  },
});

const endSession = operation({
  ...onSessions,
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/me/sessions/:session_id',
  summary: 'End one of your sessions and the grants that came from it',
  description: 'Apps that were signed in to from it lose their access at once.',
  parameters: { session_id: 'As in the list.' },
  answer: { description: 'The session has ended on every node.' },
  refusals: ['not_found'],
  run: (deps: Deps, { session: { user_id }, caller, session_id }) =>
    endUserSession(deps, caller, { user_id, session_id }, { by: 'sign_out' }),
  setHeaders(reply, deps, { input: { session, session_id } }) {
    if (session_id === session.session_id) clearCookie(reply, deps.config, cookieNames(deps.config).session);
  },
});

const endOtherSessions = operation({
  ...onSessions,
  id: 'endOtherSessions',
  method: 'DELETE',
  path: '/v1/me/sessions',
  summary: 'Sign out everywhere else',
  description: 'Ends every other session and every grant that did not come from this session.',
  answer: {
    description: 'Number of ended sessions.',
    schema: Type.Object({ ended: Type.Integer({ minimum: 0 }) }),
  },
  run: async (deps: Deps, owner) => ({ ended: await endOwnOtherSessions(deps, owner) }),
});

const listOwnTrustedBrowsers = operation({
  ...onSessions,
  id: 'listTrustedBrowsers',
  method: 'GET',
  path: '/v1/me/trusted-browsers',
  summary: 'List the browsers that you trust',
  description: 'In which signing in does not ask for your second factor, where the operator allows that.',
  answer: {
    description: 'Last used first; an empty list where there are none.',
    schema: Type.Object({
      trusted_browsers: Type.Array(
        Type.Object({
          ...TrustedBrowserRecord.properties,
          current: Type.Boolean({ description: 'Whether the session of the request began in it.' }),
        }),
        { description: 'Those that stand in for the second factor now, twenty at most.' },
      ),
    }),
  },
  run: async (deps: Deps, { session }) => ({
    trusted_browsers: (await listTrustedBrowsers(deps, session.user_id)).map((one) => ({
      ...trustedBrowserRecord(one),
      current: one.series_hash === session.trusted_by,
    })),
  }),
});

const endOwnTrustedBrowser = operation({
  ...onSessions,
  id: 'endTrustedBrowser',
  method: 'DELETE',
  path: '/v1/me/trusted-browsers/:browser_id',
  summary: 'Stop trusting one of your browsers',
  description:
    'Your next sign-in in it asks for your second factor, and so do apps in which you are signed in from it.',
  parameters: { browser_id: 'As in the list.' },
  answer: { description: 'No longer trusted, on every node.' },
  refusals: ['not_found'],
  run: (deps: Deps, { session: { user_id }, caller, browser_id }) =>
    endTrustedBrowser(deps, caller, { user_id, browser_id }),
});

const path = '/account/sessions';

/** A user's own sessions. Ending access is always allowed, so no route here requires a recent sign-in. */
export async function sessionRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [
    listOwnSessions,
    renameSession,
    endSession,
    endOtherSessions,
    listOwnTrustedBrowsers,
    endOwnTrustedBrowser,
  ]);
  const pages = pagesFor(app, deps, signedIn);

  type Context = Pick<PageContext<SignedIn, typeof path>, 'view' | 'session' | 'caller'>;
  const draw = async (
    { view, session, caller: { address } }: Context,
    shown: Pick<Parameters<typeof sessionsPage>[1], 'done' | 'refused'>,
  ) =>
    sessionsPage(view, {
      ...shown,
      sessions: await listSessions(deps, session.user_id),
      trustedBrowsers: await listTrustedBrowsers(deps, session.user_id),
      trustedBy: session.trusted_by,
      current: session.session_id,
      address,
    });

  pages.show(path, (context) =>
    draw(context, { done: sessionNotices.find((notice) => notice === context.query.done) }),
  );
  pages.post(`${path}/name`, {
    page: path,
    async act({ session: { user_id } }, { session_id = '', name = '' }) {
      const isChanged = await nameSession(deps, { user_id, session_id }, name.trim() || null);
      return `${path}?done=${isChanged ? 'named' : 'unchanged'}`;
    },
    redraw: (context, { problem, form: { session_id, name } }) =>
      draw(context, { refused: { problem, session_id, name } }),
  });
  pages.run(endSession, {
    path: `${path}/end`,
    page: path,
    input: ({ session_id = '' }) => ({ session_id }),
    done: `${path}?done=one`,
  });
  pages.run(endOwnTrustedBrowser, {
    path: `${path}/end-trust`,
    page: path,
    input: ({ browser_id = '' }) => ({ browser_id }),
    done: `${path}?done=untrusted`,
  });
  pages.run(endOtherSessions, { path: `${path}/end-others`, page: path, done: `${path}?done=others` });
}

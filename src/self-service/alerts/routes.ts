import type { FastifyInstance } from 'fastify';
import {
  type Answered,
  answerAlert,
  isAboutSession,
  losesPassword,
} from '../../authentication/alert-answers/answer-alert.ts';
import { recentlySignedIn, setSessionCookie, signedIn } from '../../authentication/sessions/session.ts';
import { alertAnswers } from '../../authentication/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { Type } from '../../platform/schema.ts';
import { AlertRecord, listAlerts, requireAlertOfUser } from './alerts.ts';
import { alertPage } from './page.ts';

const onAlerts = { tag: 'Account' } as const;
const one = {
  ...onAlerts,
  path: '/v1/me/alerts/:alert_id',
  parameters: { alert_id: 'As in the list.' },
} as const;

const listOwnAlerts = operation({
  ...onAlerts,
  access: signedIn,
  id: 'listAlerts',
  method: 'GET',
  path: '/v1/me/alerts',
  summary: 'List what you are asked about',
  description:
    'What happened with your account that may not have been you, of the last 90 days, with what is known of it.',
  answer: {
    description: 'Newest first, 200 at most, and 20 of a kind and app.',
    schema: Type.Object({
      alerts: Type.Array(AlertRecord, { description: 'Each is asked about at `/account/alerts/{alert_id}`.' }),
    }),
  },
  run: async (deps: Deps, { session }) => ({ alerts: await listAlerts(deps, session.user_id) }),
});

const showOwnAlert = operation({
  ...one,
  access: signedIn,
  id: 'getAlert',
  method: 'GET',
  summary: 'Read one of them',
  description: 'What is known of both uses, what was ended, and what you have said to it.',
  answer: { description: 'What is known of it.', schema: AlertRecord },
  refusals: ['not_found'],
  run: (deps: Deps, { alert_id, session }) => requireAlertOfUser(deps, session.user_id, alert_id),
});

const answerOwnAlert = operation({
  ...one,
  access: recentlySignedIn,
  id: 'answerAlert',
  method: 'POST',
  path: '/v1/me/alerts/:alert_id/answer',
  summary: 'Say whether that was you',
  description:
    '`me` is noted, and changes nothing else. `not_me` ends every session but this one, every grant, and trust in every browser, and takes your password away where mail works, so that you choose another; this session continues with a new cookie. Each is said once: `not_me` may follow `me`, and whatever else is sent is answered with what was said before.',
  body: Type.Object(
    { answer: Type.Enum([...alertAnswers], { description: 'That was you, or not.' }) },
    { additionalProperties: false },
  ),
  example: { answer: 'not_me' },
  answer: { description: 'It is said, and done.' },
  refusals: ['not_found', 'access_denied'],
  run: (deps: Deps, { alert_id, body: { answer }, ...user }) => answerAlert(deps, user, { alert_id, answer }),
  setHeaders(reply, deps, { result, input: { session } }) {
    const { token } = result as Answered;
    if (token !== undefined) setSessionCookie(deps, reply, session, token);
  },
});

const path = '/account/alerts/:alert_id';

/** What a user is asked about: the page that mails and the list of what happened lead to. */
export async function alertRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [listOwnAlerts, showOwnAlert, answerOwnAlert]);
  pagesFor(app, deps, signedIn).show(path, async ({ view, alert_id, session }) => {
    const alert = await requireAlertOfUser(deps, session.user_id, alert_id);
    return alertPage(view, {
      alert,
      losesPassword: await losesPassword(deps, session),
      isCurrent: isAboutSession(alert, { session }),
    });
  });
  const pages = pagesFor(app, deps, recentlySignedIn);
  pages.run(answerOwnAlert, {
    path: `${path}/me`,
    page: path,
    input: () => ({ body: { answer: 'me' as const } }),
    done: path,
  });
  pages.run(answerOwnAlert, {
    path: `${path}/not-me`,
    page: path,
    input: () => ({ body: { answer: 'not_me' as const } }),
    done: (result, { alert_id }) =>
      (result as Answered).asksForPassword ? '/account/security/password?done=not_me' : `/account/alerts/${alert_id}`,
  });
}

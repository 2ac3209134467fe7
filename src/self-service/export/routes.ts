import type { FastifyInstance } from 'fastify';
import { recentlySignedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { addOperations, operation } from '../../platform/http/operation.ts';
import { pagesFor, sendDownload } from '../../platform/pages/page-routes.ts';
import { activityPath } from '../activity/page.ts';
import { exportOwnData } from './export-user.ts';

const exportCurrentUser = operation({
  tag: 'Account',
  access: recentlySignedIn,
  id: 'exportCurrentUser',
  method: 'POST',
  path: '/v1/me/export',
  summary: 'Export what is stored about you',
  description:
    'In one file: profile, sign-in methods, active sessions, grants, consents, clients, entitlements and their history, and events. ' +
    'Contains no secrets, and of what others did with the account only what and when. An event of the audit log tells of it.',
  answer: { description: 'A JSON document, as an attachment.', media: ['application/json'] },
  refusals: ['rate_limited'],
  run: (deps: Deps, { session, caller }) => exportOwnData(deps, caller, session.user_id),
});

/** All data of an account in one file, for its user. */
export async function ownExportRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [exportCurrentUser]);
  pagesFor(app, deps, recentlySignedIn).run(exportCurrentUser, {
    path: `${activityPath}/export`,
    page: activityPath,
    done: (file, { reply }) => sendDownload(reply, file),
  });
}

import type { FastifyInstance } from 'fastify';
import { signedIn } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { addOperations, nullable, operation } from '../../platform/http/operation.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { Type } from '../../platform/schema.ts';
import { ActivityRecord, activityPeriods, activityQuery, listActivity } from './activity.ts';
import { activityKinds } from './events.ts';
import { activityPage, activityPath } from './page.ts';

const listOwnActivity = operation({
  tag: 'Account',
  access: signedIn,
  id: 'listActivity',
  method: 'GET',
  path: '/v1/me/activity',
  summary: 'List what happened with your account',
  description:
    'Of the last 90 days: sign-ins and refused ones, changes of how you sign in and of your profile, apps that got access or lost it, and what administrators did with your account. A page may have fewer entries than the limit and yet not be the last.',
  query: activityQuery,
  answer: {
    description: 'Newest first. `next` is `before` of the next page.',
    schema: Type.Object({ events: Type.Array(ActivityRecord), next: nullable(Type.String()) }),
  },
  refusals: ['invalid_request'],
  run: (deps: Deps, { session, query }) => listActivity(deps, session.user_id, query),
});

/** What happened with an account, for its user. */
export async function activityRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [listOwnActivity]);
  pagesFor(app, deps, signedIn).show(activityPath, async ({ view, session, query }) => {
    const kind = activityKinds.find((one) => one === query.kind);
    const days = activityPeriods.find((one) => String(one) === query.days) ?? activityPeriods.at(-1)!;
    const { before } = query;
    const list = await listActivity(deps, session.user_id, { kind, days, before, limit: 50 });
    return activityPage(view, { ...list, kind, days });
  });
}

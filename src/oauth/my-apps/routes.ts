import type { FastifyInstance } from 'fastify';
import { signedIn } from '../../authentication/sessions/session.ts';
import { addOperations, inCode, nullable, operation } from '../../platform/http/operation.ts';
import { cursor } from '../../platform/http/paging.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { Type } from '../../platform/schema.ts';
import type { Deps } from '../deps.ts';
import { listMyApps, longestQuery, MyApp } from './my-apps.ts';
import { appsOnPage, myAppsPage, myAppsPath } from './page.ts';

const listApps = operation({
  tag: 'Account',
  access: signedIn,
  id: 'listMyApps',
  method: 'GET',
  path: '/v1/me/apps',
  summary: 'List the apps that you may start',
  description:
    'Approved apps with a start address or a home page that you use, that are for one of your groups, or that are for everybody here.',
  query: {
    query: Type.Optional(
      Type.String({ description: 'Beginnings of words of the name.', ...inCode({ maxLength: longestQuery }) }),
    ),
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'Maximum number of entries.' }),
    after: cursor,
  },
  answer: {
    description: 'By name. `next` is `after` of the next page.',
    schema: Type.Object({ apps: Type.Array(MyApp, { description: 'The apps.' }), next: nullable(Type.String()) }),
  },
  refusals: ['invalid_request'],
  run: async (deps: Deps, { session, browser, query }) => {
    const { apps, next } = await listMyApps(deps, session.user_id, { ...query, locale: browser.locale });
    return { apps, next };
  },
});

/** Where people start their apps. */
export async function myAppsRoutes(app: FastifyInstance, deps: Deps) {
  addOperations(app, deps, [listApps]);
  pagesFor(app, deps, signedIn).show(myAppsPath, async ({ view, session, query }) => {
    const { after, q = '' } = query;
    const typed = q.trim().slice(0, longestQuery);
    const { locale } = view;
    const found = await listMyApps(deps, session.user_id, { query: typed, after, limit: appsOnPage, locale });
    return myAppsPage(view, { ...found, query: typed, isFirst: !after });
  });
}

import type { FastifyInstance } from 'fastify';
import { findUsers } from '../../accounts/users.ts';
import { administratorPage } from '../../authentication/sessions/session.ts';
import { findClients } from '../../clients/find-clients.ts';
import type { Deps } from '../../oauth/deps.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { pagesNamed } from './find-pages.ts';
import { settingsNamed } from './find-settings.ts';
import { searchPage } from './page.ts';

/** Of each kind: their own pages list all. */
const maxFound = 5;

/** One search over people, clients, settings and pages. */
export async function searchPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, administratorPage);

  pages.show('/admin/search', async ({ view, query: { q = '' } }) => {
    const query = q.trim().slice(0, 254);
    const named = pagesNamed(view, query);
    if (query === '') return searchPage(view, { query, pages: named });
    const [people, clients] = await Promise.all([
      view.may('users:read') ? findUsers(deps, { query, limit: maxFound }) : undefined,
      view.may('clients:read') ? findClients(deps, { query, listing: 'all', limit: maxFound }) : undefined,
    ]);
    const settings = view.may('settings:read') ? settingsNamed(view, deps, query, maxFound) : undefined;
    return searchPage(view, { query, pages: named, people, clients, settings });
  });
}

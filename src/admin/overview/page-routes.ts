import type { FastifyInstance } from 'fastify';
import { administratorPage } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { readPeriod } from '../../statistics/periods.ts';
import { pagesNamed } from '../search/find-pages.ts';
import { searchPage } from '../search/page.ts';
import { overviewPage } from './page.ts';
import { readOverview } from './read-overview.ts';
import { confirmMasterKeyBackup, hideChecklist, showChecklist } from './setup.ts';

export async function overviewPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, administratorPage);

  pages.show('/admin', async ({ view, administrator_id, query }) =>
    view.may('audit:read')
      ? overviewPage(view, await readOverview(deps, administrator_id, readPeriod(query)))
      : searchPage(view, { query: '', pages: pagesNamed(view, '') }),
  );

  pages.post('/admin/master-key-backup', {
    page: '/admin',
    async act({ caller, authorize }) {
      authorize('keys:write');
      await confirmMasterKeyBackup(deps, caller);
      return '/admin';
    },
  });

  for (const [name, act] of [
    ['hide', hideChecklist],
    ['show', showChecklist],
  ] as const) {
    pages.post(`/admin/checklist/${name}`, {
      page: '/admin',
      async act({ administrator_id }) {
        await act(deps, administrator_id);
        return '/admin';
      },
    });
  }
}

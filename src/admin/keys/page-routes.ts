import type { FastifyInstance } from 'fastify';
import { administratorPage } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { listKeys } from '../../oauth/signing-keys/signing-keys.ts';
import { pagesFor } from '../../platform/pages/page-routes.ts';
import { rotateSigningKeys } from './operations.ts';
import { keysPage } from './page.ts';

const path = '/admin/keys';

export async function keyPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesFor(app, deps, administratorPage);
  pages.show(path, async ({ view, query }) => keysPage(view, await listKeys(deps), query));
  pages.run(rotateSigningKeys, {
    page: path,
    done: ({ rotated }) => `${path}?done=${rotated.length > 0 ? 'rotated' : 'waiting'}`,
  });
}

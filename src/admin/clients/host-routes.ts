import type { FastifyInstance } from 'fastify';
import { findHosts } from '../../clients/from-outside/approved-hosts.ts';
import type { Deps } from '../../oauth/deps.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { checkedNames, explains, namesAfter, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { hostOperations as operations } from './host-operations.ts';
import { hostsPage, hostsPath } from './hosts-page.ts';

/** Hosts of metadata documents that are approved in advance. */
export async function clientHostRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'clients:read');
  const redraw = async ({ view }: { view: View }, shown: Shown) =>
    hostsPage(view, await findHosts(deps), await deps.scopes.read(), shown);

  pages.show(hostsPath, (context) => redraw(context, context));
  pages.run(operations.approveHost, {
    path: hostsPath,
    page: hostsPath,
    input: (form) => ({
      host: form.host ?? '',
      body: { allowed_scopes: checkedNames(form, 'scope:', namesAfter(form, 'scope:')) },
    }),
    done: doneOrUnchanged(hostsPath, 'approved'),
    explains,
    redraw,
  });
  pages.run(operations.removeHost, {
    path: `${hostsPath}/:host/remove`,
    page: hostsPath,
    done: `${hostsPath}?done=removed`,
    explains,
    redraw,
  });
}

import type { FastifyInstance } from 'fastify';
import { countMembersOf, pageOfGroups, pageOfMembers } from '../../groups/find-groups.ts';
import type { Deps } from '../../oauth/deps.ts';
import { doneOrUnchanged } from '../../platform/pages/page-routes.ts';
import type { View } from '../../platform/pages/view.ts';
import { oneLine } from '../../platform/text.ts';
import { explains, type Shown } from '../components.ts';
import { pagesOf } from '../page-access.ts';
import { groupsPage } from './list-page.ts';
import { groupOperations as operations } from './operations.ts';
import { groupPage } from './page.ts';

const list = '/admin/groups';
const one = `${list}/:group_id` as const;

/** Groups of users, and who is in them. */
export async function groupPageRoutes(app: FastifyInstance, deps: Deps) {
  const pages = pagesOf(app, deps, 'groups:read');

  const all = async ({ view }: { view: View }, shown: Shown) => {
    const { q = '', after } = shown.query ?? {};
    return groupsPage(view, await pageOfGroups(deps, { query: q, after, limit: 50 }), shown);
  };
  pages.show(list, (context) => all(context, context));
  pages.run(operations.create, {
    page: list,
    input: ({ name = '', description = '' }) => ({ body: { name, description: oneLine(description) } }),
    done: ({ group_id }) => `${list}/${group_id}?done=created`,
    explains,
    redraw: all,
  });

  const redraw = async ({ view, group_id }: { view: View; group_id: string }, shown: Shown) => {
    const { group, members, next } = await pageOfMembers(deps, group_id, { after: shown.query?.after, limit: 50 });
    return groupPage(view, { group, members, next, count: await countMembersOf(deps, group) }, shown);
  };
  pages.show(one, (context) => redraw(context, context));
  const onPage = { page: one, explains, redraw };
  pages.run(operations.edit, {
    path: `${one}/edit`,
    input: ({ name = '', description = '' }) => ({ body: { name, description: oneLine(description) } }),
    done: doneOrUnchanged(one, 'saved'),
    ...onPage,
  });
  pages.run(operations.add, {
    input: ({ user = '' }) => ({ body: { user } }),
    done: ({ changed }, { group_id }) => `${list}/${group_id}?done=${changed ? 'added' : 'unchanged'}`,
    ...onPage,
  });
  pages.run(operations.remove, {
    input: ({ user = '' }) => ({ body: { user } }),
    done: ({ changed }, { group_id }) => `${list}/${group_id}?done=${changed ? 'removed' : 'unchanged'}`,
    ...onPage,
  });
  pages.run(operations.delete, { path: `${one}/delete`, done: `${list}?done=deleted`, ...onPage });
}

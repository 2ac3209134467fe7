import type { AdministrativePermission } from '../../accounts/permissions.ts';
import type { MessageKey } from '../../platform/i18n/translate.ts';
import type { View } from '../../platform/pages/view.ts';
import { matcherOf } from '../../platform/search-terms.ts';
import { tabs } from '../components.ts';

type ConsolePage = { readonly path: string; readonly label: MessageKey; readonly needs?: AdministrativePermission };

/** Pages of the console that are about nothing in particular, and parts of them that have a heading of their own. */
const consolePages: readonly ConsolePage[] = [
  ...Object.values(tabs),
  { path: '/admin/clients/register', label: 'admin.clients.register', needs: 'clients:write' },
  { path: '/admin/users/invite', label: 'admin.users.invite', needs: 'users:write' },
  { path: '/admin/users/export', label: 'admin.search.export_users', needs: 'users:export' },
  { path: '/admin/groups#create', label: 'admin.groups.create', needs: 'groups:write' },
  { path: '/admin/attributes#define', label: 'admin.attributes.define', needs: 'attributes:write' },
  { path: '/admin/providers#add', label: 'admin.providers.add', needs: 'providers:write' },
  { path: '/admin/apis#register', label: 'admin.apis.register', needs: 'apis:write' },
  { path: '/admin/service-credentials#create', label: 'admin.services.create', needs: 'service-credentials:write' },
  { path: '/admin/webhooks#create', label: 'admin.webhooks.create', needs: 'webhooks:write' },
  { path: '/admin/audit?by=administrators', label: 'admin.overview.latest.changes', needs: 'audit:read' },
  { path: '/admin/audit/unauthenticated', label: 'admin.unauthenticated.title', needs: 'audit:read' },
  { path: '/admin/brand#pictures', label: 'admin.brand.pictures', needs: 'brand:write' },
  { path: '/admin/brand/versions', label: 'admin.brand.versions', needs: 'brand:read' },
  { path: '/admin/settings#look', label: 'admin.settings.group.look', needs: 'settings:read' },
  { path: '/admin/settings#mail', label: 'admin.settings.mail.test', needs: 'settings:write' },
  { path: '/admin/users/refused-addresses', label: 'admin.refused.title', needs: 'users:read' },
  { path: '/admin/settings/mails', label: 'admin.mails.title', needs: 'settings:read' },
  { path: '/admin/settings#limits', label: 'admin.settings.group.limits', needs: 'settings:read' },
];

/** By the beginnings of words of their titles in the language of the reader; all of them without a query. Only those that the reader may open. */
export function pagesNamed(view: View, query: string): readonly ConsolePage[] {
  const isFound = query === '' ? () => true : matcherOf(query);
  return consolePages.filter(
    ({ label, needs }) => (needs === undefined || view.may(needs)) && isFound(view.plain(label)),
  );
}

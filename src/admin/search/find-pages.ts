import type { MessageKey } from '../../platform/i18n/translate.ts';
import type { View } from '../../platform/pages/view.ts';
import { matcherOf } from '../../platform/search-terms.ts';
import { tabs } from '../components.ts';

type ConsolePage = { readonly path: string; readonly label: MessageKey };

/** Pages of the console that are about nothing in particular, and parts of them that have a heading of their own. */
const consolePages: readonly ConsolePage[] = [
  ...Object.values(tabs),
  { path: '/admin/clients/register', label: 'admin.clients.register' },
  { path: '/admin/users/invite', label: 'admin.users.invite' },
  { path: '/admin/users/export', label: 'admin.search.export_users' },
  { path: '/admin/apis#register', label: 'admin.apis.register' },
  { path: '/admin/service-credentials#create', label: 'admin.services.create' },
  { path: '/admin/webhooks#create', label: 'admin.webhooks.create' },
  { path: '/admin/audit?by=administrators', label: 'admin.overview.latest.changes' },
  { path: '/admin/audit/unauthenticated', label: 'admin.unauthenticated.title' },
  { path: '/admin/settings#look', label: 'admin.settings.group.look' },
  { path: '/admin/settings#mail', label: 'admin.settings.mail.test' },
  { path: '/admin/settings#limits', label: 'admin.settings.group.limits' },
];

/** By the beginnings of words of their titles in the language of the reader; all of them without a query. */
export function pagesNamed(view: View, query: string): readonly ConsolePage[] {
  const isFound = query === '' ? () => true : matcherOf(query);
  return consolePages.filter(({ label }) => isFound(view.plain(label)));
}

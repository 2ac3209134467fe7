import { navigation } from '../platform/pages/page.ts';

/** The pages of administrators, in the order of their navigation. The last one leads back. */
export const adminTab = navigation('admin.navigation', {
  admin: { path: '/admin', label: 'admin.tab.overview' },
  admin_clients: { path: '/admin/clients', label: 'admin.tab.clients' },
  admin_users: { path: '/admin/users', label: 'admin.tab.users' },
  admin_services: { path: '/admin/service-credentials', label: 'admin.tab.services' },
  admin_webhooks: { path: '/admin/webhooks', label: 'admin.tab.webhooks' },
  admin_keys: { path: '/admin/keys', label: 'admin.tab.keys' },
  admin_audit: { path: '/admin/audit', label: 'admin.tab.audit' },
  admin_leave: { path: '/account', label: 'admin.tab.leave' },
});

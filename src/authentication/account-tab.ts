import { navigation } from '../platform/pages/page.ts';

/** The pages of a user's own account, in the order of their navigation. */
export const accountTab = navigation('account.navigation', {
  profile: { path: '/account', label: 'account.tab.profile' },
  security: { path: '/account/security', label: 'account.tab.security' },
  sessions: { path: '/account/sessions', label: 'account.tab.sessions' },
  activity: { path: '/account/activity', label: 'activity.title' },
  my_apps: { path: '/account/my-apps', label: 'my_apps.title' },
  apps: { path: '/account/apps', label: 'account.tab.apps' },
  entitlements: { path: '/account/entitlements', label: 'account.tab.entitlements' },
});

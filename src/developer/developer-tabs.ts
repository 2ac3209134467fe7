import { navigation } from '../platform/pages/page.ts';

/** The pages of people who build on this service, in the order of their navigation. The last one leads back. */
export const developerTab = navigation('developer.navigation', {
  developer: { path: '/developer', label: 'developer.tab.list' },
  developer_register: { path: '/developer/register', label: 'developer.tab.register' },
  developer_reference: { path: '/reference', label: 'developer.tab.reference' },
  developer_leave: { path: '/account', label: 'developer.tab.leave' },
});

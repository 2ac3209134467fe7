import type { MessageKey } from '../platform/i18n/translate.ts';

/** The pages of people who build on this service, in the order of their navigation. The last one leads back. */
export const developerTabs = {
  developer: { path: '/developer', label: 'developer.tab.list' },
  developer_register: { path: '/developer/register', label: 'developer.tab.register' },
  developer_reference: { path: '/reference', label: 'developer.tab.reference' },
  developer_leave: { path: '/account', label: 'developer.tab.leave' },
} as const satisfies Record<string, { path: string; label: MessageKey }>;

import { adminTabs } from '../../admin/admin-tabs.ts';
import { accountTabs } from '../../authentication/sessions/account-tabs.ts';
import { developerTabs } from '../../developer/developer-tabs.ts';
import type { MessageKey } from '../i18n/translate.ts';

type Destinations = Readonly<Record<string, { path: string; label: MessageKey }>>;

/** The pages that stand beside a navigation, by the group that they belong to. */
const navigations: readonly { label: MessageKey; tabs: Destinations }[] = [
  { label: 'account.navigation', tabs: accountTabs },
  { label: 'admin.navigation', tabs: adminTabs },
  { label: 'developer.navigation', tabs: developerTabs },
];

export type Tab = keyof typeof accountTabs | keyof typeof adminTabs | keyof typeof developerTabs;

/** The list in which a page is found. */
export const navigationOf = (tab: Tab) => navigations.find(({ tabs }) => Object.hasOwn(tabs, tab))!;

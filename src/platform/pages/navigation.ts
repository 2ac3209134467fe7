import type { MessageKey } from '../i18n/translate.ts';

type Tabs = Readonly<Record<string, { path: string; label: MessageKey }>>;

/** The navigation beside a page, and the tab in it that the page belongs to. */
export type Tab = { label: MessageKey; tabs: Tabs; current: string };

/**
 * @param label names the navigation for screen readers.
 * @param tabs in their order.
 */
export const navigation =
  <const Known extends Tabs>(label: MessageKey, tabs: Known) =>
  (current: keyof Known & string): Tab => ({ label, tabs, current });

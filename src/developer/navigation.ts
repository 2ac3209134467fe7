import type { Client } from '../clients/client.ts';
import { fillPath } from '../platform/http/parameters.ts';
import { untrusted } from '../platform/pages/html.ts';
import { navigation, type Page } from '../platform/pages/page.ts';

/** In the order of the navigation. */
const tabs = {
  developer: { path: '/developer', label: 'developer.tab.list' },
  developer_register: { path: '/developer/register', label: 'developer.tab.register' },
  developer_reference: { path: '/reference', label: 'developer.tab.reference' },
} as const;

export const developerTab = navigation('developer.navigation', tabs, { wide: true });

/** Where clients are registered and edited: their owners' pages, and those of administrators for clients without one. */
export type ClientArea = {
  tab: Page['tab'];
  /** Of the page that registers a client. */
  registerTab: Page['tab'];
  registerPath: '/developer/register' | '/admin/clients/register';
  clientPath: '/developer/clients/:client_id' | '/admin/clients/:client_id';
  /** Who approves what is registered here. */
  intro: 'developer.register.intro' | 'admin.clients.register.intro';
};

export const ownClients = {
  tab: developerTab('developer'),
  registerTab: developerTab('developer_register'),
  registerPath: '/developer/register',
  clientPath: '/developer/clients/:client_id',
  intro: 'developer.register.intro',
} as const satisfies ClientArea;

export const clientPath = ({ client_id }: Pick<Client, 'client_id'>, area: ClientArea = ownClients): string =>
  fillPath(area.clientPath, { client_id });

/** For pages about one part of a client: what stands above them. */
export const aboveClient = (client: Client, area?: ClientArea) => [
  { path: clientPath(client, area), label: untrusted(client.name) },
];

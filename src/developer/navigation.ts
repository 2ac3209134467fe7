import type { Client } from '../clients/client.ts';
import { untrusted } from '../platform/pages/html.ts';
import { navigation } from '../platform/pages/page.ts';

/** In the order of the navigation. */
const tabs = {
  developer: { path: '/developer', label: 'developer.tab.list' },
  developer_register: { path: '/developer/register', label: 'developer.tab.register' },
  developer_reference: { path: '/reference', label: 'developer.tab.reference' },
} as const;

export const developerTab = navigation('developer.navigation', tabs, { wide: true });

export const clientPath = ({ client_id }: Pick<Client, 'client_id'>): string => `/developer/clients/${client_id}`;

/** For pages about one part of a client: what stands above them. */
export const aboveClient = (client: Client) => [{ path: clientPath(client), label: untrusted(client.name) }];

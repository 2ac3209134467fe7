import type { Client } from '../clients/client.ts';
import { type Html, html, untrusted } from '../platform/pages/html.ts';
import { navigation } from '../platform/pages/page.ts';
import type { View } from '../platform/pages/view.ts';

/** In the order of the navigation. */
export const developerTab = navigation('developer.navigation', {
  developer: { path: '/developer', label: 'developer.tab.list' },
  developer_register: { path: '/developer/register', label: 'developer.tab.register' },
  developer_reference: { path: '/reference', label: 'developer.tab.reference' },
  developer_leave: { path: '/account', label: 'developer.tab.leave' },
});

export const clientPath = ({ client_id }: Pick<Client, 'client_id'>): string => `/developer/clients/${client_id}`;

/** For pages about one part of a client. */
export const backLink = (view: View, client: Client): Html =>
  html`<p><a href="${clientPath(client)}">${view.t('developer.back', { client: untrusted(client.name) })}</a></p>`;

import type { Kind } from '../kind.ts';
import { apis } from './apis.ts';
import { attributes } from './attributes.ts';
import { brand } from './brand.ts';
import { clientHosts } from './client-hosts.ts';
import { clients } from './clients.ts';
import { groups } from './groups.ts';
import { providers } from './providers.ts';
import { serviceCredentials } from './service-credentials.ts';
import { settings } from './settings.ts';
import { webhooks } from './webhooks.ts';

/** In the order in which they are made. */
export const kinds: readonly Kind[] = [
  providers,
  groups,
  attributes,
  apis,
  clients,
  clientHosts,
  serviceCredentials,
  webhooks,
  brand,
  settings,
];

import { type Html, untrusted } from '../../platform/pages/html.ts';
import { nameOfWebhook } from '../../webhooks/list-webhooks.ts';
import type { Webhook } from '../../webhooks/statements.ts';
import { adminTab } from '../components.ts';

// What the pages about webhooks and those about their deliveries have in common.

export const webhooksPath = '/admin/webhooks';
export const webhooksTab = adminTab('admin_webhooks');

export const pathOf = ({ webhook_id }: Pick<Webhook, 'webhook_id'>) => `${webhooksPath}/${webhook_id}`;

export const webhookName = (one: Webhook): Html => untrusted(nameOfWebhook(one));

export const formOf = (one: Webhook, name: string, style?: 'quiet' | 'danger') => ({
  path: `${pathOf(one)}/${name}`,
  id: `webhook-${name}`,
  style,
});

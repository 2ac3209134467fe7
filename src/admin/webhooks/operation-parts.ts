import { administration } from '../operation-parts.ts';

// What the operations on webhooks and those on their deliveries have in common.

export const webhooksEndpoint = '/v1/admin/webhooks';
export const oneWebhook = { ...administration, parameters: { webhook_id: 'As in the list.' } } as const;
export const changeOfWebhook = { ...oneWebhook, method: 'POST', refusals: ['not_found', 'invalid_state'] } as const;

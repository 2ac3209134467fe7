import type { AdministrativePermission } from '../../accounts/permissions.ts';
import { administration } from '../operation-parts.ts';

// What the operations on webhooks and those on their deliveries have in common.

export const webhooksEndpoint = '/v1/admin/webhooks';
export const anyWebhook = { webhook_id: 'As in the list.' };
export const oneWebhook = (permission: AdministrativePermission) => ({
  ...administration(permission),
  parameters: anyWebhook,
});
export const changeOfWebhook = (permission: AdministrativePermission) =>
  ({ ...oneWebhook(permission), method: 'POST', refusals: ['not_found', 'invalid_state'] }) as const;

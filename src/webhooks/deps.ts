import type { Deps as AuditDeps } from '../audit/deps.ts';
import type { WebhookSender } from './webhook-sender.ts';

export type Deps = AuditDeps & {
  /** Posts deliveries to webhooks. */
  readonly webhookSender: WebhookSender;
};

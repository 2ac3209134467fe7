import type { Deps as AuditDeps } from '../audit/deps.ts';
import type { DeliverySender } from './delivery-lanes.ts';

export type Deps = AuditDeps & {
  /** Posts deliveries to webhooks. */
  readonly webhookSender: DeliverySender;
};

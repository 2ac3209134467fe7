import type { Deps as AuditDeps } from '../audit/deps.ts';
import type { DeliveryKindName } from './queue.ts';
import type { DeliverySender } from './sender.ts';

export type Deps = AuditDeps & {
  readonly deliverySenders: Readonly<Record<DeliveryKindName, DeliverySender>>;
};

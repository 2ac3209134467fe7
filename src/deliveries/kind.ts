import type { DeliveryKindName, DeliveryQueue } from './queue.ts';
import type { DeliverySender } from './sender.ts';

/** What the server does by itself with the deliveries of one kind. `app/deliveries.ts` lists the kinds. */
export type DeliveryKind<KindDeps, Job extends string> = {
  readonly kind: DeliveryKindName;
  /** That posts them, each second. */
  readonly job: Job;
  readonly queue: DeliveryQueue;
  open(deps: KindDeps): DeliverySender;
};

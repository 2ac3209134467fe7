import type { DeliveryKindName } from '../deliveries/queue.ts';
import type { DeliverySender } from '../deliveries/sender.ts';
import { logoutKind } from '../oauth/logout/logout-sender.ts';
import { webhookKind } from '../webhooks/webhook-sender.ts';

/** Jobs, purges, metrics, opening and closing follow from it. */
export const deliveryKinds = [webhookKind, logoutKind] as const;

type SenderDeps = Parameters<(typeof deliveryKinds)[number]['open']>[0];

export const openSenders = (
  deps: SenderDeps & Parameters<typeof webhookKind.open>[0] & Parameters<typeof logoutKind.open>[0],
) =>
  Object.fromEntries(deliveryKinds.map(({ kind, open }) => [kind, open(deps)])) as Record<
    DeliveryKindName,
    DeliverySender
  >;

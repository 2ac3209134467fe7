import type { DeliveryKindName } from '../deliveries/queue.ts';
import type { DeliverySender } from '../deliveries/sender.ts';
import type { Deps } from '../oauth/deps.ts';
import { logoutKind } from '../oauth/logout/logout-sender.ts';
import { signalKind } from '../signals/signal-sender.ts';
import { webhookKind } from '../webhooks/webhook-sender.ts';

/** Jobs, purges, metrics, opening and closing follow from it. */
export const deliveryKinds = [webhookKind, logoutKind, signalKind] as const;

type SenderDeps = Pick<Deps, 'db' | 'clients' | 'clock' | 'config' | 'keys' | 'log' | 'outbound' | 'tracer' | 'vault'>;

export const openSenders = (deps: SenderDeps) =>
  Object.fromEntries(deliveryKinds.map(({ kind, open }) => [kind, open(deps)])) as Record<
    DeliveryKindName,
    DeliverySender
  >;

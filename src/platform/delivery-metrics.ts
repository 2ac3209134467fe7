import { counter, histogram, slowSeconds } from './metrics.ts';

/** How late mails, webhooks, logout tokens and signals are at their first attempt. */
export const deliveryDelays = histogram(
  'signet_delivery_delay_seconds',
  'How long after it was due something was sent.',
  slowSeconds,
  'queue',
);
export const deliveryAttempts = counter(
  'signet_deliveries_total',
  'Attempts to send something, by result; no attempt follows a dead one.',
  'queue',
  'result',
);

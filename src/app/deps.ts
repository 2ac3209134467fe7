import type { Deps as OAuthDeps } from '../oauth/deps.ts';
import type { WebhookSender } from '../webhooks/webhook-sender.ts';

/** All that the process opens at its start and closes at its end, see `open-deps.ts`. */
export type Deps = OAuthDeps & {
  /** Posts deliveries to webhooks. */
  readonly webhookSender: WebhookSender;
};

import type { Caller } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';
import { type ClientDeps, changeClient } from '../change-client.ts';
import type { Client } from '../client.ts';

/**
 * A signed-in user wants to use a client that came by itself: it enters the queue of reviewers, who hear of it by their daily mail. One
 * that is there already, or decided, stays as it is.
 * @throws {RequestError} `not_found`; `rate_limited`.
 */
export function askForReview(
  deps: ClientDeps & LimitDeps,
  { client_id, user_id, caller }: { client_id: string; user_id: string; caller: Caller },
): Promise<Client> {
  const limit = windowLimit(deps, {
    name: 'review-requests',
    limit: deps.config.limits.reviewRequestsPerDay,
    windowSeconds: 86_400,
  });
  let isTaken = false;
  return changeClient(deps, { client_id, caller }, async (client) => {
    if (client.origin === null || client.status !== 'pending_review' || client.review_asked_at !== null)
      return undefined;
    if (!isTaken) await limit.take(user_id);
    isTaken = true; // once, also if a lost race runs this again
    return { action: 'client.review_asked', to: { review_asked_at: now(deps) } };
  });
}

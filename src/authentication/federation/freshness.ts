import type { UpstreamAccount } from './upstream-account.ts';
import type { UpstreamAuthorization } from './upstream-authorization.ts';

/** Seconds: the upstream's clock is not ours. */
const leewaySeconds = 60;

/**
 * Since when somebody must have proved who they are, where they confirm or a client demands it (OIDC Core §3.1.2.1).
 * @param now and the answer in Unix seconds; undefined where any proof will do.
 */
export function authenticatedSince(
  { asksAnew, max_age, started_at }: UpstreamAuthorization,
  now: number,
): number | undefined {
  if (asksAnew) return started_at - leewaySeconds;
  return max_age === undefined ? undefined : now - max_age - leewaySeconds;
}

/** What the upstream says itself. One that says nothing is judged where it is known whose session it would refresh. */
export function isStale({ auth_time }: UpstreamAccount, authorization: UpstreamAuthorization, now: number): boolean {
  const since = authenticatedSince(authorization, now);
  return since !== undefined && auth_time !== undefined && auth_time < since;
}

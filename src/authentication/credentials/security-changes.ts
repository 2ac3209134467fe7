import type { LimitDeps } from '../../platform/deps.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';

/**
 * Counts a change that a person makes of how they sign in. Each is a row of the audit log and a mail: without a limit one
 * account could delay everybody's mail. Ending sessions and the reset of a password are never counted, so whoever has
 * taken over a session cannot use up what its owner needs to end it.
 * @throws {RequestError} `rate_limited`.
 */
export const limitSecurityChanges = (deps: LimitDeps, user_id: string): Promise<void> =>
  windowLimit(deps, {
    name: 'security-change',
    limit: deps.config.limits.securityChangesPerHour,
    windowSeconds: 3600,
  }).take(user_id);

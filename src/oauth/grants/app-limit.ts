import type { LimitDeps } from '../../platform/deps.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';

/**
 * How often a user may allow an app access, or disconnect one: each is a row of the audit log for good. They count apart, so
 * that no number of consents keeps a user from disconnecting.
 */
export const appLimit = (deps: LimitDeps, what: 'allowed' | 'disconnected') =>
  windowLimit(deps, { name: `app-${what}`, limit: deps.config.limits.appChangesPerHour, windowSeconds: 3600 });

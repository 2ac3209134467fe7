import type { LimitDeps } from '../../platform/deps.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';

/** Questions to an upstream for nothing: a code that we are sent costs it one, whoever has made the code up. */
const failures = (deps: LimitDeps) =>
  windowLimit(deps, { name: 'federation-failed', limit: deps.config.limits.providerFailures, windowSeconds: 600 });

/**
 * Before an upstream is asked anything.
 * @throws {RequestError} `rate_limited` for an address from where that has failed too often.
 */
export const checkFailures = (deps: LimitDeps, address: string): Promise<void> =>
  failures(deps).check(addressKey(address));

/** After an upstream was asked, and gave nothing that lets anybody in. */
export const countFailure = (deps: LimitDeps, address: string): Promise<void> =>
  failures(deps).failed(addressKey(address));

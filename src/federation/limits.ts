import type { Deps } from '../deps.ts';
import { RequestError } from '../errors.ts';
import { addressKey } from '../limits/address-key.ts';
import { windowLimit } from '../limits/failure-limits.ts';

/** Lines that one address may leave in the log: anybody can make a callback fail, as often as they like. */
const recorded = { name: 'federation-refused', limit: 60, windowSeconds: 600 };
/** Questions to an upstream for nothing: a code that we are sent costs it one, whoever has made the code up. */
const failures = (deps: Deps) =>
  windowLimit(deps, { name: 'federation-failed', limit: deps.config.limits.providerFailures, windowSeconds: 600 });

/**
 * Before an upstream is asked anything.
 * @throws {RequestError} `rate_limited` for an address from where that has failed too often.
 */
export const checkFailures = (deps: Deps, address: string): Promise<void> => failures(deps).check(addressKey(address));

/** After an upstream was asked, and gave nothing that lets anybody in. */
export const countFailure = (deps: Deps, address: string): Promise<void> => failures(deps).failed(addressKey(address));

/** @returns whether a refusal goes into the log. */
export async function mayRecord(deps: Deps, address: string): Promise<boolean> {
  try {
    await windowLimit(deps, recorded).take(addressKey(address));
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'rate_limited') return false;
    throw error;
  }
}

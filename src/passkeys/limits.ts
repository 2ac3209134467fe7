import { addressKey } from '../limits/address-key.ts';
import { type LimitDeps, windowLimit } from '../limits/failure-limits.ts';

/** Challenges cost next to nothing: this only keeps a loop from running away. Many people may share an address. */
const asked = ({ config: { limits } }: LimitDeps) => ({
  name: 'passkey-options',
  limit: limits.passkeyChallenges,
  windowSeconds: 600,
});
/**
 * A passkey cannot be guessed, so refusals stop nobody: an office behind one address would pay for its worst visitor.
 * What is limited is the line in the log that each leaves.
 */
const refusedLines = { name: 'passkey-refused', limit: 30, windowSeconds: 600 };

/** @throws {RequestError} `rate_limited` */
export const countOptions = (deps: LimitDeps, address: string) =>
  windowLimit(deps, asked(deps)).take(addressKey(address));

/** @returns whether this refusal is one that the log takes. */
export const takeRefusalLine = (deps: LimitDeps, address: string): Promise<boolean> =>
  windowLimit(deps, refusedLines).mayTake(addressKey(address));

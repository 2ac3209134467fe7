import type { LimitDeps } from '../../platform/deps.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { windowLimit } from '../../platform/limits/failure-limits.ts';

/** Challenges cost next to nothing: this only keeps a loop from running away. Many people may share an address. */
const challengesPerAddress = ({ config: { limits } }: LimitDeps) => ({
  name: 'passkey-options',
  limit: limits.passkeyChallenges,
  windowSeconds: 600,
});
/** @throws {RequestError} `rate_limited` */
export const countOptions = (deps: LimitDeps, address: string) =>
  windowLimit(deps, challengesPerAddress(deps)).take(addressKey(address));

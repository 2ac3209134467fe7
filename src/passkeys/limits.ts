import { addressKey } from '../limits/address-key.ts';
import { type LimitDeps, windowLimit } from '../limits/failure-limits.ts';

/** Challenges cost next to nothing: this only keeps a loop from running away. Many people may share an address. */
const asked = { name: 'passkey-options', limit: 600, windowSeconds: 600 };
/** A passkey cannot be guessed; refusals are counted because each leaves a line in the log. */
const refused = { name: 'passkey-refused', limit: 30, windowSeconds: 600 };

/** @throws {RequestError} `rate_limited` */
export const countOptions = (deps: LimitDeps, address: string) => windowLimit(deps, asked).take(addressKey(address));

/** @throws {RequestError} `rate_limited` */
export const checkRefusals = (deps: LimitDeps, address: string) =>
  windowLimit(deps, refused).check(addressKey(address));

export const countRefusal = (deps: LimitDeps, address: string) =>
  windowLimit(deps, refused).failed(addressKey(address));

import type { Deps } from '../deps.ts';
import { RequestError } from '../errors.ts';
import { digest } from '../lib/ids.ts';
import { addressKey } from '../limits/address-key.ts';
import { windowLimit } from '../limits/failure-limits.ts';
import { emailKey } from '../users/user.ts';

type LimitDeps = Pick<Deps, 'db' | 'clock' | 'config'>;

/** Who asks without being signed in, by address: whoever asks for many people is told to wait. */
const perAddress = { name: 'mail-asked-from', limit: 20, windowSeconds: 600 };
/** Who asks while signed in. */
const perPerson = { name: 'mail-asked-by', limit: 20, windowSeconds: 3600 };
/** Mails of one kind to one mailbox, so that nobody fills somebody else's. */
const perMailbox = { limit: 5, windowSeconds: 3600 };

/** @throws {RequestError} `rate_limited`. */
export const takeRequestFrom = (deps: LimitDeps, address: string): Promise<void> =>
  windowLimit(deps, perAddress).take(addressKey(address));

/** @throws {RequestError} `rate_limited`. */
export const takeRequestBy = (deps: LimitDeps, user_id: string): Promise<void> =>
  windowLimit(deps, perPerson).take(user_id);

/**
 * Takes one of the mails of this kind that a mailbox may get. Whoever asks is not told when there are none left: that
 * would tell what others have asked for.
 */
export async function takeMailTo(deps: LimitDeps, kind: string, email: string): Promise<boolean> {
  try {
    await windowLimit(deps, { name: `mail-${kind}`, ...perMailbox }).take(digest(emailKey(email)));
    return true;
  } catch (error) {
    if (error instanceof RequestError && error.code === 'rate_limited') return false;
    throw error;
  }
}

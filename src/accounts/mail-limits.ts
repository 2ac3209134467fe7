import type { Sql } from '../platform/db/sql.ts';
import type { LimitDeps } from '../platform/deps.ts';
import { emailKey } from '../platform/email-address.ts';
import { digest } from '../platform/ids.ts';
import { addressKey } from '../platform/ip-address.ts';
import { type Window, windowLimit } from '../platform/limits/failure-limits.ts';
import { linkSeconds } from './links.ts';

/** Who asks without being signed in, by address: whoever asks for many people is told to wait. */
const perAddress = ({ config: { limits } }: LimitDeps) => ({
  name: 'mail-asked-from',
  limit: limits.mailsPerAddress,
  windowSeconds: 600,
});
/** Who asks while signed in. */
const perUser = ({ config: { limits } }: LimitDeps) => ({
  name: 'mail-asked-by',
  limit: limits.mailsPerPerson,
  windowSeconds: 3600,
});
/**
 * Mails of one kind to one mailbox, so that nobody fills somebody else's. A window is never longer than the life of the
 * link that is mailed, and one ends with the link's use ({@link resetMailsTo}): while there are no more mails to be had,
 * the newest lies in the mailbox and opens. Else somebody who asks all the time could keep its owner out.
 */
const perMailbox = ({ config: { limits } }: LimitDeps, kind: string) => ({
  limit: limits.mailsPerMailbox,
  windowSeconds: kind === 'reset' ? linkSeconds.password_reset : 3600,
});
const mailsTo = (deps: LimitDeps, kind: string) =>
  windowLimit(deps, { name: `mail-${kind}`, ...perMailbox(deps, kind) });
const mailbox = (email: string) => digest(emailKey(email));

/** @throws {RequestError} `rate_limited`. */
export const limitRequestsFrom = (deps: LimitDeps, address: string): Promise<void> =>
  windowLimit(deps, perAddress(deps)).take(addressKey(address));

/** @throws {RequestError} `rate_limited`. */
export const limitRequestsBy = (deps: LimitDeps, user_id: string): Promise<void> =>
  windowLimit(deps, perUser(deps)).take(user_id);

/**
 * Takes one of the mails of this kind that a mailbox may get. Whoever asks is not told when there are none left: that
 * would tell what others have asked for.
 */
export const mayMailTo = (deps: LimitDeps, kind: string, email: string): Promise<boolean> =>
  mailsTo(deps, kind).mayTake(mailbox(email));

/** For a batch that leaves the mails of this kind without use. */
export const resetMailsTo = (deps: LimitDeps, kind: string, email: string): Sql =>
  mailsTo(deps, kind).forget(mailbox(email));

/** Of sessions and grants that others end: whoever ends them again and again does not fill a mailbox. */
export const maxMailsAboutRevocations: Window = { limit: 5, windowSeconds: 3600 };

/** Takes one of the mails that tell a person of something which somebody else may do any number of times. */
export const mayMailAbout = (deps: LimitDeps, kind: string, user_id: string, most: Window): Promise<boolean> =>
  windowLimit(deps, { name: `mail-about-${kind}`, ...most }).mayTake(user_id);

import type { Part } from '../platform/db/db.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { LimitDeps } from '../platform/deps.ts';
import { emailKey } from '../platform/email-address.ts';
import { digest } from '../platform/ids.ts';
import { addressLimit, type Window, windowLimit } from '../platform/limits/failure-limits.ts';
import { linkSeconds } from './links.ts';

/** Counts a mail that a requester who is not signed in has asked for. @throws {RequestError} `rate_limited`. */
export function limitRequestsFrom(deps: LimitDeps, address: string): Promise<void> {
  const { mailsPerAddress: limit } = deps.config.limits;
  return addressLimit(deps, { name: 'mail-asked-from', limit, windowSeconds: 600 }).take(address);
}

/** @throws {RequestError} `rate_limited`. */
export function limitRequestsBy(deps: LimitDeps, user_id: string): Promise<void> {
  const { mailsPerPerson: limit } = deps.config.limits;
  return windowLimit(deps, { name: 'mail-asked-by', limit, windowSeconds: 3600 }).take(user_id);
}

/**
 * Mails of one kind to one mailbox, so that no requester can fill another user's. A window is never longer than the life
 * of the link that is mailed, and one ends with the link's use ({@link resetMailsTo}): while no more mails are sent, the
 * newest link is valid. Otherwise a requester could keep the owner out.
 */
const mailsTo = (deps: LimitDeps, kind: string, part?: Part) => {
  const limit = {
    name: `mail-${kind}`,
    limit: deps.config.limits.mailsPerMailbox,
    windowSeconds: kind === 'reset' ? linkSeconds.password_reset : 3600,
  };
  return windowLimit(deps, limit, part && (() => part));
};
const mailbox = (email: string) => digest(emailKey(email));

/**
 * Takes one of the mails of this kind that a mailbox may get. The answer to the requester must not depend on it: that would
 * disclose what others have requested.
 * @param part where they are counted, if a change there is to end the window: see {@link resetMailsTo}.
 */
export const mayMailTo = (deps: LimitDeps, kind: string, email: string, part?: Part): Promise<boolean> =>
  mailsTo(deps, kind, part).mayTake(mailbox(email));

/** For a change that makes the links in the mails of this kind invalid. */
export const resetMailsTo = (deps: LimitDeps, kind: string, email: string): Sql =>
  mailsTo(deps, kind).forget(mailbox(email));

/** About sessions and grants that another user ends any number of times. */
export const maxMailsAboutRevocations: Window = { limit: 5, windowSeconds: 3600 };

/** Takes one of the mails to a user about what another user may do any number of times. */
export const mayMailAbout = (deps: LimitDeps, kind: string, user_id: string, window: Window): Promise<boolean> =>
  windowLimit(deps, { name: `mail-about-${kind}`, ...window }).mayTake(user_id);

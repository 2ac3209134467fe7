import { now } from '../platform/clock.ts';
import type { Deps, StoreDeps } from '../platform/deps.ts';
import { refusal } from '../platform/errors.ts';
import { mayBeUserId, type UserId } from '../platform/ids.ts';
import { acceptReviewMails, declineReviewMails, findDeclined } from './declined-mails.store.ts';

// The daily mails about clients that wait for a review can be stopped by each of their readers, also by the mail program (RFC 8058). A
// link does that without a sign-in, and nothing else; it is valid for as long as the master key is.

type LinkDeps = Pick<Deps, 'config' | 'vault'>;

const messageOf = (user_id: string) => Buffer.from(`review-mails:${user_id}`);

/** Of the page that stops them, and of the header of each of them. */
export const stopUrl = ({ config, vault }: LinkDeps, user_id: string): string =>
  `${config.baseUrl}/admin/review-mails/${encodeURIComponent(user_id)}.${vault.mac('unsubscribe', messageOf(user_id)).toString('base64url')}`;

/** @throws {RequestError} `not_found` for a token that is none of ours. */
export function readerOfToken({ vault }: Pick<Deps, 'vault'>, token: string): UserId {
  const [user_id = '', mac = ''] = token.split('.');
  const given = Buffer.from(mac, 'base64url');
  if (!mayBeUserId(user_id) || given.length !== 32 || !vault.isMac('unsubscribe', messageOf(user_id), given))
    throw refusal('not_found', { key: 'admin.review_mails.unknown' });
  return user_id as UserId;
}

export const wantsNoReviewMails = async ({ db }: Pick<Deps, 'db'>, user_id: string): Promise<boolean> =>
  (await findDeclined(db, user_id)) !== undefined;

/** Any number of times. */
export async function chooseReviewMails(deps: StoreDeps, user_id: UserId, wanted: boolean): Promise<void> {
  if (wanted) await acceptReviewMails(deps.db, user_id);
  else await declineReviewMails(deps.db, user_id, now(deps));
}

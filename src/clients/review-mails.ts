import { listAdministratorsAfter } from '../accounts/administrators.ts';
import { mayMailAbout } from '../accounts/mail-limits.ts';
import { findUser, type User } from '../accounts/users.ts';
import type { Sql } from '../platform/db/sql.ts';
import type { MailDeps } from '../platform/deps.ts';
import { windowLimit } from '../platform/limits/failure-limits.ts';
import { mailTo } from '../platform/mail/outbox.ts';
import type { ClientTarget } from './change-client.ts';
import type { Client } from './client.ts';
import { countWaiting } from './find-clients.ts';

/** What administrators decide, each with a mail `client_…` of its own. */
type Decision = 'approved' | 'change_approved' | 'rejected' | 'change_rejected' | 'suspended' | 'reinstated';

/** A client can be suspended and reinstated any number of times. */
const maxMailsToOwner = { limit: 20, windowSeconds: 3600 };

/** @returns the statements, for the change that makes the decision. None without an owner, or by the owner. */
export async function mailToOwner(
  deps: MailDeps,
  { caller }: ClientTarget,
  { client_id, owner_user_id, name: app }: Client,
  decision: Decision,
  reason = '',
): Promise<Sql[]> {
  if (!deps.mail.works || owner_user_id === null || caller.actor === `user:${owner_user_id}`) return [];
  const owner = await findUser(deps.db, owner_user_id);
  if (!owner || !(await mayMailAbout(deps, 'client', owner_user_id, maxMailsToOwner))) return [];
  const url = `${deps.config.baseUrl}/developer/clients/${client_id}`;
  return mailTo(deps, owner, `client_${decision}`, { app, reason, url });
}

const administratorsAtOnce = 100;
const mostCounted = 1000;

/**
 * While clients wait for a review, each administrator gets one mail a day that says how many. Any node may do this at any
 * time: the mail is enqueued in the change that takes the only one of the day.
 */
export async function remindReviewers(given: MailDeps): Promise<void> {
  const deps = { ...given, config: { ...given.config, rateLimits: true } }; // they are what makes it one mail a day
  if (!deps.mail.works || !deps.config.reviewMails) return;
  const count = await countWaiting(deps, mostCounted);
  // The administrators are read once an hour, not at each run of the job.
  const rounds = windowLimit(deps, { name: 'review-mails', limit: 1, windowSeconds: 3600 });
  if (count === 0 || !(await rounds.mayTake('round'))) return;
  const daily = windowLimit(deps, { name: 'review-mail', limit: 1, windowSeconds: 86_400 });
  const url = `${deps.config.baseUrl}/admin/clients`;
  let last: User | undefined;
  do {
    const some = await listAdministratorsAfter(deps.db, last, administratorsAtOnce);
    for (const one of some) {
      const mail = mailTo(deps, one, 'reviews_waiting', { count, url });
      await deps.db.change({ run: { first: daily.taken(one.user_id), mail } });
    }
    last = some.length === administratorsAtOnce ? some.at(-1) : undefined;
  } while (last);
}

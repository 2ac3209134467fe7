import { isOpenLink, requireLink, spentLink } from '../../accounts/one-time-links/link.ts';
import { deleteLinksOfUser, type OneTimeLink, spendLink } from '../../accounts/one-time-links/store.ts';
import { isReachableAt, lockUser, markEmailVerified, replaceEmail } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import {
  isActiveSession,
  isCurrentSession,
  sessionRefusal,
} from '../../authentication/sessions/rotate-session-secret.ts';
import { requireRecentSignIn, type Session } from '../../authentication/sessions/session.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { Statement } from '../../platform/db/sql.ts';
import type { MailDeps, StoreDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import { passwordLimits } from '../../platform/limits/failure-limits.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';

const purposes = ['verify_email', 'change_email'] as const;
type AddressLink = OneTimeLink & { email: string };
/** Who opened the link, and where. */
type Opener = { session: Session; address: string };

/**
 * A link proves an address to the account that asked for it, in a session of that account: else whoever names somebody
 * else's address would get it verified as theirs by that person's click.
 * Another address takes a recent sign-in to ask for and to accept: whoever has the mailbox has not got the account.
 * @throws {RequestError} `invalid_request` when the link is over; `access_denied` in another account's session;
 * `reauthentication_required` for another address.
 */
export async function requireAddressLink(deps: StoreDeps, token: string, session: Session | undefined) {
  const link = await requireLink(deps, token, purposes);
  if (session && link.user_id !== session.user_id) throw refusal('access_denied', { key: 'email.other_account' });
  if (session && link.purpose === 'change_email') requireRecentSignIn(deps, session);
  return link;
}

/**
 * Uses the link up: the address is verified, or takes the place of the old one.
 * @returns which of the two.
 * @throws {RequestError} as {@link requireAddressLink}; `invalid_state` when the address is taken by now; `login_required`.
 */
export async function confirmAddress(deps: MailDeps, token: string, { session, address }: Opener) {
  const link = await requireAddressLink(deps, token, session);
  const { user_id } = session;
  const at = now(deps);
  const isChange = link.purpose === 'change_email';
  const { statement } = auditEvent(
    {
      action: isChange ? 'email.changed' : 'email.verified',
      actor: `user:${user_id}`,
      target: user_id,
      before: isChange ? { email: session.email } : undefined,
      after: { email: link.email },
      address,
    },
    at,
  );
  const change = { from: session.email, to: link.email };
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: {
      session: isChange ? isCurrentSession(session) : isActiveSession(session),
      address: isReachableAt(user_id, isChange ? session.email : link.email),
    },
    run: {
      link: mayConflict(spendLink(link)),
      user: isChange ? mayConflict(replaceEmail(user_id, change, at)) : markEmailVerified(user_id, link.email, at),
      others: isChange ? changeStatements(deps, { session, address }, link) : undefined,
      event: statement,
    },
  });
  if (done.ok) return link.purpose;
  if (done.failed === 'session') throw await sessionRefusal(deps, session);
  if (!isChange || !(await isOpenLink(deps, token, purposes))) throw spentLink('verify_email');
  throw refusal('invalid_state', { key: 'email.taken_meanwhile' });
}

/** Links that were sent to the old address end, and failed guesses at the new one are forgotten. */
function changeStatements(deps: MailDeps, { session, address }: Opener, { email }: AddressLink): Statement[] {
  const { user_id } = session;
  return [
    deleteLinksOfUser(user_id, 'verify_email'),
    deleteLinksOfUser(user_id, 'password_reset'),
    ...passwordLimits(deps).reset(email),
    ...mailTo(deps, session, 'email_changed', { new_email: email, address }),
  ];
}

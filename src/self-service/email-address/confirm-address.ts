import { isOpenLink, requireLink, spentLink } from '../../accounts/one-time-links/link.ts';
import { deleteLinksOfUser, failUnless, type OneTimeLink, spendLink } from '../../accounts/one-time-links/store.ts';
import { isReachableAt, lockUser, markEmailVerified, replaceEmail } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import {
  failUnlessAlive,
  failUnlessHeld,
  requireActiveSession,
  requireCurrentSession,
} from '../../authentication/sessions/rotate-session-secret.ts';
import { requireRecentSignIn, type Session } from '../../authentication/sessions/session.ts';
import { now } from '../../platform/clock.ts';
import { type Statement, UniqueViolation } from '../../platform/db/db.ts';
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
  const { event_id, statement } = auditEvent(
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
  const expected = isChange ? session.email : link.email;
  try {
    await deps.db.batch([
      lockUser(user_id),
      spendLink(link),
      (isChange ? failUnlessHeld : failUnlessAlive)(session, event_id, at),
      failUnless(isReachableAt(user_id, expected), `${event_id}:address`, at),
      ...(isChange ? changeStatements(deps, { session, address }, link) : [markEmailVerified(user_id, link.email, at)]),
      statement,
    ]);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    await (isChange ? requireCurrentSession : requireActiveSession)(deps, session);
    if (!(await isOpenLink(deps, token, purposes))) throw spentLink('verify_email');
    throw isChange ? refusal('invalid_state', { key: 'email.taken_meanwhile' }) : spentLink('verify_email');
  }
  return link.purpose;
}

/** What hung on the old address goes with it: links that it was sent, and what was guessed at the new one before. */
function changeStatements(deps: MailDeps, { session, address }: Opener, { email }: AddressLink): Statement[] {
  const { user_id } = session;
  return [
    replaceEmail(user_id, { from: session.email, to: email }, now(deps)),
    deleteLinksOfUser(user_id, 'verify_email'),
    deleteLinksOfUser(user_id, 'password_reset'),
    ...passwordLimits(deps).reset(email),
    ...mailTo(deps, session, 'email_changed', { new_email: email, address }),
  ];
}

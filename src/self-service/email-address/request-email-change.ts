import { limitRequestsBy, mayMailTo } from '../../accounts/mail-limits.ts';
import { newLink } from '../../accounts/one-time-links/link.ts';
import { deleteLinksOfUser, insertAddressLink } from '../../accounts/one-time-links/store.ts';
import { findUserByEmail, isEmailFree, isEmailTaken, lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { isCurrentSession, sessionRefusal } from '../../authentication/sessions/rotate-session-secret.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { emailKey, emailProblem } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields } from '../../platform/errors.ts';
import { mailTo, mailToAddress } from '../../platform/mail/mail-to.ts';
import { type Requester, requireMailDelivery } from './request-verification.ts';

/**
 * Sends a link to the new address; the old one stays until somebody who reads the new one's mail confirms it. If the
 * new address is somebody's already, they get a mail instead, and whoever asked sees no difference: an earlier link
 * dies either way, or its death would tell.
 * @throws {RequestError} `invalid_request` for what is no other address; `invalid_state`; `rate_limited`; `login_required` if the
 * session has ended meanwhile.
 */
export async function requestEmailChange(deps: MailDeps, requester: Requester, email: string): Promise<void> {
  const { session, address } = requester;
  const { user_id } = session;
  requireMailDelivery(deps);
  const isSame = emailKey(email) === emailKey(session.email);
  const problem = emailProblem(email) ?? (isSame ? 'problem.email.same' : undefined);
  if (problem) throw invalidFields([fieldProblem('email', { key: problem })]);
  await limitRequestsBy(deps, user_id);
  if (!(await mayMailTo(deps, 'change', email))) return;
  const owner = await findUserByEmail(deps.db, email);
  const { link, url } = newLink(deps, { purpose: 'change_email', email });
  const locale = session.locale ?? requester.locale;
  const told = { email: owner?.email ?? link.email, name: owner?.name ?? null, locale: owner?.locale ?? locale };
  const event = { action: 'email.change_asked', actor: `user:${user_id}`, target: user_id, address } as const;
  const at = now(deps);
  const { statement } = auditEvent(event, at);
  const done = await deps.db.change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session) },
    run: {
      earlierLinks: deleteLinksOfUser(user_id, 'change_email'),
      link: insertAddressLink({ ...link, user_id }, emailKey(email), at),
      mail: mailToAddress(deps, { email: link.email, locale }, 'change_email', { url }, isEmailFree(email)),
      mailToOwner: mailTo(deps, told, 'change_email_taken', {}, isEmailTaken(email)),
      event: statement,
    },
  });
  if (!done.ok) throw await sessionRefusal(deps, session);
}

import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { fieldProblem, invalidFields } from '../errors.ts';
import { mailTo, mailToAddress } from '../mail/mail-to.ts';
import { takeMailTo, takeRequestBy } from '../mail/request-limits.ts';
import { newLink } from '../one-time-links/link.ts';
import { deleteLinksOfUser, insertAddressLink, linkWasKept } from '../one-time-links/store.ts';
import { findUserByEmail, hasOwner } from '../users/store.ts';
import { emailKey, emailProblem } from '../users/user.ts';
import { type Asker, requireMail } from './ask-verification.ts';

/**
 * Sends a link to the new address; the old one stays until somebody who reads the new one's mail confirms it. If the
 * new address is somebody's already, they get a mail instead, and whoever asked sees no difference: an earlier link
 * dies either way, or its death would tell.
 * @throws {RequestError} `invalid_request` for what is no other address; `invalid_state`; `rate_limited`.
 */
export async function askEmailChange(deps: Deps, asker: Asker, email: string): Promise<void> {
  const { session, address } = asker;
  const { user_id } = session;
  requireMail(deps);
  const isSame = emailKey(email) === emailKey(session.email);
  const problem = emailProblem(email) ?? (isSame ? 'problem.email.same' : undefined);
  if (problem) throw invalidFields([fieldProblem('email', { key: problem })]);
  await takeRequestBy(deps, user_id);
  if (!(await takeMailTo(deps, 'change', email))) return;
  const owner = await findUserByEmail(deps.db, email);
  const { link, url } = newLink(deps, { purpose: 'change_email', email });
  const locale = session.locale ?? asker.locale;
  const told = { email: owner?.email ?? link.email, name: owner?.name ?? null, locale: owner?.locale ?? locale };
  const event = { action: 'email.change_asked', actor: `user:${user_id}`, target: user_id, address } as const;
  const { statement } = auditEvent(event, now(deps));
  await deps.db.batch([
    deleteLinksOfUser(user_id, 'change_email'),
    insertAddressLink({ ...link, user_id }, emailKey(email), now(deps)),
    ...mailToAddress(deps, { email: link.email, locale }, 'change_email', { url }, linkWasKept(link.token_hash)),
    ...mailTo(deps, told, 'change_email_taken', {}, hasOwner(email)),
    statement,
  ]);
}

import { unauthenticatedEvent } from '../audit/unauthenticated.ts';
import { now } from '../clock.ts';
import type { MailDeps } from '../deps.ts';
import { mailTo } from '../mail/mail-to.ts';
import { takeMailTo } from '../mail/request-limits.ts';
import { linkSeconds, newLink } from '../one-time-links/link.ts';
import { insertAccountLink, linkWasKept } from '../one-time-links/store.ts';
import { admit, type LinkRequest } from '../signup/ask-sign-up.ts';
import { findUserByEmail } from '../users/store.ts';

/**
 * Sends the newest and only link that resets the password, to the address as the account has it: two spellings that
 * fold to one may be two mailboxes. For an unknown address and a disabled account the same statements run, and the
 * store drops link and mail.
 * @throws {RequestError} `invalid_request` for what is no address; `rate_limited` by where it comes from.
 */
export async function askReset(deps: MailDeps, request: LinkRequest): Promise<void> {
  const { email, locale, address } = request;
  await admit(deps, request);
  if (!(await takeMailTo(deps, 'reset', email))) return;
  const user = await findUserByEmail(deps.db, email);
  const to = { email: user?.email ?? email.trim(), name: user?.name ?? null, locale: user?.locale ?? locale };
  const { link, url } = newLink(deps, { ...request, purpose: 'password_reset', email: to.email });
  await deps.db.batch([
    insertAccountLink({ ...link, user_id: user?.user_id ?? 'nobody' }, now(deps)),
    ...mailTo(deps, to, 'reset', { url, minutes: linkSeconds.password_reset / 60 }, linkWasKept(link.token_hash)),
    ...unauthenticatedEvent(deps, { action: 'password.reset_asked', target: user?.user_id, address }),
  ]);
}

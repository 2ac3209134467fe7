import { mayMailTo } from '../../accounts/mail-limits.ts';
import { linkSeconds, newLink } from '../../accounts/one-time-links/link.ts';
import { insertAccountLink } from '../../accounts/one-time-links/store.ts';
import { findUserByEmail, isDisabled } from '../../accounts/store.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import { type LinkRequest, limitMailRequests } from '../sign-up/request-sign-up.ts';

/**
 * Sends the newest and only link that resets the password, to the address as the account has it: two spellings that
 * fold to one may be two mailboxes. For an unknown address and a disabled account the same statements run, and the
 * store drops link and mail.
 * @throws {RequestError} `invalid_request` for what is no address; `rate_limited` by where it comes from.
 */
export async function requestPasswordReset(deps: MailDeps, request: LinkRequest): Promise<void> {
  const { email, locale, address } = request;
  await limitMailRequests(deps, request);
  if (!(await mayMailTo(deps, 'reset', email))) return;
  const user = await findUserByEmail(deps.db, email);
  const to = { email: user?.email ?? email.trim(), name: user?.name ?? null, locale: user?.locale ?? locale };
  const { link, url } = newLink(deps, { ...request, purpose: 'password_reset', email: to.email });
  const user_id = user?.user_id ?? 'nobody';
  const values = { url, minutes: linkSeconds.password_reset / 60 };
  await deps.db.change({
    run: {
      link: insertAccountLink({ ...link, user_id }, now(deps)),
      mails: mailTo(deps, to, 'reset', values, isDisabled(user_id, false)),
      event: unauthenticatedEvent(deps, { action: 'password.reset_asked', target: user?.user_id, address }),
    },
  });
}

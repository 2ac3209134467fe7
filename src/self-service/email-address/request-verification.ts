import { limitRequestsBy, mayMailTo } from '../../accounts/mail-limits.ts';
import { newLink } from '../../accounts/one-time-links/link.ts';
import { insertAccountLink } from '../../accounts/one-time-links/store.ts';
import { isDisabled } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { refusal } from '../../platform/errors.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { mailToAddress } from '../../platform/mail/mail-to.ts';

/** Who asks from a session, where from, and in which language the page was. */
export type Requester = { session: Session; address: string; locale: Locale };

/**
 * Sends a link to the account's own address, which nobody has shown to be theirs yet.
 * @throws {RequestError} `invalid_state` when it is verified already, and where mail does not work; `rate_limited`.
 */
export async function requestVerification(deps: MailDeps, { session, address, locale }: Requester): Promise<void> {
  const { user_id, email } = session;
  requireMailDelivery(deps);
  if (session.email_verified_at !== null) throw refusal('invalid_state', { key: 'email.verified_already' });
  await limitRequestsBy(deps, user_id);
  if (!(await mayMailTo(deps, 'verify', email))) return;
  const { link, url } = newLink(deps, { purpose: 'verify_email', email });
  const to = { email, locale: session.locale ?? locale };
  const event = { action: 'email.verification_asked', actor: `user:${user_id}`, target: user_id, address } as const;
  const { statement } = auditEvent(event, now(deps));
  await deps.db.change({
    run: {
      link: insertAccountLink({ ...link, user_id }, now(deps)),
      mails: mailToAddress(deps, to, 'verify_email', { url }, isDisabled(user_id, false)),
      event: statement,
    },
  });
}

/** @throws {RequestError} `invalid_state`: without mail nobody can show that an address is theirs. */
export function requireMailDelivery({ mail }: Pick<Deps, 'mail'>): void {
  if (!mail.works) throw refusal('invalid_state', { key: 'email.no_mail' });
}

import { isOpenLink, newLink, requireLink, spentLink } from '../../accounts/links.ts';
import { limitRequestsBy, mayMailTo } from '../../accounts/mail-limits.ts';
import {
  claimsOfChange,
  deleteLinksOfUser,
  deleteResetLinksOfUser,
  findUserByEmail,
  hasEmail,
  ifFree,
  insertAccountLink,
  insertAddressLink,
  isDisabled,
  isReachableAt,
  lockUser,
  markEmailVerified,
  type OneTimeLink,
  replaceEmail,
} from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { resetPasswordLimits } from '../../authentication/passwords/password-limits.ts';
import { requireRecentSignIn, type SignedIn, sessionRefusal } from '../../authentication/sessions/session.ts';
import { isActiveSession, isCurrentSession, type Session } from '../../authentication/statements.ts';
import { evenIfOvertaken, wasOvertaken } from '../../platform/claims.ts';
import { now } from '../../platform/clock.ts';
import { mayConflict } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import { useOnce } from '../../platform/db/used-once.ts';
import type { Deps, MailDeps, PlacementDeps, StoreDeps } from '../../platform/deps.ts';
import { emailKey, emailProblem, readableEmail } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, refusal, tookTooLong } from '../../platform/errors.ts';
import { bucketOf } from '../../platform/ids.ts';
import { mailTo } from '../../platform/mail/letters.ts';

type Requester = Pick<SignedIn, 'session' | 'caller' | 'browser'>;

/**
 * Sends a link to the account's own address, which is not verified yet.
 * @throws {RequestError} `invalid_state` when it is verified already, and where mail does not work; `rate_limited`.
 */
export async function requestVerification(deps: MailDeps, { session, caller, browser }: Requester): Promise<void> {
  const { user_id, email } = session;
  requireMailDelivery(deps);
  if (session.email_verified_at !== null) throw refusal('invalid_state', { key: 'email.verified_already' });
  await limitRequestsBy(deps, user_id);
  if (!(await mayMailTo(deps, 'verify', email))) return;
  const { link, url } = newLink(deps, bucketOf(user_id), { purpose: 'verify_email', email });
  const to = { email, locale: session.locale ?? browser.locale };
  const event = { action: 'email.verification_asked', ...caller, target: user_id } as const;
  await deps.db.of(user_id).change({
    run: {
      link: insertAccountLink({ ...link, user_id }, now(deps)),
      mail: mailTo(deps, to, 'verify_email', { url, expires_at: link.expires_at }, isDisabled(user_id, false)),
      event: auditEvent(event, now(deps)).statement,
    },
  });
}

/**
 * Sends a link to the new address; the old one stays until the link is opened and confirmed. Another spelling of the same
 * mailbox is stored at once. If another account has the
 * new address, its owner gets a mail instead, and the answer is the same. An earlier link is deleted either way, since a
 * difference would tell.
 * @throws {RequestError} `invalid_request` for the same address and for none; `invalid_state`; `rate_limited`;
 * `login_required` if the session has ended meanwhile.
 */
export async function requestEmailChange(
  deps: MailDeps & PlacementDeps,
  { session, caller, browser }: Requester,
  email: string,
): Promise<'sent' | 'respelled'> {
  const { user_id } = session;
  const isSame = readableEmail(email) === session.email;
  const problem = emailProblem(email) ?? (isSame ? 'problem.email.same' : undefined);
  if (problem) throw invalidFields([fieldProblem('email', { key: problem })]);
  if (emailKey(email) === emailKey(session.email)) return respell(deps, { session, caller }, email);
  requireMailDelivery(deps);
  await limitRequestsBy(deps, user_id);
  if (!(await mayMailTo(deps, 'change', email))) return 'sent';
  const owner = await findUserByEmail(deps, email);
  const { link, url } = newLink(deps, bucketOf(user_id), { purpose: 'change_email', email });
  const locale = session.locale ?? browser.locale;
  const present = { email: owner?.email ?? link.email, name: owner?.name ?? null, locale: owner?.locale ?? locale };
  const { free, taken } = ifFree(deps, email, owner);
  const event = { action: 'email.change_asked', ...caller, target: user_id } as const;
  const at = now(deps);
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session) },
    run: {
      earlier: deleteLinksOfUser(user_id, 'change_email'),
      link: insertAddressLink({ ...link, user_id }, at),
      mail: mailTo(deps, { email: link.email, locale }, 'change_email', { url, expires_at: link.expires_at }, free),
      notice: mailTo(deps, present, 'change_email_taken', {}, taken),
      event: auditEvent(event, at).statement,
    },
  });
  if (!done.ok) throw await sessionRefusal(deps, session);
  return 'sent';
}

/** Other capitals, or another spelling of the domain, are the same mailbox, as verified as it was: no link is needed. */
async function respell(
  deps: StoreDeps,
  { session, caller }: Pick<Requester, 'session' | 'caller'>,
  email: string,
): Promise<'respelled'> {
  const { user_id } = session;
  const at = now(deps);
  const states = { before: { email: session.email }, after: { email: readableEmail(email) } };
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { session: isCurrentSession(session), address: hasEmail(user_id, session.email) },
    run: {
      user: replaceEmail(user_id, { from: session.email, to: email, verifiedAt: session.email_verified_at }, at),
      event: auditEvent({ action: 'email.changed', ...caller, target: user_id, ...states }, at).statement,
    },
  });
  if (done.ok) return 'respelled';
  throw done.failed === 'user' ? takenMeanwhile() : await sessionRefusal(deps, session);
}

/** @throws {RequestError} `invalid_state`: without mail no address can be verified. */
function requireMailDelivery({ mail }: Pick<Deps, 'mail'>): void {
  if (!mail.works) throw refusal('invalid_state', { key: 'email.no_mail' });
}

const purposes = ['verify_email', 'change_email'] as const;
type AddressLink = OneTimeLink & { email: string };
type Opener = Pick<SignedIn, 'session' | 'caller'>;

/**
 * A link verifies an address in a session of the account that requested it: otherwise an attacker could enter another
 * user's address and have it verified by that user's click. A new address needs a recent sign-in to request and to
 * confirm, so that access to the mailbox is not access to the account.
 * @throws {RequestError} `invalid_request` when the link has expired or was used; `access_denied` in another account's
 * session; `reauthentication_required` for a new address.
 */
export async function requireAddressLink(deps: StoreDeps, token: string, session: Session | undefined) {
  const link = await requireLink(deps, token, purposes);
  if (session && link.user_id !== session.user_id)
    throw refusal('access_denied', { key: 'email.other_account' }, { title: { key: 'error.other_account' } });
  if (session && link.purpose === 'change_email') requireRecentSignIn(deps, session);
  return link;
}

/**
 * Uses the link: the address is verified, or replaces the old one.
 * @returns which of the two.
 * @throws {RequestError} as {@link requireAddressLink}; `invalid_state` when the address is taken by now; `login_required`.
 */
export async function confirmAddress(deps: MailDeps & PlacementDeps, token: string, { session, caller }: Opener) {
  const link = await requireAddressLink(deps, token, session);
  const { user_id } = session;
  const at = now(deps);
  const isChange = link.purpose === 'change_email';
  const { statement } = auditEvent(
    {
      action: isChange ? 'email.changed' : 'email.verified',
      ...caller,
      target: user_id,
      before: isChange ? { email: session.email } : undefined,
      after: { email: link.email },
    },
    at,
  );
  const claims = isChange ? claimsOfChange(deps, session.email, link.email) : {};
  const change = () =>
    deps.claims.holding(user_id, claims, (claim) =>
      deps.db.of(user_id).change({
        lock: lockUser(user_id),
        require: {
          session: isChange ? isCurrentSession(session) : isActiveSession(session),
          address: isReachableAt(user_id, isChange ? session.email : link.email),
        },
        run: {
          claim,
          link: mayConflict(useOnce(link)),
          user: isChange
            ? replaceEmail(user_id, { from: session.email, to: link.email, verifiedAt: at }, at)
            : markEmailVerified(user_id, link.email, at),
          ended: isChange ? endOldAddress(deps, { session, caller }, link) : [],
          event: statement,
        },
      }),
    );
  const done = await evenIfOvertaken(change);
  if (done.ok) return link.purpose;
  if (done.failed === 'session') throw await sessionRefusal(deps, session);
  if (wasOvertaken(done)) throw tookTooLong();
  if (!isChange || !(await isOpenLink(deps, token, purposes))) throw spentLink('verify_email');
  throw takenMeanwhile();
}

const takenMeanwhile = () => refusal('invalid_state', { key: 'email.taken' }, { details: { current_status: 'taken' } });

/** Links that were sent to the old address are deleted, and failures counted for the new one before. */
function endOldAddress(deps: MailDeps, { session, caller: { address } }: Opener, { email }: AddressLink): Sql[] {
  const { user_id } = session;
  return [
    deleteLinksOfUser(user_id, 'verify_email'),
    deleteResetLinksOfUser(user_id),
    ...resetPasswordLimits(email),
    ...mailTo(deps, session, 'email_changed', { new_email: email, address }),
  ];
}

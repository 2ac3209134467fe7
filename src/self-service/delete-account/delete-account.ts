import { deleteUser, isNotLastAdministrator, lockAdministrators, lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { deleteIdentitiesOfUser } from '../../authentication/credentials/identities.store.ts';
import { findTotp } from '../../authentication/credentials/two-factor.store.ts';
import { isCurrentSession, sessionRefusal } from '../../authentication/sessions/rotate-session-secret.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import { orphanClientsOf } from '../../clients/store.ts';
import { now } from '../../platform/clock.ts';
import type { MailDeps } from '../../platform/deps.ts';
import { emailKey } from '../../platform/email-address.ts';
import { fieldProblem, invalidFields, refusal } from '../../platform/errors.ts';
import { codeLimits } from '../../platform/limits/code-limits.ts';
import { passwordLimits } from '../../platform/limits/failure-limits.ts';
import { mailToAddress } from '../../platform/mail/mail-to.ts';

type Deletion = {
  session: Session;
  /** The address, typed once more. */
  email: string;
  address: string;
};

/**
 * Deletes an account at its owner's wish, with all that hangs on it: sessions, grants, factors, consents. Clients that
 * they registered stay without an owner, since other people sign in with those. The id is never used again: whoever makes
 * an account with the same address is somebody else to every client (OIDC Core §2).
 * @throws {RequestError} `invalid_request` unless the address is the account's; `invalid_state` for the last
 * administrator; `login_required` if the session has ended meanwhile.
 */
export async function deleteAccount(deps: MailDeps, { session, email, address }: Deletion): Promise<void> {
  const { user_id } = session;
  if (emailKey(email) !== emailKey(session.email)) {
    throw invalidFields([fieldProblem('email', { key: 'problem.email.other' })]);
  }
  const at = now(deps);
  const event = { action: 'user.deleted', actor: `user:${user_id}`, target: user_id, address } as const;
  const { statement } = auditEvent(event, at);
  const totp = await findTotp(deps.db, user_id);
  const done = await deps.db.change({
    lock: [...(session.role === 'admin' ? [lockAdministrators()] : []), lockUser(user_id)],
    require: { session: isCurrentSession(session), anotherAdministrator: isNotLastAdministrator(user_id) },
    run: {
      passwordFailures: passwordLimits(deps).reset(session.email), // while the user's devices are known
      user: deleteUser(user_id, at),
      clients: orphanClientsOf(user_id),
      identities: deleteIdentitiesOfUser(user_id), // so that an account with the same provider can be made at once
      codeFailures: codeLimits(deps, { user_id, confirmed_at: totp?.confirmed_at ?? 0 }).open(),
      mails: mailToAddress(deps, session, 'account_deleted'),
      event: statement,
    },
  });
  if (done.ok) return;
  if (done.failed === 'session') throw await sessionRefusal(deps, session);
  throw refusal('invalid_state', { key: 'delete.last_administrator' });
}

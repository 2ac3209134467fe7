import { failUnless } from '../../accounts/one-time-links/store.ts';
import { deleteUser, isNotLastAdministrator, lockAdministrators, lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { deleteIdentitiesOfUser } from '../../authentication/credentials/identities.store.ts';
import { findTotp } from '../../authentication/credentials/two-factor.store.ts';
import { failUnlessHeld, requireCurrentSession } from '../../authentication/sessions/rotate-session-secret.ts';
import type { Session } from '../../authentication/sessions/session.ts';
import { orphanClientsOf } from '../../clients/store.ts';
import { now } from '../../platform/clock.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
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
  const { event_id, statement } = auditEvent(event, at);
  const totp = await findTotp(deps.db, user_id);
  const mayGo = isNotLastAdministrator(user_id);
  try {
    await deps.db.batch([
      ...(session.role === 'admin' ? [lockAdministrators()] : []),
      lockUser(user_id),
      failUnlessHeld(session, event_id, at),
      failUnless(mayGo, `${event_id}:administrator`, at),
      ...passwordLimits(deps).reset(session.email), // while the person's browsers are known
      ...deleteUser(user_id, at),
      orphanClientsOf(user_id),
      deleteIdentitiesOfUser(user_id), // so that an account with the same provider can be made at once
      ...codeLimits(deps, { user_id, confirmed_at: totp?.confirmed_at ?? 0 }).open(),
      ...mailToAddress(deps, session, 'account_deleted'),
      statement,
    ]);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    await requireCurrentSession(deps, session);
    throw refusal('invalid_state', { key: 'delete.last_administrator' });
  }
}

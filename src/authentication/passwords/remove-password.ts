import { failUnless } from '../../accounts/one-time-links/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
import { refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { passwordOf, removePassword as removal } from '../credentials/passwords.store.ts';
import { hasAnotherSignInMethod, lockSignInMethods } from '../credentials/sign-in-methods.ts';
import type { RevocationDeps } from '../deps.ts';
import { requireCurrentSession, rotateSessionSecret } from '../sessions/rotate-session-secret.ts';
import type { Session } from '../sessions/session.ts';
import { endPasswordAccess } from './change-password.ts';

/**
 * Takes the password away from somebody who has another way in, and ends what it had opened.
 * @returns the session's new secret, for its cookie.
 * @throws {RequestError} `invalid_state` for the last way in, and without a password; `login_required`.
 */
export async function removePassword(deps: RevocationDeps, session: Session, address: string): Promise<string> {
  if (!(await passwordOf(deps.db, session.user_id))) throw refusal('invalid_state', { key: 'password.none' });
  const at = now(deps);
  const { event_id, statement } = auditEvent(
    { action: 'password.removed', actor: `user:${session.user_id}`, target: session.user_id, address },
    at,
  );
  const renewal = rotateSessionSecret(session, event_id, at);
  try {
    await deps.db.batch([
      lockSignInMethods(session.user_id),
      ...renewal.statements,
      failUnless(hasAnotherSignInMethod(deps.config, session.user_id), `${event_id}:way`, at),
      removal(session.user_id),
      ...endPasswordAccess(deps, session, session.session_id),
      ...mailTo(deps, session, 'password_removed', { address }),
      statement,
    ]);
  } catch (error) {
    if (!(error instanceof UniqueViolation)) throw error;
    await requireCurrentSession(deps, session); // or else it is the way in that is missing
    throw refusal('invalid_state', { key: 'password.last_way' });
  }
  return renewal.token;
}

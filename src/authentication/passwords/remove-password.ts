import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import { passwordOf, removePassword as removal } from '../credentials/passwords.store.ts';
import { hasAnotherSignInMethod, lockSignInMethods } from '../credentials/sign-in-methods.ts';
import type { RevocationDeps } from '../deps.ts';
import { isCurrentSession, rotateSessionSecret, sessionRefusal } from '../sessions/rotate-session-secret.ts';
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
  const { statement } = auditEvent(
    { action: 'password.removed', actor: `user:${session.user_id}`, target: session.user_id, address },
    at,
  );
  const rotation = rotateSessionSecret(session);
  const done = await deps.db.change({
    lock: lockSignInMethods(session.user_id),
    require: {
      session: isCurrentSession(session),
      anotherMethod: hasAnotherSignInMethod(deps.config, session.user_id),
    },
    run: {
      session: rotation.statement,
      password: removal(session.user_id),
      access: endPasswordAccess(deps, session, session.session_id),
      mails: mailTo(deps, session, 'password_removed', { address }),
      event: statement,
    },
  });
  if (done.ok) return rotation.token;
  if (done.failed === 'anotherMethod') throw refusal('invalid_state', { key: 'password.last_sign_in_method' });
  throw await sessionRefusal(deps, session);
}

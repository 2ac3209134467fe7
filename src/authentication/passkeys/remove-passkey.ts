import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { deletePasskey } from '../credentials/passkeys.store.ts';
import { passkeyId } from '../credentials/relying-party.ts';
import { hasAnotherSignInMethod, lockSignInMethods } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { isCurrentSession, sessionRefusal } from '../sessions/rotate-session-secret.ts';
import type { Session } from '../sessions/session.ts';
import { requireOwnPasskey } from './own-passkey.ts';

/**
 * Removes a passkey and tells its person by mail. Sign-ins that are half done by any means begin again.
 * @throws {RequestError} `not_found`; `invalid_state` for the last way to sign in; `login_required` if the session has
 * ended meanwhile.
 */
export async function removePasskey(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'mail'>,
  session: Session,
  { id, address }: { id: string; address: string },
): Promise<void> {
  const { user_id } = session;
  const passkey = await requireOwnPasskey(deps, user_id, id);
  const at = now(deps);
  const { statement } = auditEvent(
    {
      action: 'passkey.removed',
      actor: `user:${user_id}`,
      target: user_id,
      before: { passkey: passkeyId(passkey), name: passkey.name },
      address,
    },
    at,
  );
  const done = await deps.db.change({
    lock: lockSignInMethods(user_id),
    require: {
      session: isCurrentSession(session),
      anotherMethod: hasAnotherSignInMethod(deps.config, user_id),
    },
    run: {
      passkey: mustChange(deletePasskey(passkey)),
      mails: mailTo(deps, session, 'passkey_removed', { passkey: passkey.name, address }),
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      event: statement,
    },
  });
  if (done.ok) return;
  if (done.failed === 'session') throw await sessionRefusal(deps, session);
  await requireOwnPasskey(deps, user_id, id);
  throw refusal(
    'invalid_state',
    { key: 'passkey.problem.last_sign_in_method' },
    { details: { current_status: 'last_way_in' } },
  );
}

import { auditEvent } from '../../audit/audit.ts';
import { eventWasKept } from '../../audit/store.ts';
import { now } from '../../platform/clock.ts';
import { UniqueViolation } from '../../platform/db/db.ts';
import { refusal } from '../../platform/errors.ts';
import { mailTo } from '../../platform/mail/mail-to.ts';
import { deletePasskey, isRemovable } from '../credentials/passkeys.store.ts';
import { passkeyId } from '../credentials/relying-party.ts';
import { hasAnotherSignInMethod, lockSignInMethods } from '../credentials/sign-in-methods.ts';
import type { Deps } from '../deps.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { failUnlessHeld, requireCurrentSession } from '../sessions/rotate-session-secret.ts';
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
  const { event_id, statement } = auditEvent(
    {
      action: 'passkey.removed',
      actor: `user:${user_id}`,
      target: user_id,
      before: { passkey: passkeyId(passkey), name: passkey.name },
      address,
      onlyIf: isRemovable(passkey, hasAnotherSignInMethod(deps.config, user_id)),
    },
    at,
  );
  // The event decides, behind the lock; everything after it happens with it or not at all.
  const kept = eventWasKept(event_id);
  const statements = [
    lockSignInMethods(user_id),
    failUnlessHeld(session, event_id, at),
    statement,
    ...mailTo(deps, session, 'passkey_removed', { passkey: passkey.name, address }, kept),
    deletePendingSignInsOfUser(user_id),
    deletePasskey(passkey, kept),
  ];
  try {
    const results = await deps.db.batch(statements);
    if (results.at(-1)?.changes === 1) return;
  } catch (error) {
    if (error instanceof UniqueViolation) await requireCurrentSession(deps, session);
    throw error;
  }
  await requireOwnPasskey(deps, user_id, id);
  throw refusal('invalid_state', { key: 'passkey.problem.last_way' }, { details: { current_status: 'last_way_in' } });
}

import { lockUser } from '../../accounts/store.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { deletePendingTotp } from '../credentials/two-factor.store.ts';
import type { Deps, RevocationDeps } from '../deps.ts';
import { endUserSession } from './end-user-session.ts';
import { deletePendingSignInsOfUser } from './pending-sign-ins.store.ts';
import type { Session } from './session.ts';
import { endOtherSessions, hasOtherActiveAccess } from './store.ts';

/** Who ends sessions of their own. `address` is where the request came from. */
export type Ending = { session: Session; address: string };

/**
 * Ends one session of the person who asks, their present one or another, with every grant that came from it.
 * @throws {RequestError} `not_found` for one that has ended, is unknown or is somebody else's, all alike.
 */
export const endOwnSession = (
  deps: RevocationDeps,
  { session: { user_id }, address }: Ending,
  session_id: string,
): Promise<void> => endUserSession(deps, { actor: `user:${user_id}`, address }, { user_id, session_id }, 'sign_out');

/**
 * Signs a person out everywhere but here: every other session, every grant that did not come from this one, also those
 * that have outlived their session, every sign-in that is half done, and a second factor that waits to be confirmed.
 * @returns how many live sessions that were.
 */
export async function endOwnOtherSessions(
  deps: StoreDeps & Pick<Deps, 'grants'>,
  { session, address }: Ending,
): Promise<number> {
  const { user_id, session_id } = session;
  const at = now(deps);
  const { statement } = auditEvent(
    {
      action: 'session.ended_others',
      actor: `user:${user_id}`,
      target: user_id,
      reason: 'sign_out',
      after: { kept_session_id: session_id },
      address,
      onlyIf: hasOtherActiveAccess(user_id, session_id, at, deps.grants.hasGrantElsewhere(user_id, session_id)),
    },
    at,
  );
  const { results } = await deps.db.change({
    lock: lockUser(user_id),
    run: {
      event: statement, // before all is ended: it is written only if there is something to end
      sessions: endOtherSessions(user_id, session_id, 'sign_out', at),
      grants: deps.grants.revokeOfOtherSessions(user_id, session_id, 'sign_out', at),
      pendingSignIns: deletePendingSignInsOfUser(user_id),
      pendingTotp: deletePendingTotp(user_id),
    },
  });
  return results.sessions.changes;
}

import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import { UniqueViolation } from '../db/db.ts';
import type { Deps } from '../deps.ts';
import { notFound } from '../errors.ts';
import { revokeGrantsOfOtherSessions, revokeGrantsOfSession } from '../oauth/grants.store.ts';
import { failUnless } from '../one-time-links/store.ts';
import { deleteAttemptsOfUser } from '../signin/store.ts';
import { forgetPendingTotp } from '../two-factor/store.ts';
import { lockUser } from '../users/store.ts';
import type { Session } from './session.ts';
import { endOtherSessions, endSession, isLiveSessionOf } from './store.ts';

/** Who ends sessions of their own. `address` is where the request came from. */
export type Ending = { session: Session; address: string };

/**
 * Ends one session of the person who asks, their present one or another, with every grant that came from it.
 * @throws {RequestError} `not_found` for one that has ended, is unknown or is somebody else's, all alike.
 */
export async function endOneSession(deps: Deps, { session, address }: Ending, session_id: string): Promise<void> {
  const { user_id } = session;
  const at = now(deps);
  const { event_id, statement } = auditEvent(
    { action: 'session.ended', actor: `user:${user_id}`, target: session_id, reason: 'sign_out', address },
    at,
  );
  try {
    await deps.db.batch([
      lockUser(user_id), // of two requests for the same session one finds it alive
      failUnless(isLiveSessionOf(user_id, session_id, at), event_id, at),
      endSession(session_id, 'sign_out', at),
      revokeGrantsOfSession(session_id, 'sign_out', at),
      statement,
    ]);
  } catch (error) {
    if (error instanceof UniqueViolation) throw notFound();
    throw error;
  }
}

/**
 * Signs a person out everywhere but here: every other session, every grant that did not come from this one, also those
 * that have outlived their session, every sign-in that is half done, and a second factor that waits to be confirmed.
 * @returns how many live sessions that were.
 */
export async function endAllOtherSessions(deps: Deps, { session, address }: Ending): Promise<number> {
  const { user_id, session_id } = session;
  const at = now(deps);
  const { statement } = auditEvent(
    { action: 'session.ended_others', actor: `user:${user_id}`, target: user_id, reason: 'sign_out', address },
    at,
  );
  const [, ended] = await deps.db.batch([
    lockUser(user_id),
    endOtherSessions(user_id, session_id, 'sign_out', at),
    revokeGrantsOfOtherSessions(user_id, session_id, 'sign_out', at),
    deleteAttemptsOfUser(user_id),
    forgetPendingTotp(user_id),
    statement,
  ]);
  return ended?.changes ?? 0;
}

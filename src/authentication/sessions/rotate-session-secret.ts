import { failUnless } from '../../accounts/one-time-links/store.ts';
import type { Statement } from '../../platform/db/db.ts';
import type { Deps } from '../../platform/deps.ts';
import { loginRequired } from '../../platform/errors.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { type Session, strongestFactorRequired } from './session.ts';
import { replaceSessionSecret, sessionCarries, sessionMayChangeFactors } from './store.ts';

/** The session as the request found it: which one, and by which secret. */
export type SessionRef = Pick<Session, 'session_id' | 'token_hash'>;

/**
 * For a batch whose change must not outlive the cookie that asks for it: a password change puts the session under a new
 * secret, and what a thief had under way by the old one fails. So does what a session of one factor had under way when
 * its person got a second. Put a lock of the person's row before it.
 * @param once as for {@link failUnless}; an event's id may serve for other conditions of the same batch besides.
 */
export const failUnlessHeld = ({ session_id, token_hash }: SessionRef, once: string, now: number): Statement =>
  failUnless(sessionMayChangeFactors(session_id, token_hash), `${once}:session`, now);

/** As {@link failUnlessHeld}, for what no factor protects: the proof of an address that the account has already. */
export const failUnlessAlive = ({ session_id, token_hash }: SessionRef, once: string, now: number): Statement =>
  failUnless(sessionCarries(session_id, token_hash), `${once}:session`, now);

/**
 * For a batch with {@link failUnlessHeld} that has failed.
 * @throws {RequestError} `login_required` or `reauthentication_required` if that is why.
 */
export async function requireCurrentSession(deps: Pick<Deps, 'db'>, session: SessionRef): Promise<void> {
  await requireActiveSession(deps, session);
  if (!(await deps.db.holds(sessionMayChangeFactors(session.session_id, session.token_hash)))) {
    throw strongestFactorRequired();
  }
}

/**
 * For a batch with {@link failUnlessAlive} that has failed.
 * @throws {RequestError} `login_required` if that is why.
 */
export async function requireActiveSession(
  deps: Pick<Deps, 'db'>,
  { session_id, token_hash }: SessionRef,
): Promise<void> {
  if (!(await deps.db.holds(sessionCarries(session_id, token_hash)))) throw loginRequired();
}

/**
 * Puts a session under a new secret, so that a copy of the cookie from before the change is dead (ASVS 7.2.4). It stays
 * the same sign-in: when the person proved themself does not change by it.
 * @param once as for {@link failUnlessHeld}.
 * @returns the new secret, and statements to put first: their batch fails whole, with a unique violation, if the session
 * has ended by then or another request has renewed it.
 */
export function rotateSessionSecret({ session_id, token_hash }: SessionRef, once: string, now: number) {
  const token = newSecret('st_');
  const renewed = { session_id, token_hash: digest(token) };
  const statements: Statement[] = [
    replaceSessionSecret(session_id, { from: token_hash, to: renewed.token_hash }),
    failUnlessHeld(renewed, once, now),
  ];
  return { token, statements };
}

import { mustChange } from '../../platform/db/change.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { StoreDeps } from '../../platform/deps.ts';
import { loginRequired, type RequestError } from '../../platform/errors.ts';
import { digest, newSecret } from '../../platform/ids.ts';
import { type Session, strongestFactorRequired } from './session.ts';
import { replaceSessionSecret, sessionCarries, sessionMayChangeFactors } from './store.ts';

/** The session as the request found it: which one, and by which secret. */
export type SessionRef = Pick<Session, 'session_id' | 'token_hash'>;

/**
 * A requirement, behind a lock of the user's row, for a change that must not outlive the cookie that asks for it. A
 * password change puts the session under a new secret, and what an attacker has under way with the old one is refused. So
 * is what a session of one factor has under way when its user gets a second.
 */
export const isCurrentSession = ({ session_id, token_hash }: SessionRef): Sql =>
  sessionMayChangeFactors(session_id, token_hash);

/** As {@link isCurrentSession}, for what no factor protects: the proof of an address that the account has already. */
export const isActiveSession = ({ session_id, token_hash }: SessionRef): Sql => sessionCarries(session_id, token_hash);

/** @returns `login_required` or `reauthentication_required`: why {@link isCurrentSession} was not true. */
export async function sessionRefusal(deps: StoreDeps, session: SessionRef): Promise<RequestError> {
  return (await deps.db.holds(isActiveSession(session))) ? strongestFactorRequired() : loginRequired();
}

/**
 * Puts a session under a new secret, so that a copy of the cookie from before the change is invalid (ASVS 7.2.4). It stays
 * the same sign-in, of the same time. For a change that requires {@link isCurrentSession}.
 * @returns the new secret, and the statement, which refuses if another request has rotated the secret meanwhile.
 */
export function rotateSessionSecret({ session_id, token_hash }: SessionRef) {
  const token = newSecret('st_');
  return { token, statement: mustChange(replaceSessionSecret(session_id, { from: token_hash, to: digest(token) })) };
}

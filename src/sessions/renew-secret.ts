import type { Statement } from '../db/db.ts';
import { digest, newSecret } from '../lib/ids.ts';
import { failUnless } from '../one-time-links/store.ts';
import type { Session } from './session.ts';
import { replaceSessionSecret, sessionCarries } from './store.ts';

/** Who asks for a change: a live session, and the secret that the request's cookie carried. */
export type Holder = { session: Session; token: string };

/**
 * Puts a session under a new secret, so that a copy of the cookie from before the change is dead (ASVS 7.2.4). It stays
 * the same sign-in: when and how the person proved themself does not change by it.
 * @param once as for {@link failUnless}.
 * @returns the new secret, and statements to put first: their batch fails whole, with a unique violation, if the session
 * has ended by then or another request has renewed it.
 */
export function renewSecret({ session, token }: Holder, once: string, now: number) {
  const renewed = newSecret('st_');
  const secret = { from: digest(token), to: digest(renewed) };
  const statements: Statement[] = [
    replaceSessionSecret(session.session_id, secret),
    failUnless(sessionCarries(session.session_id, secret.to), once, now),
  ];
  return { token: renewed, statements };
}

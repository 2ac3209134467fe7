import { auditEvent } from '../audit/audit.ts';
import { now } from '../clock.ts';
import type { Deps } from '../deps.ts';
import { digest } from '../lib/ids.ts';
import { passwordLimits } from '../limits/failure-limits.ts';
import { markAuthenticated } from '../oauth/authorize/store.ts';
import { hashPassword, needsRehash, verifyPassword } from '../passwords/password-hash.ts';
import { passwordOf, replaceHash } from '../passwords/store.ts';
import type { Session } from '../sessions/session.ts';
import { startSession } from '../sessions/start-session.ts';
import { findUserByEmail } from '../users/store.ts';

export type PasswordAttempt = {
  username: string;
  password: string;
  previous: Session | undefined;
  /** The authorization request that waits for this sign-in. */
  request_id: string | undefined;
  address: string;
  userAgent: string | undefined;
};

/**
 * Signs a person in by e-mail address and password.
 * @returns the secret for the session cookie; undefined for an unknown address, a wrong password, a disabled account
 * and one without a password, all alike and after the same work, so that nobody learns who has an account.
 * @throws {RequestError} `rate_limited`; `temporarily_unavailable` when more passwords wait to be hashed than can be.
 */
export async function signInWithPassword(deps: Deps, attempt: PasswordAttempt): Promise<string | undefined> {
  const limits = passwordLimits(deps);
  await limits.check(attempt.username, attempt.address);
  const user = await findUserByEmail(deps.db, attempt.username);
  // Asked for nobody, too, or the missing read would tell who has an account.
  const stored = await passwordOf(deps.db, user?.user_id ?? 'nobody');
  const isRight = await verifyPassword(attempt.password, stored?.password_hash);
  if (!isRight || !user || user.disabled_at !== null) {
    // A block that began meanwhile refuses the wrong password as it does the right one below; else, of many guesses at
    // once, the right one would be the odd answer out.
    await limits.check(attempt.username, attempt.address);
    await limits.failed(attempt.username, attempt.address);
    await recordFailure(deps, attempt, user?.user_id);
    return undefined;
  }
  // Asks again before it forgets the failures: while this password was being hashed, a hundred guesses beside it may
  // have used up the tries.
  await limits.succeeded(attempt.username, attempt.address);
  if (stored && needsRehash(stored.password_hash))
    await strengthen(deps, user.user_id, attempt.password, stored.password_hash);
  const { previous, address, userAgent, request_id } = attempt;
  const arrival = { user_id: user.user_id, methods: ['pwd'], previous, address, userAgent } as const;
  const started = await startSession(deps, arrival, ({ session_id, token }) =>
    request_id === undefined ? [] : [markAuthenticated(request_id, session_id, digest(token))],
  );
  return started?.token;
}

/** Hashes anew with today's parameters, now that the password is at hand; not if it was changed meanwhile. */
async function strengthen(deps: Deps, user_id: string, password: string, from: string): Promise<void> {
  const { sql, params } = replaceHash(user_id, { from, to: await hashPassword(password) });
  await deps.db.run(sql, params);
}

/** The address that was typed is not kept: people type passwords there. */
async function recordFailure(deps: Deps, { address }: PasswordAttempt, user_id: string | undefined): Promise<void> {
  const event = {
    action: 'session.refused',
    actor: 'system',
    target: user_id,
    reason: 'wrong_password',
    address,
  } as const;
  const { statement } = auditEvent(event, now(deps));
  await deps.db.run(statement.sql, statement.params);
}

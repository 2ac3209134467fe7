import { findUserByEmail } from '../../accounts/users.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import type { LimitDeps, StoreDeps } from '../../platform/deps.ts';
import { digest } from '../../platform/ids.ts';
import { passwordLimits } from '../../platform/limits/failure-limits.ts';
import { needsRehash } from '../credentials/password-hash.ts';
import { passwordOf, passwordUnchanged, replaceHash } from '../credentials/passwords.store.ts';
import type { Deps, SignInDeps } from '../deps.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { hasSignedInSince } from '../sessions/store.ts';

type PasswordAttempt = { username: string; password: string; signInRequest: SignInRequest };

/**
 * Signs a user in by e-mail address and password.
 * @returns undefined for an unknown address, a wrong password, a disabled account and one without a password, all alike
 * and after the same work, so that the answer does not reveal whether an account exists.
 * @throws {RequestError} `rate_limited`; `access_denied` if only a reset unlocks the account; `temporarily_unavailable` if
 * too many passwords wait to be hashed.
 */
export async function signInWithPassword(
  deps: SignInDeps & Pick<Deps, 'passwords'>,
  attempt: PasswordAttempt,
): Promise<Outcome | undefined> {
  const { address, deviceToken } = attempt.signInRequest;
  const user = await findUserByEmail(deps.db, attempt.username);
  // Read for an unknown address, too: otherwise the time of the answer would reveal whether an account exists.
  const user_id = user?.user_id ?? 'unknown';
  const stored = await passwordOf(deps.db, user_id);
  const limits = passwordLimits(deps, await knownDevice(deps, { user_id, deviceToken }, stored?.changed_at));
  await limits.check(attempt.username, address);
  const isRight = await deps.passwords.verify(attempt.password, stored?.password_hash);
  if (!isRight || !user || user.disabled_at !== null) {
    // A block that began meanwhile refuses wrong and right passwords alike. Otherwise, of many simultaneous guesses, the
    // right one would get a different answer.
    await limits.check(attempt.username, address);
    await limits.failed(attempt.username, address);
    await recordFailure(deps, address, {
      user_id: user?.user_id,
      reason: isRight ? 'account_disabled' : 'wrong_password',
    });
    return undefined;
  }
  // Checks the limits again before it resets them: while this password was being hashed, other guesses may have used up
  // the tries.
  await limits.succeeded(attempt.username, address);
  if (stored && needsRehash(stored.password_hash))
    await rehashPassword(deps, user_id, attempt.password, stored.password_hash);
  const preconditions = { password: passwordUnchanged(user_id, stored?.version ?? '') };
  const proof = { user_id, methods: ['pwd'], secondStep: false, preconditions } as const;
  return completeSignIn(deps, proof, attempt.signInRequest);
}

/**
 * The hash of this browser's device, if the user has signed in with it since the password was set. A device from before
 * a reset may be an attacker's.
 */
async function knownDevice(
  { db, clock }: StoreDeps,
  { user_id, deviceToken }: { user_id: string; deviceToken: string },
  since = now({ clock }),
): Promise<string | undefined> {
  const device_hash = digest(deviceToken);
  return (await hasSignedInSince(db, { user_id, device_hash }, since)) ? device_hash : undefined;
}

/** Hashes the password with today's parameters; has no effect if it was changed meanwhile. */
async function rehashPassword(
  deps: Pick<Deps, 'db' | 'passwords'>,
  user_id: string,
  password: string,
  from: string,
): Promise<void> {
  await deps.db.run(replaceHash(user_id, { from, to: await deps.passwords.hash(password) }));
}

/** The typed address is not stored: users sometimes type a password there. */
async function recordFailure(
  deps: LimitDeps,
  address: string,
  { user_id, reason }: { user_id: string | undefined; reason: 'wrong_password' | 'account_disabled' },
): Promise<void> {
  const event = unauthenticatedEvent(deps, { action: 'session.refused', target: user_id, reason, address });
  await deps.db.change({ run: { event } });
}

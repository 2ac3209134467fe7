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
 * Signs a person in by e-mail address and password.
 * @returns where the sign-in stands; undefined for an unknown address, a wrong password, a disabled account
 * and one without a password, all alike and after the same work, so that nobody learns who has an account.
 * @throws {RequestError} `rate_limited`; `access_denied` when only a reset opens the account; `temporarily_unavailable` when more passwords wait to be hashed than can be.
 */
export async function signInWithPassword(
  deps: SignInDeps & Pick<Deps, 'passwords'>,
  attempt: PasswordAttempt,
): Promise<Outcome | undefined> {
  const { address, deviceToken } = attempt.signInRequest;
  const user = await findUserByEmail(deps.db, attempt.username);
  // Asked for nobody, too, or a missing read would tell who has an account.
  const whose = user?.user_id ?? 'nobody';
  const stored = await passwordOf(deps.db, whose);
  const limits = passwordLimits(deps, await knownDevice(deps, { user_id: whose, deviceToken }, stored?.changed_at));
  await limits.check(attempt.username, address);
  const isRight = await deps.passwords.verify(attempt.password, stored?.password_hash);
  if (!isRight || !user || user.disabled_at !== null) {
    // A block that began meanwhile refuses the wrong password as it does the right one below; else, of many guesses at
    // once, the right one would be the odd answer out.
    await limits.check(attempt.username, address);
    await limits.failed(attempt.username, address);
    await recordFailure(deps, address, {
      user_id: user?.user_id,
      reason: isRight ? 'account_disabled' : 'wrong_password',
    });
    return undefined;
  }
  // Asks again before it forgets the failures: while this password was being hashed, a hundred guesses beside it may
  // have used up the tries.
  await limits.succeeded(attempt.username, address);
  if (stored && needsRehash(stored.password_hash))
    await rehashPassword(deps, user.user_id, attempt.password, stored.password_hash);
  const { user_id } = user;
  const preconditions = { password: passwordUnchanged(user_id, stored?.version ?? '') };
  const proof = { user_id, methods: ['pwd'], secondStep: false, preconditions } as const;
  return completeSignIn(deps, proof, attempt.signInRequest);
}

/**
 * The hash of the browser that asks, if the person has signed in with it since they have this password: a thief's of
 * before a reset is a stranger's.
 */
async function knownDevice(
  { db, clock }: StoreDeps,
  { user_id, deviceToken }: { user_id: string; deviceToken: string },
  since = now({ clock }),
): Promise<string | undefined> {
  const device_hash = digest(deviceToken);
  return (await hasSignedInSince(db, { user_id, device_hash }, since)) ? device_hash : undefined;
}

/** Hashes anew with today's parameters, now that the password is at hand; not if it was changed meanwhile. */
async function rehashPassword(
  deps: Pick<Deps, 'db' | 'passwords'>,
  user_id: string,
  password: string,
  from: string,
): Promise<void> {
  await deps.db.run(replaceHash(user_id, { from, to: await deps.passwords.hash(password) }));
}

/** The address that was typed is not kept: people type passwords there. */
async function recordFailure(
  deps: LimitDeps,
  address: string,
  { user_id, reason }: { user_id: string | undefined; reason: 'wrong_password' | 'account_disabled' },
): Promise<void> {
  const event = unauthenticatedEvent(deps, { action: 'session.refused', target: user_id, reason, address });
  await deps.db.change({ run: { event } });
}

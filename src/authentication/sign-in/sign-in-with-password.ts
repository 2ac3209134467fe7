import { findUserByEmail } from '../../accounts/statements.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { RequestError } from '../../platform/errors.ts';
import { newUserId } from '../../platform/ids.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { identified, unidentified } from '../credentials/hash-queue.ts';
import { needsRehash } from '../credentials/password-formats.ts';
import { passwordOf, passwordUnchanged, replaceHash } from '../credentials/passwords.store.ts';
import { noteIfUnreadable } from '../credentials/unreadable-hashes.ts';
import type { Deps, SignInDeps } from '../deps.ts';
import { passwordLimits } from '../passwords/password-limits.ts';
import { completeSignIn } from '../sessions/complete-sign-in.ts';
import type { Outcome, SignInRequest } from '../sessions/return-target.ts';
import { countSignIn } from '../sessions/sign-in-count.ts';
import { findKnownDevice } from '../sessions/store.ts';

type PasswordAttempt = { username: string; password: string; signInRequest: SignInRequest };

/**
 * Signs a user in by e-mail address and password.
 * @returns undefined for an unknown address, a wrong password, a disabled account and one without a password, all alike
 * and after the same work, so that the answer does not reveal whether an account exists.
 * @throws {RequestError} `rate_limited`, also if too many passwords of this account or address wait to be hashed;
 * `temporarily_unavailable` if too many of all do; `access_denied` if only a reset unlocks the account.
 */
export async function signInWithPassword(
  deps: SignInDeps & Pick<Deps, 'passwords' | 'log'>,
  attempt: PasswordAttempt,
): Promise<Outcome | undefined> {
  const { address, deviceToken, previous } = attempt.signInRequest;
  const user = await findUserByEmail(deps, attempt.username);
  // Read for an unknown address, too: otherwise the time of the answer would reveal whether an account exists.
  const user_id = user?.user_id ?? newUserId(deps.placement.bucketOfEmail(attempt.username));
  const stored = await passwordOf(deps.db, user_id);
  // A device from before the password was set may be an attacker's.
  const device = await findKnownDevice(deps.db, user_id, deviceToken, stored?.changed_at ?? now(deps));
  const limits = passwordLimits(deps, user?.user_id, device);
  await limits.check(attempt.username, address);
  const isIdentified = device !== undefined || previous?.user_id === user_id;
  const asker = isIdentified ? identified(user_id, address) : unidentified(attempt.username, address);
  const isRight = await deps.passwords.verify(attempt.password, stored?.password_hash, asker);
  if (!isRight || !user || user.disabled_at !== null) {
    // A block that began meanwhile refuses wrong and right passwords alike. Otherwise, of many simultaneous guesses, the
    // right one would get a different answer.
    await limits.check(attempt.username, address);
    await limits.failed(attempt.username, address);
    // The typed address is not stored: users sometimes type a password there.
    const reason = isRight ? 'account_disabled' : 'wrong_password';
    countSignIn(['pwd'], reason);
    if (stored) noteIfUnreadable(deps, user_id, stored.password_hash);
    const refused = { action: 'session.refused', target: user?.user_id, reason, address } as const;
    await deps.db.near(addressKey(address)).change({ run: { event: unauthenticatedEvent(deps, refused) } });
    return undefined;
  }
  // Checks the limits again before it resets them: while this password was being hashed, other guesses may have used up
  // the tries.
  await limits.succeeded(attempt.username, address);
  if (stored && needsRehash(stored.password_hash)) {
    const to = await deps.passwords.hash(attempt.password, asker).catch(unlessBusy);
    if (to !== undefined) await deps.db.of(user_id).run(replaceHash(user_id, { from: stored.password_hash, to }));
  }
  const preconditions = { password: passwordUnchanged(user_id, stored?.version ?? '') };
  const proof = { user_id, methods: ['pwd'], secondStep: false, preconditions } as const;
  return completeSignIn(deps, proof, attempt.signInRequest);
}

/** A hash with today's parameters can wait for another sign-in. */
function unlessBusy(error: unknown): undefined {
  if (!(error instanceof RequestError)) throw error;
}

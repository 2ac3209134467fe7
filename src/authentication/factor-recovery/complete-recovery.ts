import {
  endLinksGivenBy,
  endLinksGivenElsewhere,
  findUser,
  lockUser,
  noteSecondFactor,
  type User,
} from '../../accounts/statements.ts';
import { auditEvent } from '../../audit/audit.ts';
import { unauthenticatedEvent } from '../../audit/unauthenticated.ts';
import { now } from '../../platform/clock.ts';
import { mustChange } from '../../platform/db/change.ts';
import { addressKey } from '../../platform/ip-address.ts';
import { hasSecondFactor } from '../credentials/factors.store.ts';
import { identified } from '../credentials/hash-queue.ts';
import { claimOfPasskey, deletePasskeysOfUser, listPasskeys } from '../credentials/passkeys.store.ts';
import { passwordOf, passwordUnchanged } from '../credentials/passwords.store.ts';
import { countBackupCodes, deleteBackupCodes, deleteTotp } from '../credentials/two-factor.store.ts';
import type { Deps, SignInDeps } from '../deps.ts';
import { passwordLimits } from '../passwords/password-limits.ts';
import {
  deleteRecoveryByLink,
  type FactorRecovery,
  findRecoveryByLink,
  mayRecover,
} from '../sessions/factor-recoveries.store.ts';
import { endSecondSteps } from '../sessions/second-steps.ts';
import { countSignIn } from '../sessions/sign-in-count.ts';
import { endSessionsOfUser, findKnownDevice } from '../sessions/store.ts';
import { mailToEveryAddress } from './recovery-mails.ts';
import { recoveryWait } from './request-recovery.ts';
import { spentRecoveryLink } from './stop-recovery.ts';

/**
 * The request whose link this is, and its user.
 * @throws {RequestError} `invalid_request` for a link that is unknown, used, expired or stopped; for an account that is disabled, has
 * another address or a role by now; and where the operator allows it no longer.
 */
export async function requireRecovery(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'mail'>,
  token: string,
): Promise<{ recovery: FactorRecovery; user: User }> {
  const recovery = recoveryWait(deps) === undefined ? undefined : await findRecoveryByLink(deps.db, token, now(deps));
  const user = recovery && (await findUser(deps.db, recovery.user_id));
  if (!recovery || !user || !(await deps.db.of(user.user_id).holds(mayRecover(user.user_id, recovery.email))))
    throw spentRecoveryLink();
  return { recovery, user };
}

type Completion = { password: string; address: string; deviceToken: string };

/**
 * Removes what was lost, the authenticator app, its backup codes and the passkeys, and ends all access, as an administrator does who
 * resets them. The password is asked for again: the link alone is a mailbox. Wrong ones count as at a sign-in.
 * @returns undefined for a wrong password; otherwise what the sign-in that follows is proved by.
 * @throws {RequestError} as {@link requireRecovery}; `rate_limited` and `access_denied` as `passwordLimits` says.
 */
export async function completeRecovery(
  deps: SignInDeps & Pick<Deps, 'passwords'>,
  token: string,
  { password, address, deviceToken }: Completion,
) {
  const { recovery, user } = await requireRecovery(deps, token);
  const { user_id, email } = user;
  const stored = await passwordOf(deps.db, user_id);
  const device = await findKnownDevice(deps.db, user_id, deviceToken, stored?.changed_at ?? now(deps));
  const limits = passwordLimits(deps, user_id, device);
  await limits.check(email, address);
  if (!stored || !(await deps.passwords.verify(password, stored.password_hash, identified(user_id, address)))) {
    await limits.check(email, address);
    await limits.failed(email, address);
    const reason = 'wrong_password';
    countSignIn(['pwd'], reason);
    const refused = { action: 'session.refused', target: user_id, reason, address } as const;
    await deps.db.near(addressKey(address)).change({ run: { event: unauthenticatedEvent(deps, refused) } });
    return undefined;
  }
  await limits.succeeded(email, address);
  const [passkeys, codes] = await Promise.all([listPasskeys(deps.db, user_id), countBackupCodes(deps.db, user_id)]);
  const before = {
    totp: true,
    backup_codes: codes.remaining,
    passkeys: passkeys.length,
    requested_at: recovery.requested_at,
  };
  const event = { action: 'factor_recovery.completed', actor: `user:${user_id}`, target: user_id, address } as const;
  const at = now(deps);
  const unchanged = passwordUnchanged(user_id, stored.version);
  const mails = await mailToEveryAddress(deps, user, 'factors_recovered', { address });
  const givenUp = passkeys.map(({ credential_id }) => claimOfPasskey(deps.db, credential_id));
  await endLinksGivenElsewhere(deps.db, user_id);
  const done = await deps.claims.holding(user_id, { givenUp }, (claim) =>
    deps.db.of(user_id).change({
      lock: lockUser(user_id),
      require: { password: unchanged, user: mayRecover(user_id, recovery.email) },
      run: {
        claim,
        recovery: mustChange(deleteRecoveryByLink(user_id, token, at)),
        totp: deleteTotp(user_id),
        backupCodes: deleteBackupCodes(user_id),
        passkeys: deletePasskeysOfUser(user_id),
        noted: noteSecondFactor(user_id, hasSecondFactor(user_id)),
        secondSteps: endSecondSteps(user_id, at),
        sessions: endSessionsOfUser(user_id, 'factors_recovered', at),
        grants: deps.grants.revokeOfUser(user_id, 'user', at),
        given: endLinksGivenBy(user_id),
        event: auditEvent({ ...event, before }, at).statement,
        mails,
      },
    }),
  );
  if (!done.ok) throw spentRecoveryLink();
  return { user_id, methods: ['pwd'], secondStep: false, preconditions: { password: unchanged } } as const;
}

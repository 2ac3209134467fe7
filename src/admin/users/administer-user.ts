import {
  type Guard,
  lastAdministrator,
  leavingAnother,
  refuseAgainstAdministrator,
} from '../../accounts/administrators.ts';
import { maxMailsAboutRevocations, mayMailAbout } from '../../accounts/mail-limits.ts';
import { isPrivileged, type Role } from '../../accounts/roles.ts';
import {
  deleteLinksOfUser,
  deleteResetLinksOfUser,
  endLinksGivenBy,
  endLinksGivenElsewhere,
  hasGivenLinks,
  hasRole,
  isDisabled,
  listAdministrators,
  lockUser,
  noteSecondFactor,
  setDisabled,
  setRole,
  type User,
} from '../../accounts/statements.ts';
import { requireUser } from '../../accounts/users.ts';
import { auditEvent, type Caller, readReason } from '../../audit/audit.ts';
import { lockStateOf, resetPasswordLimits } from '../../authentication/passwords/password-limits.ts';
import {
  claimOfPasskey,
  countBackupCodes,
  deleteBackupCodes,
  deletePasskeysOfUser,
  deletePendingTotp,
  deleteTotp,
  endSecondSteps,
  endSessionsOfUser,
  findTotp,
  hasActiveAccess,
  hasSecondFactor,
  listPasskeys,
} from '../../authentication/statements.ts';
import type { Deps } from '../../oauth/deps.ts';
import { revokeGrantsOfUser } from '../../oauth/grants/grants.ts';
import { hasGrantToRevoke } from '../../oauth/statements.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { LimitDeps, MailDeps, StoreDeps } from '../../platform/deps.ts';
import type { Edited } from '../../platform/edited.ts';
import { invalidState, refusal } from '../../platform/errors.ts';
import { mailTo, reasonForMail } from '../../platform/mail/letters.ts';
import { forgetLeaving, rememberLeaving } from '../../signals/statements.ts';

/**
 * Signs a user out everywhere: ends every session and pending sign-in, revokes every grant, and notifies the user by mail.
 * @param words the reason, for the log and the user; only programs and commands may leave it out.
 * @returns the user; nothing changes for one who is signed in nowhere and has given no links as an administrator.
 * @throws {RequestError} `not_found`; `access_denied` as {@link refuseAgainstAdministrator} says; `invalid_request` for a
 * reason that is none.
 */
export async function signOutUser(
  deps: MailDeps,
  caller: Caller,
  user_id: string,
  words?: string,
): Promise<Edited<User>> {
  const written = words === undefined ? undefined : readReason(words);
  const user = await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const sendsMail = await mayMailAbout(deps, 'signed_out', user_id, maxMailsAboutRevocations);
  const at = now(deps);
  const event = { action: 'user.signed_out', ...caller, target: user_id, reason: written ?? 'administrator' } as const;
  const hasEnded = await endLinksGivenElsewhere(deps.db, user_id);
  const access = hasActiveAccess(user_id, at, hasGrantToRevoke(user_id, at), hasGivenLinks(user_id));
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { access: hasEnded ? undefined : access },
    run: {
      sessions: endSessionsOfUser(user_id, 'administrator', at),
      grants: revokeGrantsOfUser(user_id, 'administrator', at),
      secondSteps: endSecondSteps(user_id, at),
      given: endLinksGivenBy(user_id),
      event: auditEvent(event, at).statement,
      mails: sendsMail ? mailTo(deps, user, 'signed_out', reasonForMail(written)) : undefined,
    },
  });
  return { after: user, isChanged: done.ok };
}

/**
 * Clears a user's password failures, also when there were so many that the password is disabled.
 * @returns the user; nothing changes for one without failures.
 * @throws {RequestError} `not_found`.
 */
export async function unlockUser(deps: LimitDeps, caller: Caller, user_id: string): Promise<Edited<User>> {
  const user = await requireUser(deps, user_id);
  if ((await lockStateOf(deps, user)).failures === 0) return { after: user, isChanged: false };
  const { statement } = auditEvent({ action: 'user.unlocked', ...caller, target: user_id }, now(deps));
  await deps.db.of(user_id).change({ run: { failures: resetPasswordLimits(user.email), event: statement } });
  return { after: user, isChanged: true };
}

/**
 * Gives a user a role, effective with their next request, and notifies them. Every administrator is notified of a
 * new one: an attacker with one administrator's account must not make a second in silence.
 * @param words the reason, for the log; only programs and commands may leave it out.
 * @returns the user as they are now; nothing changes for one who has the role already.
 * @throws {RequestError} `not_found`; `access_denied` for one's own role, and as {@link refuseAgainstAdministrator} says;
 * `invalid_state` when no administrator would be left.
 */
export async function changeRole(
  deps: MailDeps & Pick<Deps, 'claims'>,
  caller: Caller,
  user_id: string,
  role: Role,
  words?: string,
): Promise<Edited<User>> {
  const reason = words === undefined ? undefined : readReason(words);
  if (caller.actor === `user:${user_id}`) throw refusal('access_denied', { key: 'users.own_role' });
  const user = await requireUser(deps, user_id);
  if (user.role === role) return { after: user, isChanged: false };
  await refuseAgainstAdministrator(deps, caller, user_id);
  const notified = isPrivileged(role) ? await listAdministrators(deps.db) : [];
  const at = now(deps);
  const change = { before: { role: user.role }, after: { role } };
  const event = auditEvent({ action: 'user.role_changed', ...caller, target: user_id, reason, ...change }, at);
  const changeTo = ({ lock, require, claim }: Guard) =>
    deps.db.of(user_id).change({
      lock,
      require: { ...require, role: hasRole(user_id, user.role) },
      run: {
        claim,
        user: setRole(user_id, role, caller.actor, at),
        links: deleteLinksOfUser(user_id, 'admin_password_reset'), // it would be a link to an administrator's account
        given: role === 'admin' ? undefined : endLinksGivenBy(user_id),
        mails: mailAboutRole(deps, user, role),
        mailsToAdministrators: notified.flatMap((one) =>
          role === 'admin'
            ? mailTo(deps, one, 'new_administrator', { email: user.email })
            : mailTo(deps, one, 'new_role', { email: user.email, role }),
        ),
        event: event.statement,
      },
    });
  const done = await (role === 'admin'
    ? changeTo({ lock: [], require: {}, claim: undefined })
    : leavingAnother(deps, caller, user, changeTo));
  const current = await requireUser(deps, user_id);
  if (done.ok) return { after: current, isChanged: true };
  throw current.role === user.role ? lastAdministrator() : invalidState(current.role);
}

function mailAboutRole(deps: MailDeps, user: User, role: Role): readonly Sql[] {
  if (role === 'admin') return mailTo(deps, user, 'role_admin');
  if (role === 'user' && user.role === 'admin') return mailTo(deps, user, 'role_user');
  return mailTo(deps, user, 'role_given', { role });
}

/**
 * Disables a user immediately, on every node: sessions end, grants are revoked, one-time links are invalidated.
 * @param reason for the log; only the command line may leave it out.
 * @throws {RequestError} `not_found`; `invalid_request` for a reason that is none; `invalid_state` when disabled already,
 * or when no administrator would be left; `access_denied` as {@link refuseAgainstAdministrator} says.
 */
export async function disableUser(
  deps: StoreDeps & Pick<Deps, 'claims'>,
  caller: Caller,
  user_id: string,
  reason?: string,
): Promise<void> {
  const at = now(deps);
  const why = reason === undefined ? undefined : readReason(reason);
  const event = auditEvent({ action: 'user.disabled', ...caller, target: user_id, reason: why }, at);
  const user = await requireEnabled(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const done = await leavingAnother(deps, caller, user, ({ lock, require, claim }) =>
    deps.db.of(user_id).change({
      lock: [...lock, lockUser(user_id)], // of two at once the second finds it done
      require: { ...require, enabled: isDisabled(user_id, false) },
      run: {
        claim,
        signals: rememberLeaving(user_id, at, at + rememberedSeconds),
        user: setDisabled(user_id, true, at),
        access: endEverything(user_id, at),
        event: event.statement,
      },
    }),
  );
  if (done.ok) return;
  await requireEnabled(deps, user_id);
  throw lastAdministrator();
}

/** For a year after an account was disabled its clients are notified that it is enabled or deleted. */
const rememberedSeconds = 366 * 86_400;

const endEverything = (user_id: string, at: number): Sql[] => [
  endSessionsOfUser(user_id, 'user_disabled', at),
  ...revokeGrantsOfUser(user_id, 'user_disabled', at),
  ...endSecondSteps(user_id, at),
  deleteResetLinksOfUser(user_id),
  deleteLinksOfUser(user_id, 'change_email'),
  deletePendingTotp(user_id),
  ...endLinksGivenBy(user_id),
];

/**
 * Lets a user sign in again. Sessions that were ended and grants that were revoked stay so.
 * @throws {RequestError} `not_found`; `invalid_state` when not disabled.
 */
export async function enableUser(deps: StoreDeps, caller: Caller, user_id: string): Promise<void> {
  const at = now(deps);
  const { statement } = auditEvent({ action: 'user.enabled', ...caller, target: user_id }, at);
  const { disabled_at } = await requireUser(deps, user_id);
  if (disabled_at === null) throw invalidState('enabled');
  await endLinksGivenElsewhere(deps.db, user_id);
  const done = await deps.db.of(user_id).change({
    lock: lockUser(user_id),
    require: { disabled: isDisabled(user_id, true) },
    run: {
      access: endEverything(user_id, at), // again: what began at the very moment of disabling, unseen by it
      user: setDisabled(user_id, false, at),
      signals: forgetLeaving(user_id, at),
      event: statement,
    },
  });
  if (!done.ok) throw invalidState('enabled'); // another administrator was faster
}

async function requireEnabled(deps: Pick<Deps, 'db'>, user_id: string): Promise<User> {
  const user = await requireUser(deps, user_id);
  if (user.disabled_at !== null) throw invalidState('disabled');
  return user;
}

/**
 * For a user who has lost their factors: removes the authenticator app, the backup codes and the passkeys, ends all
 * sessions, and notifies the user. The password stays; a user without one sets it by the link of a password reset.
 * @returns the user; nothing changes for one who has no such factor and is signed in nowhere.
 * @throws {RequestError} `not_found`; `access_denied` for one's own factors, which have pages that ask for them, and as
 * {@link refuseAgainstAdministrator} says; `invalid_request` without a reason.
 */
export async function resetFactors(
  deps: MailDeps & Pick<Deps, 'claims'>,
  caller: Caller,
  user_id: string,
  reason: string,
): Promise<Edited<User>> {
  if (caller.actor === `user:${user_id}`) throw refusal('access_denied', { key: 'users.own_factors' });
  const user = await requireUser(deps, user_id);
  await refuseAgainstAdministrator(deps, caller, user_id);
  const why = readReason(reason);
  const [totp, codes, passkeys] = await Promise.all([
    findTotp(deps.db, user_id),
    countBackupCodes(deps.db, user_id),
    listPasskeys(deps.db, user_id),
  ]);
  const before = { totp: totp?.confirmed_at != null, backup_codes: codes.remaining, passkeys: passkeys.length };
  const at = now(deps);
  const event = { action: 'user.factors_reset', ...caller, target: user_id, reason: why, before } as const;
  const hasEnded = await endLinksGivenElsewhere(deps.db, user_id);
  const hasFactorsOrAccess = hasActiveAccess(
    user_id,
    at,
    hasSecondFactor(user_id),
    hasGrantToRevoke(user_id, at),
    hasGivenLinks(user_id),
  );
  const givenUp = passkeys.map(({ credential_id }) => claimOfPasskey(deps.db, credential_id));
  const done = await deps.claims.holding(user_id, { givenUp }, (claim) =>
    deps.db.of(user_id).change({
      lock: lockUser(user_id),
      require: { access: hasEnded ? undefined : hasFactorsOrAccess },
      run: {
        claim,
        totp: deleteTotp(user_id),
        backupCodes: deleteBackupCodes(user_id),
        passkeys: deletePasskeysOfUser(user_id),
        noted: noteSecondFactor(user_id, hasSecondFactor(user_id)),
        secondSteps: endSecondSteps(user_id, at),
        sessions: endSessionsOfUser(user_id, 'administrator', at),
        grants: revokeGrantsOfUser(user_id, 'administrator', at),
        given: endLinksGivenBy(user_id),
        mails: mailTo(deps, user, 'factors_reset', { reset_url: `${deps.config.baseUrl}/reset` }),
        event: auditEvent(event, at).statement,
      },
    }),
  );
  return { after: user, isChanged: done.ok };
}

import { resetMailsTo } from '../../accounts/mail-limits.ts';
import {
  deleteLinksOfUser,
  deleteResetLinksOfUser,
  endLinksGivenBy,
  endLinksGivenElsewhere,
  hasInvitedAdministrator,
  type User,
} from '../../accounts/statements.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { invalidFields, refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { clearHourlyCodeFailures } from '../credentials/code-limits.ts';
import { identified } from '../credentials/hash-queue.ts';
import { minCharacters, newPasswordProblems, type PasswordContext } from '../credentials/password-policy.ts';
import {
  type NewPassword,
  passwordOf,
  removePassword as removal,
  setPassword,
} from '../credentials/passwords.store.ts';
import { hasAnotherSignInMethod, limitSecurityChanges } from '../credentials/sign-in-methods.ts';
import { deletePendingTotp, isTotpActive } from '../credentials/two-factor.store.ts';
import type { Deps, RevocationDeps } from '../deps.ts';
import { signInLimit } from '../sessions/complete-sign-in.ts';
import { endSecondSteps } from '../sessions/second-steps.ts';
import { changeOwnAccount, type Owner, rotateSessionSecret, type SignedIn } from '../sessions/session.ts';
import { endOtherSessions, endSessionsOfUser, touchDevice } from '../sessions/store.ts';
import { resetPasswordLimits } from './password-limits.ts';

/** The session's new secret, for its cookie, and whether invitations of administrators became ordinary ones. */
export type PasswordChange = { token: string; endsInvitations: boolean };

type PasswordOwner = Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;

/**
 * Changes the password, or sets the first one, and ends all other access: see {@link endPasswordAccess}. The caller has
 * checked that the sign-in is recent, instead of the old password, which a user who signed in by other means may not know.
 * The requesting browser remains a known device.
 * @throws {RequestError} `invalid_request` for a weak password; `login_required` if the session has ended meanwhile;
 * `rate_limited`.
 */
export async function changePassword(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords' | 'mail' | 'grants'>,
  user: SignedIn,
  password: string,
): Promise<PasswordChange> {
  const { session, browser, caller } = user;
  const { user_id } = session;
  await limitSecurityChanges(deps, user_id);
  const hashed = await hashNewPassword(deps, session, { password, address: caller.address });
  const hadOne = (await passwordOf(deps.db, user_id)) !== undefined;
  const at = now(deps);
  const endsInvitations = await hasInvitedAdministrator(deps.db, user_id, at);
  const rotation = rotateSessionSecret(session);
  await endLinksGivenElsewhere(deps.db, user_id);
  await changeOwnAccount(deps, user, {
    action: hadOne ? 'password.changed' : 'password.set',
    mail: hadOne ? 'password_changed' : 'password_set',
    values: invitationsForMail(endsInvitations),
    run: {
      session: rotation.statement,
      password: setPassword(user_id, hashed, at),
      device: browser.deviceToken === undefined ? undefined : touchDevice(user_id, digest(browser.deviceToken), at),
      access: endPasswordAccess(deps, session, session.session_id),
    },
  });
  return { token: rotation.token, endsInvitations };
}

/** The value of a mail about the end of access, which says so where it also ended what was given by links. */
export const invitationsForMail = (endsInvitations: boolean) => ({ invited: endsInvitations ? 'yes' : 'no' });

/** @throws {RequestError} `invalid_request` with the problems of the password; `rate_limited`; `temporarily_unavailable`. */
export async function hashNewPassword(
  deps: Pick<Deps, 'db' | 'config' | 'passwords'>,
  owner: PasswordOwner,
  { password, address }: { password: string; address: string },
): Promise<NewPassword> {
  const context = await passwordContext(deps, owner);
  const problems = newPasswordProblems(password, context);
  if (problems.length > 0) throw invalidFields(problems);
  const password_hash = await deps.passwords.hash(password, identified(owner.user_id, address));
  return { password_hash, min_characters: minCharacters(context) };
}

/**
 * The context of the rules for a new password. Eight characters suffice only with a second factor (SP 800-63B-4
 * §3.1.1.2). A user who turns TOTP off may keep a short password. Its length is not stored, since it would help an
 * attacker with the store; the rule that it was set by is, and pages ask to replace one that may be too short by now.
 */
export async function passwordContext(
  deps: Pick<Deps, 'db' | 'config'>,
  { user_id, email, name }: PasswordOwner,
): Promise<PasswordContext> {
  const secondFactor = await isTotpActive(deps.db, user_id);
  return { email, name, secondFactor, words: [deps.config.brand.name] };
}

/** Set when fewer characters sufficed than a password has to have alone. */
export async function mayBeTooShort({ db }: Pick<Deps, 'db'>, user_id: string): Promise<boolean> {
  const password = await passwordOf(db, user_id);
  return password !== undefined && (password.min_characters ?? 0) < minCharacters();
}

/**
 * Ends what the old password gave access to: sessions, grants, pending sign-ins, links to a reset or another address,
 * what an administrator has given by links, and an enrollment of TOTP that is not confirmed yet.
 * @param keep the session that remains.
 */
export function endPasswordAccess(
  deps: LimitDeps & Pick<Deps, 'grants'>,
  { user_id, email }: PasswordOwner,
  keep?: string,
): Sql[] {
  const at = now(deps);
  return [
    keep === undefined
      ? endSessionsOfUser(user_id, 'password_change', at)
      : endOtherSessions(user_id, keep, 'password_change', at),
    ...deps.grants.revokeOfUser(user_id, 'password_change', at),
    ...endSecondSteps(user_id, at, { reason: 'password_changed' }),
    deleteResetLinksOfUser(user_id),
    deleteLinksOfUser(user_id, 'change_email'),
    ...endLinksGivenBy(user_id),
    deletePendingTotp(user_id),
    ...resetPasswordLimits(email),
    clearHourlyCodeFailures(deps, user_id),
    signInLimit(deps, user_id).forget(user_id), // by an attacker who knew the old one
    resetMailsTo(deps, 'reset', email), // their links are gone
  ];
}

/**
 * Removes the password of a user who has another sign-in method, and ends what it gave access to.
 * @throws {RequestError} `invalid_state` for the last sign-in method, and without a password; `login_required`.
 */
export async function removePassword(deps: RevocationDeps, owner: Owner): Promise<PasswordChange> {
  const { session } = owner;
  const { user_id, session_id } = session;
  if (!(await passwordOf(deps.db, user_id))) throw refusal('invalid_state', { key: 'password.none' });
  const endsInvitations = await hasInvitedAdministrator(deps.db, user_id, now(deps));
  const rotation = rotateSessionSecret(session);
  await endLinksGivenElsewhere(deps.db, user_id);
  const failed = await changeOwnAccount(deps, owner, {
    action: 'password.removed',
    mail: 'password_removed',
    values: invitationsForMail(endsInvitations),
    require: { anotherMethod: hasAnotherSignInMethod(deps.config, user_id) },
    run: {
      session: rotation.statement,
      password: removal(user_id),
      access: endPasswordAccess(deps, session, session_id),
    },
  });
  if (failed) throw refusal('invalid_state', { key: 'password.last_sign_in_method' });
  return { token: rotation.token, endsInvitations };
}

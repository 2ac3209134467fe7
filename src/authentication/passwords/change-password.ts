import { deleteLinksOfUser } from '../../accounts/links.ts';
import { resetMailsTo } from '../../accounts/mail-limits.ts';
import { lockUser, type User } from '../../accounts/users.ts';
import { auditEvent } from '../../audit/audit.ts';
import { now } from '../../platform/clock.ts';
import type { Sql } from '../../platform/db/sql.ts';
import type { LimitDeps } from '../../platform/deps.ts';
import { invalidFields, refusal } from '../../platform/errors.ts';
import { digest } from '../../platform/ids.ts';
import { clearHourlyCodeFailures, passwordLimits } from '../../platform/limits/failure-limits.ts';
import { mailTo } from '../../platform/mail/outbox.ts';
import { newPasswordProblems, type PasswordContext } from '../credentials/password-policy.ts';
import { passwordOf, removePassword as removal, setPassword } from '../credentials/passwords.store.ts';
import { hasAnotherSignInMethod, limitSecurityChanges, lockSignInMethods } from '../credentials/sign-in-methods.ts';
import { deletePendingTotp, isTotpActive } from '../credentials/two-factor.store.ts';
import type { Deps, RevocationDeps } from '../deps.ts';
import { deletePendingSignInsOfUser } from '../sessions/pending-sign-ins.store.ts';
import { isCurrentSession, rotateSessionSecret, type Session, sessionRefusal } from '../sessions/session.ts';
import { endOtherSessions, endSessionsOfUser, touchDevice } from '../sessions/store.ts';

type Owner = Pick<User, 'user_id' | 'email' | 'name' | 'locale'>;

/**
 * Changes the password, or sets the first one, and ends all other access: see {@link endPasswordAccess}. The caller has
 * checked that the sign-in is recent, instead of the old password, which a user who signed in by other means may not know.
 * @param deviceToken the secret of the requesting browser, which remains a known device.
 * @returns the session's new secret, for its cookie.
 * @throws {RequestError} `invalid_request` for a weak password; `login_required` if the session has ended meanwhile;
 * `rate_limited`.
 */
export async function changePassword(
  deps: Pick<Deps, 'db' | 'clock' | 'config' | 'passwords' | 'mail' | 'grants'>,
  session: Session,
  { password, address, deviceToken }: { password: string; address: string; deviceToken?: string | undefined },
): Promise<string> {
  await limitSecurityChanges(deps, session.user_id);
  const password_hash = await hashNewPassword(deps, session, password);
  const hadOne = (await passwordOf(deps.db, session.user_id)) !== undefined;
  const at = now(deps);
  const { statement } = auditEvent(
    {
      action: hadOne ? 'password.changed' : 'password.set',
      actor: `user:${session.user_id}`,
      target: session.user_id,
      address,
    },
    at,
  );
  const rotation = rotateSessionSecret(session);
  const done = await deps.db.change({
    lock: lockUser(session.user_id), // so that a sign-in with the old password comes before it, and ends, or after, and fails
    require: { session: isCurrentSession(session) },
    run: {
      session: rotation.statement,
      password: setPassword(session.user_id, password_hash, at),
      device: deviceToken === undefined ? undefined : touchDevice(session.user_id, digest(deviceToken), at),
      access: endPasswordAccess(deps, session, session.session_id),
      mails: mailTo(deps, session, hadOne ? 'password_changed' : 'password_set', { address }),
      event: statement,
    },
  });
  if (!done.ok) throw await sessionRefusal(deps, session);
  return rotation.token;
}

/** @throws {RequestError} `invalid_request` with the problems of the password; `temporarily_unavailable`. */
export async function hashNewPassword(
  deps: Pick<Deps, 'db' | 'config' | 'passwords'>,
  owner: Owner,
  password: string,
): Promise<string> {
  const problems = newPasswordProblems(password, await passwordContext(deps, owner));
  if (problems.length > 0) throw invalidFields(problems);
  return deps.passwords.hash(password);
}

/**
 * The context of the rules for a new password. Eight characters suffice only with a second factor (SP 800-63B-4
 * §3.1.1.2). A user who turns TOTP off may keep a short password: its length is not stored, since it would help an
 * attacker with the store, so the password page asks all users without TOTP to replace a shorter one.
 */
export async function passwordContext(
  deps: Pick<Deps, 'db' | 'config'>,
  { user_id, email, name }: Owner,
): Promise<PasswordContext> {
  const secondFactor = await isTotpActive(deps.db, user_id);
  return { email, name, secondFactor, words: [deps.config.brand.name] };
}

/**
 * Ends what the old password gave access to: sessions, grants, pending sign-ins, links to a reset or another address, and
 * an enrollment of TOTP that is not confirmed yet.
 * @param keep the session that remains.
 */
export function endPasswordAccess(
  deps: LimitDeps & Pick<Deps, 'grants'>,
  { user_id, email }: Owner,
  keep?: string,
): Sql[] {
  const at = now(deps);
  return [
    keep === undefined
      ? endSessionsOfUser(user_id, 'password_change', at)
      : endOtherSessions(user_id, keep, 'password_change', at),
    ...deps.grants.revokeOfUser(user_id, 'password_change', at),
    deletePendingSignInsOfUser(user_id),
    deleteLinksOfUser(user_id, 'password_reset'),
    deleteLinksOfUser(user_id, 'change_email'),
    deletePendingTotp(user_id),
    ...passwordLimits(deps).reset(email),
    clearHourlyCodeFailures(deps, user_id),
    resetMailsTo(deps, 'reset', email), // their links are gone
  ];
}

/**
 * Removes the password of a user who has another sign-in method, and ends what it gave access to.
 * @returns the session's new secret, for its cookie.
 * @throws {RequestError} `invalid_state` for the last sign-in method, and without a password; `login_required`.
 */
export async function removePassword(deps: RevocationDeps, session: Session, address: string): Promise<string> {
  if (!(await passwordOf(deps.db, session.user_id))) throw refusal('invalid_state', { key: 'password.none' });
  const at = now(deps);
  const { statement } = auditEvent(
    { action: 'password.removed', actor: `user:${session.user_id}`, target: session.user_id, address },
    at,
  );
  const rotation = rotateSessionSecret(session);
  const done = await deps.db.change({
    lock: lockSignInMethods(session.user_id),
    require: {
      session: isCurrentSession(session),
      anotherMethod: hasAnotherSignInMethod(deps.config, session.user_id),
    },
    run: {
      session: rotation.statement,
      password: removal(session.user_id),
      access: endPasswordAccess(deps, session, session.session_id),
      mails: mailTo(deps, session, 'password_removed', { address }),
      event: statement,
    },
  });
  if (done.ok) return rotation.token;
  if (done.failed === 'anotherMethod') throw refusal('invalid_state', { key: 'password.last_sign_in_method' });
  throw await sessionRefusal(deps, session);
}

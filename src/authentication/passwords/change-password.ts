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
 * Changes the password, or sets the first one. All else that was open by the old one ends: other sessions, grants,
 * sign-ins between two factors, links to a reset or another address, a second factor that waits to be confirmed. The
 * caller has made sure that the sign-in is recent; that stands for the old password, which somebody who came another way
 * may not know.
 * @param change.deviceToken the secret of the browser that asks: it stays one that the person is known by.
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

/** @throws {RequestError} `invalid_request` with what speaks against the password; `temporarily_unavailable`. */
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
 * What the rules for a new password depend on. Eight characters are enough only while a code is asked for beside them
 * (SP 800-63B-4 §3.1.1.2). Whoever gives that up later may be left with a short password: we keep no length, which
 * would help whoever steals the store, so the password page tells everybody without TOTP to replace a shorter one.
 */
export async function passwordContext(
  deps: Pick<Deps, 'db' | 'config'>,
  { user_id, email, name }: Owner,
): Promise<PasswordContext> {
  const secondFactor = await isTotpActive(deps.db, user_id);
  return { email, name, secondFactor, words: [deps.config.brand.name] };
}

/** @param keep the session that goes on. */
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
 * Takes the password away from somebody who has another way in, and ends what it had opened.
 * @returns the session's new secret, for its cookie.
 * @throws {RequestError} `invalid_state` for the last way in, and without a password; `login_required`.
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
